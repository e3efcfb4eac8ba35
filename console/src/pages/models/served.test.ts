import { expect, test } from "vitest";

import { buildFigures, buildListing, buildModel } from "./sample-models.test-data.ts";
import {
  dayTitle,
  indexServedModels,
  listDays,
  servedFirst,
  spokenDays,
  upLabel,
} from "./served.ts";

const figures = (provider: string, rest: Parameters<typeof buildFigures>[0]) =>
  buildFigures({ provider, model: "acme/one", ...rest });

test("a model's served figures are those of its first provider", () => {
  const first = figures("first", { success: 0.9, ttft_p50_ms: 300, tokens_per_second: 40 });
  const served = indexServedModels([
    figures("fast", { success: 0.99, ttft_p50_ms: 100 }),
    first,
    figures("first", { model: "acme/two" }),
  ]);
  const providers = [buildListing({ provider: "first" }), buildListing({ provider: "fast" })];
  const one = buildModel({ id: "acme/one", providers });
  expect(servedFirst(served, one)).toBe(first);
  expect(servedFirst(served, buildModel({ id: "acme/three", providers }))).toBeUndefined();
  expect(servedFirst(undefined, one)).toBeUndefined();
});

test("a model's share of calls is the sum over its listings", () => {
  const served = indexServedModels([figures("a", {}), figures("b", { share_of_calls: 0.5 })]);
  expect(served.get("acme/one")?.share).toBe(0.75);
});

const NOW_MS = Date.parse("2026-11-24T13:00:00Z");

function day(at: string, uptime: number | null): Parameters<typeof listDays>[0][number] {
  return {
    at,
    uptime,
    success: uptime,
    ttft_p50_ms: null,
    ttft_p95_ms: null,
    tokens_per_second: null,
  };
}

test("the uptime history has the thirty days up to today, and days without calls have no uptime", () => {
  const days = listDays([day("2026-11-24T00:00:00.000Z", 0.25)], NOW_MS);
  expect(days).toHaveLength(30);
  expect(days.at(-1)).toEqual({ day: "24 Nov 2026", uptime: 0.25 });
  expect(days[0]).toEqual({ day: "26 Oct 2026", uptime: null });
  expect(days.map(({ uptime }) => upLabel(uptime)).filter((each) => each !== "none")).toEqual([
    "down",
  ]);
});

test("only a day of the organization's own calls is said to have had none: one of all customers' calls may just not be shown", () => {
  const days = listDays([day("2026-11-23T00:00:00.000Z", 0.25)], NOW_MS);
  const [own, all] = [{ isShared: false }, { isShared: true }];
  const shown = days.slice(-2);
  expect(shown.map((each) => dayTitle(each, own))).toEqual([
    "23 Nov 2026: 25%",
    "24 Nov 2026: no calls",
  ]);
  expect(shown.map((each) => dayTitle(each, all))).toEqual([
    "23 Nov 2026: 25%",
    "24 Nov 2026: not shown",
  ]);
  expect(spokenDays(days, own)).toBe("Uptime of 1 day with calls: below 100% on 23 Nov 2026 25%");
  expect(spokenDays(days, all)).toBe("Uptime of 1 day with figures: below 100% on 23 Nov 2026 25%");
  expect(spokenDays(listDays([], NOW_MS), own)).toBe("No calls in 30 days");
  expect(spokenDays(listDays([], NOW_MS), all)).toBe("No day is shown");
});

test("a day is up only with an uptime of 100%, and down below 50%", () => {
  expect([1, 0.99, 0.5, 0.49, 0, null].map(upLabel)).toEqual([
    "up",
    "partly",
    "partly",
    "down",
    "down",
    "none",
  ]);
});
