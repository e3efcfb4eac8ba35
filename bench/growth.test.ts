import { describe, expect, test } from "vitest";
import { Figures, growthOf } from "./growth-figures.ts";
import { growthTable } from "./growth-page.ts";
import { activeOf, parseGrowthOptions, sizesInUse } from "./growth-plan.ts";

const sizes = { organizations: 10, keys: 40, listings: 250, attempts: 1_000, days: 5 };

describe("the callers of the load", () => {
  test("are of different organizations and ask for different models", () => {
    const callers = activeOf(sizes, 10);
    expect(new Set(callers.map((caller) => caller.orgId)).size).toBe(10);
    expect(new Set(callers.map((caller) => caller.modelId)).size).toBe(10);
    expect(new Set(callers.map((caller) => caller.rawKey)).size).toBe(10);
  });

  test("have keys of their own organization and models of their own provider", () => {
    for (const { keyId, orgId, modelId, providerId } of activeOf(sizes, 7)) {
      expect(`org_${Number(keyId.slice("key_".length)) % sizes.organizations}`).toBe(orgId);
      const listing = Number(modelId.slice("growth/model-".length));
      expect(providerId).toBe(`growth-${Math.floor(listing / 100)}`);
    }
  });

  test("are all there is in the empty installation", () => {
    const inUse = sizesInUse(3);
    expect(activeOf(inUse, 3).map((caller) => caller.keyId)).toEqual(["key_0", "key_1", "key_2"]);
    expect(inUse.attempts).toBe(0);
  });
});

describe("the options", () => {
  test("that are no whole number, or fit no installation, are refused by name", () => {
    expect(() => parseGrowthOptions(["--keys", "many"])).toThrow("--keys");
    expect(() => parseGrowthOptions(["--rounds", "1.5"])).toThrow("--rounds");
    expect(() => parseGrowthOptions(["--keys", "10", "--organizations", "20"])).toThrow("--keys");
    expect(() => parseGrowthOptions(["--active", "1001"])).toThrow("--active");
    expect(() => parseGrowthOptions(["--attempts", "59"])).toThrow("--attempts");
  });

  test("that are left out are the sizes of the page", () => {
    expect(parseGrowthOptions([])?.sizes).toEqual({
      organizations: 1_000,
      keys: 100_000,
      listings: 10_000,
      attempts: 5_000_000,
      days: 60,
    });
    expect(parseGrowthOptions(["--help"])).toBeUndefined();
  });
});

describe("the table", () => {
  test("compares the smallest figures and holds costs to ten percent, memory to nothing", () => {
    const figures = new Figures();
    for (const [empty, grown] of [
      [100, 200],
      [150, 110],
    ] as const) {
      figures.add("cheap", "us", { empty, grown });
      figures.add("dear", "ms", { empty, grown: grown + 0.001 });
      figures.add("memory", "MB", { empty });
      figures.add("memory", "MB", { grown });
    }
    expect(figures.rows().map((row) => growthOf(row).toFixed(6))).toEqual([
      "1.100000",
      "1.100010",
      "1.100000",
    ]);
    const lines = growthTable(figures.rows()).split("\n").slice(2);
    expect(lines).toEqual([
      "| cheap | us | 100 / 100 | 110 / 110 | 1.10 | yes |",
      "| dear | ms | 100 / 100 | 110 / 110 | 1.10 | no |",
      "| memory | MB | 100 / 100 | 110 / 110 | 1.10 |  |",
    ]);
  });
});
