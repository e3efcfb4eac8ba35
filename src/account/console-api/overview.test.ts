import { assert, bigInt, property } from "fast-check";
import { describe, expect, test } from "vitest";

import { datedReports, estimateRunway, sameSpanOfMonthBefore, type Spending } from "./overview.ts";
import { microUsd } from "../../kernel/index.ts";
import type { UsageReports } from "../../gateway/records/postgres-usage-reports.ts";

test.each([
  ["2026-11-24T10:30:00.000Z", "2026-10-01T00:00:00.000Z", "2026-10-24T10:30:00.000Z"],
  ["2026-01-01T00:00:00.001Z", "2025-12-01T00:00:00.000Z", "2025-12-01T00:00:00.001Z"],
  // February has no 30th day: the whole of it is compared.
  ["2026-03-30T10:00:00.000Z", "2026-02-01T00:00:00.000Z", "2026-03-01T00:00:00.000Z"],
])("at %s the month is compared with the previous month up to the same point", (now, from, to) => {
  const { fromMs, toMs } = sameSpanOfMonthBefore(Date.parse(now));
  expect([fromMs, toMs].map((ms) => new Date(ms).toISOString())).toEqual([from, to]);
});

const DAY_MS = 86_400_000;
const NOW_MS = Date.parse("2026-11-24T12:00:00Z");
const TODAY_MS = Date.parse("2026-11-24T00:00:00Z");

/** Builds one entry for each spend, oldest day first; the last entry is today. */
function days(...spent: readonly bigint[]): Spending[] {
  return spent.map((spentMicroUsd, at) => ({
    dayMs: TODAY_MS - (spent.length - 1 - at) * DAY_MS,
    spentMicroUsd,
  }));
}

describe("the estimate of how long a balance lasts", () => {
  test("divides the balance by the pace of the last seven whole days", () => {
    const week = days(900n, 10n, 20n, 0n, 10n, 10n, 10n, 10n, 5_000n);
    expect(estimateRunway(microUsd(100n), week, NOW_MS)).toEqual({
      perDayMicroUsd: 10n,
      untilMs: NOW_MS + 10 * DAY_MS,
    });
  });

  test("counts from the first day with use, so that a new account is judged by its own days", () => {
    const fresh = days(0n, 0n, 0n, 0n, 0n, 10n, 10n, 0n);
    expect(estimateRunway(microUsd(100n), fresh, NOW_MS)?.untilMs).toBe(NOW_MS + 10 * DAY_MS);
  });

  test.each<[string, bigint, readonly bigint[]]>([
    ["without any use", 100n, [0n, 0n, 0n]],
    ["with use only today", 100n, [0n, 0n, 9n]],
    ["with one whole day", 100n, [0n, 9n, 9n]],
    ["with use only more than a week ago", 100n, [9n, 0n, 0n, 0n, 0n, 0n, 0n, 0n, 0n]],
    ["with a balance of zero", 0n, [9n, 9n, 9n]],
    ["with a negative balance", -5n, [9n, 9n, 9n]],
  ])("is undefined %s", (_, available, spent) => {
    expect(estimateRunway(microUsd(available), days(...spent), NOW_MS)).toBeUndefined();
  });

  test("has no date beyond a year", () => {
    const slow = days(1n, 1n, 1n);
    expect(estimateRunway(microUsd(365n), slow, NOW_MS)?.untilMs).toBe(NOW_MS + 365 * DAY_MS);
    expect(estimateRunway(microUsd(366n), slow, NOW_MS)).toEqual({
      perDayMicroUsd: 1n,
      untilMs: undefined,
    });
  });

  test("is never later with a smaller balance or with more spent", () => {
    const amount = bigInt({ min: 1n, max: 10_000_000_000n });
    assert(
      property(amount, amount, amount, amount, (balance, less, spent, more) => {
        const untilMs = (available: bigint, ofDay: bigint): number =>
          estimateRunway(microUsd(available), days(ofDay, spent, 0n), NOW_MS)?.untilMs ?? Infinity;
        expect(untilMs(balance, more)).toBeLessThanOrEqual(untilMs(balance + less, more));
        expect(untilMs(balance, more + less)).toBeLessThanOrEqual(untilMs(balance, more));
      }),
    );
  });
});

/** Reports whose parts have data as of these instants; undefined: a part from the primary. */
function toReports(ages: readonly (number | undefined)[]): UsageReports {
  return {
    noting: (onServed: (asOfMs: number) => void) => {
      for (const asOfMs of ages) if (asOfMs !== undefined) onServed(asOfMs);
      return {} as UsageReports;
    },
  } as UsageReports;
}

test("an answer's as_of is that of its oldest part, and is absent if the primary served all parts", () => {
  const at = (text: string): number => Date.parse(text);
  const parts = [undefined, at("2026-11-22T01:00:07Z"), at("2026-11-22T01:00:03Z")];
  expect(datedReports(toReports(parts)).asOf()).toEqual({ as_of: "2026-11-22T01:00:03.000Z" });
  expect(datedReports(toReports([undefined])).asOf()).toEqual({});
});
