import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../test/support/depth.ts";
import { RollingWindow } from "./rolling-window.ts";

test("a rolling window counts the same as a plain list of charges, for any history", () => {
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
