import { expect, test } from "vitest";

import { sameSpanOfMonthBefore } from "./overview.ts";

test.each([
  ["2026-11-24T10:30:00.000Z", "2026-10-01T00:00:00.000Z", "2026-10-24T10:30:00.000Z"],
  ["2026-01-01T00:00:00.001Z", "2025-12-01T00:00:00.000Z", "2025-12-01T00:00:00.001Z"],
  // February has no 30th day: the whole of it is compared.
  ["2026-03-30T10:00:00.000Z", "2026-02-01T00:00:00.000Z", "2026-03-01T00:00:00.000Z"],
])("at %s a month is compared with the one before up to the same point", (now, from, to) => {
  const { fromMs, toMs } = sameSpanOfMonthBefore(Date.parse(now));
  expect([fromMs, toMs].map((ms) => new Date(ms).toISOString())).toEqual([from, to]);
});
