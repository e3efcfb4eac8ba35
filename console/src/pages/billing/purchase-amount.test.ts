import { describe, expect, test } from "vitest";

import { readAmount, usualAmounts } from "./purchase-amount.ts";

const BOUNDS = { minUsd: "5.000000", maxUsd: "5000.000000" };

describe("the typed amount", () => {
  test.each([
    ["5", "5.00"],
    ["$12.5", "12.50"],
    ["$ 5", "5.00"],
    [" 5000.00 ", "5000.00"],
    ["12.500000", "12.50"],
  ])("%s is charged as %s", (text, amountUsd) => {
    expect(readAmount(text, BOUNDS)).toEqual({ kind: "amount", amountUsd });
  });

  test("is not an error while it is blank", () => {
    expect(readAmount("  ", BOUNDS)).toEqual({ kind: "blank" });
  });

  test.each([
    ["4.99", "$5.00"],
    ["5000.01", "$5,000.00"],
    ["10.001", "whole cents"],
    ["-10", "in dollars"],
    ["1,000", "in dollars"],
    ["1e3", "in dollars"],
  ])("%s is refused with a sentence that says which amounts are allowed", (text, words) => {
    const read = readAmount(text, BOUNDS);
    expect(read.kind === "problem" ? read.problem : "").toContain(words);
  });
});

test("only amounts that can be bought are offered", () => {
  expect(usualAmounts(BOUNDS)).toEqual(["10", "25", "100"]);
  expect(usualAmounts({ minUsd: "20.000000", maxUsd: "50.000000" })).toEqual(["25"]);
});
