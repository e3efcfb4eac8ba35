import { describe, expect, test } from "vitest";

import type { Catalog, Deployment } from "./catalog.ts";
import {
  compileFiles,
  edited,
  manifestFile,
  textManifest,
} from "../../test/fixtures/manifest/samples.ts";
import { nextBuildMs } from "./deployment-copy.ts";
import { computeAge, staleListings } from "./price-notes.ts";

const NOW_MS = Date.parse("2026-11-23T23:59:59Z");

test.each([
  ["2026-10-09", "recent", "2026-11-24"],
  ["2026-10-08", "late", "2027-01-07"],
  ["2026-08-25", "late", "2026-11-24"],
  ["2026-08-24", "old", undefined],
])("a price check of %s is %s on 2026-11-23, until %s", (on, age, until) => {
  const found = computeAge(on, NOW_MS, Infinity);
  expect(found.age).toBe(age);
  expect(found.ageUntilMs).toBe(until === undefined ? Infinity : Date.parse(until));
});

test("the operator's own bound ends the age of a price check too", () => {
  const { age, ageUntilMs } = computeAge("2026-11-01", NOW_MS, 30);
  expect([age, ageUntilMs]).toEqual(["recent", Date.parse("2026-12-02")]);
});

test("stale listings are named oldest first, without those that have no check", () => {
  const listing = (id: string, on?: string): Deployment => {
    const checked = on && { on, by: "page" as const, ...computeAge(on, NOW_MS, Infinity) };
    return { id, ...(checked && { checked }) } as Deployment;
  };
  const deployments = [
    listing("fresh/a", "2026-10-09"),
    listing("late/b", "2026-10-08"),
    listing("silent/c"),
    listing("older/d", "2026-08-01"),
  ];
  const models = [{ deployments }] as unknown as Catalog["models"];
  expect(staleListings({ models }).map(({ deployment, on }) => `${deployment.id} ${on}`)).toEqual([
    "older/d 2026-08-01",
    "late/b 2026-10-08",
  ]);
});

describe("a compiled catalog", () => {
  /** Compiles two listings of one model; the prices of the first were checked on the day `on`. */
  function compiled(on: string, staleAfterDays?: number): Catalog {
    const manifests = ["first", "second"].map((id, priority) => {
      const document = edited(textManifest(), {
        "/provider/id": id,
        "/provider/priority": priority,
        ...(id === "first" && {
          "/listing_terms": { "acme/nib": { checked: { on, by: "page" } } },
        }),
      });
      return manifestFile(`${id}.json`, document);
    });
    const more = staleAfterDays === undefined ? {} : { staleAfterDays };
    return compileFiles(manifests, { today: "2026-11-23", nowMs: NOW_MS, ...more }).catalog;
  }
  const order = (catalog: Catalog): readonly string[] =>
    catalog.find("acme/nib")?.deployments.map(({ providerId }) => providerId) ?? [];

  test("tries a listing last from the 91st day after its price check", () => {
    expect(order(compiled("2026-08-25"))).toEqual(["first", "second"]);
    expect(order(compiled("2026-08-24"))).toEqual(["second", "first"]);
    expect(compiled("2026-08-24").buildId).not.toBe(compiled("2026-08-25").buildId);
  });

  test("stops routing a listing when its price check becomes older than stale_after_days", () => {
    expect(order(compiled("2026-10-24", 30))).toEqual(["first", "second"]);
    const catalog = compiled("2026-10-23", 30);
    expect(order(catalog)).toEqual(["second"]);
    const nib = catalog.deployments.find(({ id }) => id === "first/acme/nib");
    expect(nib?.notReady).toBe("stale");
    // A reload replaces the catalog in use only if the build id differs.
    expect(catalog.buildId).not.toBe(compiled("2026-10-23").buildId);
  });

  test("is due to be built again when the age of a price check ends", () => {
    expect(nextBuildMs(compiled("2026-10-09"))).toBe(Date.parse("2026-11-24"));
    // The other listing of the sample ends on 2031-12-31.
    expect(nextBuildMs(compiled("2026-08-01"))).toBe(Date.parse("2032-01-01"));
  });
});
