import { expect, test } from "vitest";

import { strictestCap } from "./strictest-cap.ts";

const NO_CAPS = {
  cap_usd: null,
  spent_month_usd: "4.000000",
  cap_week_usd: null,
  spent_week_usd: null,
  cap_day_usd: null,
  spent_day_usd: null,
};

test("a key without a cap has no strictest cap", () => {
  expect(strictestCap(NO_CAPS)).toBeUndefined();
});

test("the strictest cap is the one with the least left, not with the largest spent share", () => {
  const month = { ...NO_CAPS, cap_usd: "10.000000" };
  expect(strictestCap(month)).toEqual({ name: "monthly", share: 0.4, leftUsd: "6.000000" });
  const day = { ...month, cap_day_usd: "2.000000", spent_day_usd: "0.500000" };
  expect(strictestCap(day)).toEqual({ name: "daily", share: 0.25, leftUsd: "1.500000" });
});

test("the strictest of two caps with the same amount left is that of the longer period", () => {
  const both = { cap_week_usd: "1.000000", spent_week_usd: "3.000000" };
  const full = { ...NO_CAPS, ...both, cap_day_usd: "2.000000", spent_day_usd: "2.000000" };
  expect(strictestCap(full)).toEqual({ name: "weekly", share: 1, leftUsd: "0.000000" });
});
