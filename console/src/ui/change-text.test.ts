import { expect, test } from "vitest";

import { computeChange } from "./change-text.ts";

test.each([
  ["usd", "1.120000", "1.000000", "12%", "12% higher than"],
  ["usd", "0.000001", "0.000002", "50%", "50% lower than"],
  ["count", 1004, 1000, "0.4%", "0.4% higher than"],
  ["count", 0, 7, "100%", "100% lower than"],
  ["count", 7, 7, "0%", "the same as"],
  ["count", 1_000_001, 1_000_000, "0%", "the same as"],
  ["count", 11_245, 10_000, "12%", "12% higher than"],
  ["ms", 299, 100, "199%", "199% higher than"],
  ["usd", "14.900000", "1.000000", "×14", "14 times as high as"],
] as const)("%s %s after %s is a change of %s", (unit, now, before, amount, words) => {
  expect(computeChange(unit, now, before)).toMatchObject({ amount, words });
});

test("there is no change if either amount is missing or the earlier one is 0", () => {
  expect(computeChange("ms", null, 5)).toBeUndefined();
  expect(computeChange("ms", 5, null)).toBeUndefined();
  expect(computeChange("count", 5, undefined)).toBeUndefined();
  expect(computeChange("usd", "5.000000", "0.000000")).toBeUndefined();
});
