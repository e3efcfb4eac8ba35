import { expect, test } from "vitest";

import { endsMonthSoon } from "./month-end.ts";

test("no call leaves in the last two minutes of a UTC month: it might count in the next one", () => {
  expect(endsMonthSoon(Date.parse("2026-11-30T23:57:59.999Z"))).toBe(false);
  expect(endsMonthSoon(Date.parse("2026-11-30T23:58:00.000Z"))).toBe(true);
  expect(endsMonthSoon(Date.parse("2026-12-01T00:00:00.000Z"))).toBe(false);
  expect(endsMonthSoon(Date.parse("2026-12-31T23:59:59.999Z"))).toBe(true);
});
