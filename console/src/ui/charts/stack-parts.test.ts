import { expect, test } from "vitest";

import { stackParts, tickPlaces } from "./stack-parts.ts";

const parts = [
  { id: "a", name: "A" },
  { id: "b", name: "B" },
];

test("parts are stacked, and the sum of a bar is exact", () => {
  const [stack] = stackParts("usd", parts, [
    { id: "1", label: "1", tick: "1", values: { a: "0.100001", b: "0.200002" } },
  ]);
  expect(stack?.total).toBe(300_003n);
  expect(stack?.pieces.map(({ below }) => below)).toEqual([0n, 100_001n]);
});

test("a part keeps its colour in bars that lack another part", () => {
  const [stack] = stackParts("count", parts, [{ id: "1", label: "", tick: "", values: { b: 3 } }]);
  expect(stack?.pieces.map(({ at }) => at)).toEqual([1]);
});

test("a missing measurement is marked as unmeasured, and a measured 0 is not", () => {
  const one = parts.slice(0, 1);
  const [none, zero] = stackParts("ms", one, [
    { id: "1", label: "", tick: "", values: { a: null } },
    { id: "2", label: "", tick: "", values: { a: 0 } },
  ]);
  expect([none?.isMeasured, zero?.isMeasured]).toEqual([false, true]);
});

test("the labels below the bars are few and evenly spread", () => {
  expect(tickPlaces(24, 6)).toEqual([0, 4, 8, 12, 16, 20]);
  expect(tickPlaces(3, 6)).toEqual([0, 1, 2]);
  expect(tickPlaces(0, 6)).toEqual([]);
});
