import * as fc from "fast-check";
import { expect, test } from "vitest";

import { StoreClock } from "./store-clock.ts";

const STORE_START_MS = Date.UTC(2027, 0, 1);

/** A store whose clock is read somewhere on the way of an answer. */
function scripted(firstMs: number) {
  const time = { ms: 0 };
  const store = { aheadMs: STORE_START_MS };
  const ask = (before: number, after: number): { askedAtMs: number; storeNowMs: number } => {
    const askedAtMs = time.ms;
    time.ms += before;
    const storeNowMs = Math.floor(time.ms + store.aheadMs);
    time.ms += after;
    return { askedAtMs, storeNowMs };
  };
  const clock = { nowMs: () => 0, monotonicMs: () => time.ms };
  const known = new StoreClock(clock, ask(firstMs, firstMs));
  return { time, store, ask, known };
}

test("one slow answer does not put the clock back", () => {
  const { time, ask, known } = scripted(2);
  time.ms += 2_000;
  known.observe(ask(5, 900));
  expect(STORE_START_MS + time.ms - known.nowMs()).toBeLessThanOrEqual(3 + 2);
});

test("it is never ahead of the store's, and behind by no more than the quickest answer took", () => {
  const way = fc.double({ min: 0, max: 3_000, noNaN: true });
  fc.assert(
    fc.property(way, fc.array(fc.tuple(way, way, way), { maxLength: 30 }), (first, asked) => {
      const { time, ask, known } = scripted(first);
      let quickestMs = 2 * first;
      for (const [waited, before, after] of asked) {
        time.ms += waited;
        known.observe(ask(before, after));
        quickestMs = Math.min(quickestMs, before + after);
        const behindMs = STORE_START_MS + time.ms - known.nowMs();
        expect(behindMs).toBeGreaterThanOrEqual(0);
        expect(behindMs).toBeLessThanOrEqual(quickestMs + 2 + time.ms * 0.000_5);
      }
    }),
  );
});

test("a store whose clock was set is followed with the next answer", () => {
  for (const setByMs of [-3_600_000, 3_600_000]) {
    const { time, store, ask, known } = scripted(2);
    store.aheadMs += setByMs;
    time.ms += 2_000;
    known.observe(ask(3, 3));
    expect(Math.abs(store.aheadMs + time.ms - known.nowMs())).toBeLessThanOrEqual(5);
  }
});

test("clocks that drift apart are followed", () => {
  const { time, store, ask, known } = scripted(1);
  for (let renewal = 0; renewal < 2_000; renewal += 1) {
    time.ms += 2_000;
    store.aheadMs -= 0.2;
    known.observe(ask(4, 4));
  }
  const behindMs = store.aheadMs + time.ms - known.nowMs();
  expect(Math.abs(behindMs)).toBeLessThanOrEqual(10);
});
