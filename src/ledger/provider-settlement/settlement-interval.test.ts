import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  boundaryAfter,
  boundaryAtOrBefore,
  HALF_DAY_MS,
  SETTLEMENT_INTERVALS,
  findSpan,
} from "./settlement-interval.ts";

const instant = fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2060, 0) });
const interval = fc.constantFrom(...SETTLEMENT_INTERVALS);

describe("the boundaries of an interval", () => {
  test.each([
    ["half_daily", "2026-03-01T11:59:59.999Z", "2026-03-01T00:00Z", "2026-03-01T12:00Z"],
    ["daily", "2028-02-28T23:59:59.999Z", "2028-02-28T00:00Z", "2028-02-29T00:00Z"],
    ["weekly", "2026-09-13T23:59:59.999Z", "2026-09-07T00:00Z", "2026-09-14T00:00Z"],
    ["weekly", "1969-12-31T00:00:00.000Z", "1969-12-29T00:00Z", "1970-01-05T00:00Z"],
    ["monthly", "2028-02-29T12:00:00.000Z", "2028-02-01T00:00Z", "2028-03-01T00:00Z"],
  ] as const)("are right for %s around %s", (every, at, start, end) => {
    expect(boundaryAtOrBefore(Date.parse(at), every)).toBe(Date.parse(start));
    expect(boundaryAfter(Date.parse(at), every)).toBe(Date.parse(end));
  });

  test("are Mondays for weeks, midnights for days, noons too for half-days, firsts for months", () => {
    fc.assert(
      fc.property(instant, interval, (atMs, every) => {
        const start = new Date(boundaryAtOrBefore(atMs, every));
        const clock = start.toISOString().slice(11);
        expect(every === "half_daily" ? ["00", "12"] : ["00"]).toContain(clock.slice(0, 2));
        expect(clock.slice(2)).toBe(":00:00.000Z");
        expect(every === "weekly" ? start.getUTCDay() : 1).toBe(1);
        expect(every === "monthly" ? start.getUTCDate() : 1).toBe(1);
        expect(start.getTime() % HALF_DAY_MS).toBe(0);
      }),
    );
  });

  test("divide time: every instant is in exactly one period, and its end starts the next", () => {
    fc.assert(
      fc.property(instant, interval, (atMs, every) => {
        const startMs = boundaryAtOrBefore(atMs, every);
        const endMs = boundaryAfter(atMs, every);
        expect(startMs <= atMs && atMs < endMs).toBe(true);
        expect(boundaryAtOrBefore(endMs - 1, every)).toBe(startMs);
        expect(boundaryAfter(startMs, every)).toBe(endMs);
        expect(boundaryAtOrBefore(endMs, every)).toBe(endMs);
        expect(boundaryAfter(startMs - 1, every)).toBe(startMs);
      }),
    );
  });
});

test("the period of an instant begins at the end of the last period if the interval changes in the middle of a period", () => {
  const lastEndMs = Date.parse("2026-09-16T00:00Z");
  const atMs = Date.parse("2026-09-17T08:00Z");
  const iso = (ms: number): string => new Date(ms).toISOString().slice(0, 16);
  const spans = SETTLEMENT_INTERVALS.map((every) => {
    const { startMs, endMs } = findSpan(atMs, every, lastEndMs);
    return [every, iso(startMs), iso(endMs)];
  });
  expect(spans).toEqual([
    ["half_daily", "2026-09-17T00:00", "2026-09-17T12:00"],
    ["daily", "2026-09-17T00:00", "2026-09-18T00:00"],
    ["weekly", "2026-09-16T00:00", "2026-09-21T00:00"],
    ["monthly", "2026-09-16T00:00", "2026-10-01T00:00"],
  ]);
});
