import * as fc from "fast-check";
import { expect, test } from "vitest";

import { microUsd } from "../../../kernel/core/money.ts";
import { Spending } from "./spending.ts";

test("holds and spending together never exceed the budget, for any order of probes", () => {
  const step = fc.record({ worst: fc.nat(400), share: fc.integer({ min: 0, max: 100 }) });
  fc.assert(
    fc.property(fc.nat(1_000), fc.array(step), (budget, steps) => {
      const spending = new Spending(microUsd(BigInt(budget)));
      const open: { worst: bigint; cost: bigint }[] = [];
      for (const { worst, share } of steps) {
        const amount = BigInt(worst);
        if (spending.hold(microUsd(amount))) {
          open.push({ worst: amount, cost: (amount * BigInt(share)) / 100n });
        }
        const held = open.reduce((sum, each) => sum + each.worst, 0n);
        expect(spending.spentMicroUsd + held <= BigInt(budget)).toBe(true);
        const ended = share % 2 === 0 ? open.shift() : undefined;
        if (ended !== undefined) spending.settle(microUsd(ended.worst), microUsd(ended.cost));
      }
    }),
  );
});

test("a cost above its hold counts in full against the budget", () => {
  const spending = new Spending(microUsd(100n));
  expect(spending.hold(microUsd(10n))).toBe(true);
  spending.settle(microUsd(10n), microUsd(95n));
  expect(spending.hold(microUsd(5n))).toBe(true);
  expect(spending.hold(microUsd(1n))).toBe(false);
  expect(spending.spentMicroUsd).toBe(95n);
});

test("settling a probe that was not held throws", () => {
  expect(() => new Spending(microUsd(5n)).settle(microUsd(1n), microUsd(0n))).toThrow(/was held/);
});
