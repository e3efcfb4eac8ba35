import { expect, test } from "vitest";

import { strictestCap } from "./caps.ts";

const MIDDLE_MS = Date.UTC(2026, 11, 9, 12);
/** A Wednesday whose week ends after the month. */
const LAST_MS = Date.UTC(2026, 11, 30, 12);

const NO_CAPS = {
  cap_usd: null,
  spent_month_usd: "4.000000",
  cap_week_usd: null,
  spent_week_usd: null,
  cap_day_usd: null,
  spent_day_usd: null,
};

test("a key without a cap has no strictest cap", () => {
  expect(strictestCap(NO_CAPS, MIDDLE_MS)).toBeUndefined();
});

test("the strictest cap is the one with the least left, not with the largest spent share", () => {
  const month = { ...NO_CAPS, cap_usd: "10.000000" };
  expect(strictestCap(month, MIDDLE_MS)).toEqual({
    name: "monthly",
    share: 0.4,
    leftUsd: "6.000000",
  });
  const day = { ...month, cap_day_usd: "2.000000", spent_day_usd: "0.500000" };
  expect(strictestCap(day, MIDDLE_MS)).toEqual({ name: "daily", share: 0.25, leftUsd: "1.500000" });
});

test("the strictest of caps with the same amount left is the cap that resets last", () => {
  const both = { cap_week_usd: "1.000000", spent_week_usd: "3.000000" };
  const full = { ...NO_CAPS, ...both, cap_day_usd: "2.000000", spent_day_usd: "2.000000" };
  expect(strictestCap(full, MIDDLE_MS)).toMatchObject({ name: "weekly", leftUsd: "0.000000" });
  const all = { ...full, cap_usd: "4.000000" };
  expect(strictestCap(all, MIDDLE_MS)?.name).toBe("monthly");
  expect(strictestCap(all, LAST_MS)?.name).toBe("weekly");
});
