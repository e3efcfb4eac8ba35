import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../test/support/depth.ts";
import { RollingWindow, SteadySeconds } from "./rolling-window.ts";

describe("a rolling window", () => {
  test("returns after how many seconds a given amount has left it", () => {
    const window = new RollingWindow();
    window.advance(100);
    window.add(2);
    window.advance(130);
    window.add(5);
    expect(window.secondsUntilLeft(1)).toBe(31);
    expect(window.secondsUntilLeft(2)).toBe(31);
    expect(window.secondsUntilLeft(3)).toBe(61);
    window.advance(160);
    expect(window.secondsUntilLeft(2)).toBe(1);
  });

  test("counts the same as a plain list of charges, for any history", () => {
    const step = fc.record({
      wait: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 130 })),
      amount: fc.integer({ min: 0, max: 50 }),
      correctAge: fc.integer({ min: 0, max: 70 }),
      delta: fc.integer({ min: -60, max: 60 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const window = new RollingWindow();
        const buckets = new Map<number, number>();
        let now = 1_000;
        for (const { wait, amount, correctAge, delta } of steps) {
          now += wait;
          window.advance(now);
          window.add(amount);
          buckets.set(now, (buckets.get(now) ?? 0) + amount);
          window.correct(now - correctAge, delta);
          const before = buckets.get(now - correctAge) ?? 0;
          if (correctAge <= 60) buckets.set(now - correctAge, Math.max(0, before + delta));
          const inside = [...buckets].filter(([second]) => now - second <= 60);
          expect(window.total).toBe(inside.reduce((sum, [, charge]) => sum + charge, 0));
        }
      }),
      { numRuns: runs(300) },
    );
  });
});

test("a caller with an earlier clock reading does not move the counted second back", () => {
  const seconds = new SteadySeconds();
  expect(seconds.at(100_000)).toBe(100);
  expect(seconds.at(98_500)).toBe(100);
  expect(seconds.at(100_900)).toBe(100);
  expect(seconds.at(101_000)).toBe(101);
});

test("after the wall clock jumps ahead and back, seconds are counted on from the latest one", () => {
  const seconds = new SteadySeconds();
  seconds.at(100_000);
  expect(seconds.at(3_700_000)).toBe(3_700);
  expect(seconds.at(101_000)).toBe(3_700);
  expect(seconds.at(103_000)).toBe(3_702);
  expect(seconds.at(162_000)).toBe(3_761);
});
