import { expect, test } from "vitest";

import type { Deployment } from "./catalog.ts";
import { oldChecks } from "./old-checks.ts";

const NOW_MS = Date.parse("2026-11-23T23:59:59Z");

function listing(providerId: string, on?: string, change: Partial<Deployment> = {}): Deployment {
  const checked = on === undefined ? {} : { checked: { on, by: "page" as const } };
  return { providerId, ...checked, ...change } as Deployment;
}

test("a provider is named from the 46th day after a check on, with its oldest one, oldest first", () => {
  const deployments = [
    listing("fresh", "2026-10-09"),
    listing("late", "2026-10-08"),
    listing("late", "2026-10-09"),
    listing("older", "2026-10-01"),
    listing("older", "2026-08-01"),
  ];
  expect(oldChecks({ deployments }, NOW_MS)).toEqual([
    { providerId: "older", oldestOn: "2026-08-01", listings: 2 },
    { providerId: "late", oldestOn: "2026-10-08", listings: 1 },
  ]);
});

test("a listing that is not routed, or that says nothing of a check, is not counted", () => {
  const deployments = [
    listing("staged", "2026-01-01", { notReady: "not_ready" as never }),
    listing("silent"),
  ];
  expect(oldChecks({ deployments }, NOW_MS)).toEqual([]);
});
