import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  applyRemoteCooldown,
  afterTooMany,
  isOver,
  usablePercent,
  type PoolThrottle,
} from "./pool-throttle.ts";

/** The 429s at these seconds, each with a cooldown of one second. */
function throttledAt(...seconds: number[]): PoolThrottle | undefined {
  return seconds.reduce<PoolThrottle | undefined>(
    (known, second) => afterTooMany(known, { cooldownMs: 1_000, nowMs: second * 1000 }),
    undefined,
  );
}

function percentAt(throttle: PoolThrottle | undefined, second: number): number {
  return usablePercent(throttle, second * 1000);
}

describe("the usable part of a pool", () => {
  test("is a tenth at least, however many 429s there are", () => {
    const seconds = Array.from({ length: 60 }, (_, second) => second);
    expect(percentAt(throttledAt(...seconds), 59)).toBe(10);
  });

  test("comes back by one percent of what was declared after each whole quiet second", () => {
    const throttle = throttledAt(0);
    expect([0.999, 1, 1.999, 19.999, 20, 21].map((at) => percentAt(throttle, at))).toEqual([
      80, 81, 81, 99, 100, 100,
    ]);
  });

  test("does not come back in a second in which a 429 came, even one that shrank nothing", () => {
    expect(percentAt(throttledAt(0, 0.9), 1.8)).toBe(80);
    expect(percentAt(throttledAt(0, 0.9), 1.9)).toBe(81);
  });

  test("shrinks by a fifth with each 429 and comes back, for any pauses", () => {
    const pauses = fc.array(fc.integer({ min: 0, max: 30_000 }), { maxLength: 50 });
    fc.assert(
      fc.property(pauses, (pausesMs) => {
        let throttle: PoolThrottle | undefined;
        let nowMs = 0;
        for (const pauseMs of pausesMs) {
          nowMs += pauseMs;
          const before = usablePercent(throttle, nowMs);
          const shrunkAtMs = throttle?.shrunkAtMs ?? Number.NEGATIVE_INFINITY;
          throttle = afterTooMany(throttle, { cooldownMs: 1_000, nowMs });
          const after = usablePercent(throttle, nowMs);
          const expected = Math.max(10, Math.floor((before * 80) / 100));
          expect(after).toBe(nowMs - shrunkAtMs < 1_000 ? before : expected);
        }
        for (let seconds = 0; seconds < 100; seconds += 1) {
          const percent = usablePercent(throttle, nowMs + seconds * 1000);
          const next = usablePercent(throttle, nowMs + seconds * 1000 + 1000);
          expect(percent).toBeGreaterThanOrEqual(10);
          expect(next).toBe(Math.min(100, percent + 1));
        }
      }),
    );
  });
});

describe("the cooldown of a pool", () => {
  test("is not cut short by a 429 with a shorter one", () => {
    const long = afterTooMany(undefined, { cooldownMs: 30_000, nowMs: 0 });
    expect(afterTooMany(long, { cooldownMs: 2_000, nowMs: 100 }).cooldownUntilMs).toBe(30_000);
  });
});

describe("the notice of another instance", () => {
  const remote = applyRemoteCooldown(undefined, { cooldownMs: 5_000, nowMs: 0 });

  test("is one 429 however often it is read again, and however late", () => {
    let known = remote;
    for (let nowMs = 1_000; nowMs < 5_000; nowMs += 1_000) {
      known = applyRemoteCooldown(known, { cooldownMs: 5_200 - nowMs, nowMs });
    }
    expect(known.cooldownUntilMs).toBe(5_200);
    expect(usablePercent(known, 4_000)).toBe(84);
  });

  test("is another 429 when its cooldown lasts longer", () => {
    const known = applyRemoteCooldown(remote, { cooldownMs: 9_000, nowMs: 2_000 });
    expect(known.cooldownUntilMs).toBe(11_000);
    expect(usablePercent(known, 2_000)).toBe(65);
  });
});

test("a pool is forgotten after its cooldown, when a late notice can no longer come, and all is usable", () => {
  const short = afterTooMany(undefined, { cooldownMs: 1_000, nowMs: 0 });
  expect(isOver(short, 19_999)).toBe(false);
  expect(isOver(short, 20_000)).toBe(true);
  const long = afterTooMany(undefined, { cooldownMs: 60_000, nowMs: 0 });
  expect(isOver(long, 61_000)).toBe(false);
  expect(isOver(long, 61_001)).toBe(true);
});
