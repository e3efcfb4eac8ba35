import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { Catalog } from "../catalog/index.ts";
import { watchPrices } from "./watch-prices.ts";

const MIDNIGHT = Date.parse("2027-01-01T00:00:00Z");
const sheet = (pinId: string): object => ({ pinId });
const [now, later, last] = ["now", "later", "last"].map(sheet);
const dated = [
  { fromMs: Number.NEGATIVE_INFINITY, prices: now },
  { fromMs: MIDNIGHT, prices: later },
  { fromMs: MIDNIGHT + 150_000, prices: last },
];

function catalogOf(prices: object | undefined): Catalog {
  const undated = { prices: sheet("other") };
  return { deployments: [undated, { prices, datedPrices: dated }] } as unknown as Catalog;
}

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test("the catalog is built again when announced prices begin, and once for each", () => {
  const holder = { current: catalogOf(now) };
  const clock = { nowMs: () => Date.now(), monotonicMs: () => Date.now() };
  vi.setSystemTime(MIDNIGHT - 150_000);
  const builtAt: number[] = [];
  const stop = watchPrices({ catalog: holder, clock }, () => {
    builtAt.push(Date.now() - MIDNIGHT);
    holder.current = catalogOf(Date.now() < MIDNIGHT + 150_000 ? later : last);
  });
  vi.advanceTimersByTime(149_999);
  expect(builtAt).toEqual([]);
  vi.advanceTimersByTime(700_000);
  expect(builtAt).toEqual([0, 150_000]);
  stop();
});

test("a catalog that could not be built is built again within a minute, until it was", () => {
  const holder = { current: catalogOf(now) };
  const clock = { nowMs: () => Date.now(), monotonicMs: () => Date.now() };
  vi.setSystemTime(MIDNIGHT - 2_000);
  let asked = 0;
  const stop = watchPrices({ catalog: holder, clock }, () => (asked += 1));
  vi.advanceTimersByTime(2_000 + 3 * 60_000);
  expect(asked).toBe(4);
  holder.current = catalogOf(last);
  vi.advanceTimersByTime(10 * 60_000);
  expect(asked).toBe(4);
  stop();
  holder.current = catalogOf(now);
  vi.advanceTimersByTime(10 * 60_000);
  expect(asked).toBe(4);
});
