import { expect, test } from "vitest";

import { microUsd } from "../../kernel/core/money.ts";
import type { OptimizeObjective } from "./postgres-optimize-store.ts";
import { Tally } from "./tally.ts";

function tallyOf(
  objective: OptimizeObjective,
  calls: Readonly<Record<string, readonly (readonly [costMicroUsd: bigint, ms: number | null])[]>>,
): Tally {
  const tally = new Tally(objective, Object.keys(calls));
  for (const [modelId, each] of Object.entries(calls)) {
    for (const [cost, firstByteMs] of each) {
      const isAnswered = firstByteMs !== null;
      tally.addCall(modelId, { isAnswered, costMicroUsd: microUsd(cost), firstByteMs });
    }
  }
  return tally;
}

function ranks(tally: Tally): Readonly<Record<string, number | null>> {
  return Object.fromEntries(tally.results().map(({ modelId, rank }) => [modelId, rank]));
}

test("the cheapest model ranks first by the exact cost of an answer, not by the rounded cost", () => {
  const tally = tallyOf("lowest_cost", {
    dear: [[11n, 5], [10n, 5], [11n, 5]],
    cheap: [[10n, 9], [10n, 9], [11n, 9]],
  }); // prettier-ignore
  expect(tally.results().map((each) => each.costPerCallMicroUsd)).toEqual([10n, 10n]);
  expect(ranks(tally)).toEqual({ dear: 2, cheap: 1 });
});

test("the fastest model ranks first by the median time to the first byte", () => {
  const tally = tallyOf("fastest", {
    steady: [[9n, 100], [9n, 110], [9n, 120]],
    jumpy: [[1n, 1], [1n, 500], [1n, 600]],
  }); // prettier-ignore
  expect(tally.results().map((each) => each.firstByteP50Ms)).toEqual([110, 500]);
  expect(ranks(tally)).toEqual({ steady: 1, jumpy: 2 });
});

test("the best judged model ranks first by its share of verdicts, and a model without verdicts ranks last", () => {
  const tally = tallyOf("best_judged", { a: [[1n, 1]], b: [[9n, 9]], c: [[1n, 1]] });
  tally.addVerdict(["a", "b"], "b");
  tally.addVerdict(["a", "b"], "a");
  tally.addVerdict(["a", "b"], "b");
  expect(tally.results().map((each) => each.winRate)).toEqual([1 / 3, 2 / 3, null]);
  expect(ranks(tally)).toEqual({ a: 2, b: 1, c: 3 });
});

test("a judged search with verdicts for fewer than half of its prompts has no winner", () => {
  const calls = Array.from({ length: 4 }, () => [1n, 1] as const);
  const tally = tallyOf("best_judged", { a: calls, b: calls });
  expect(ranks(tally)).toEqual({ a: null, b: null });
  tally.addVerdict(["a", "b"], "b");
  expect(ranks(tally)).toEqual({ a: null, b: null });
  tally.addVerdict(["a", "b"], "b");
  expect(ranks(tally)).toEqual({ a: 2, b: 1 });
});

test("a model that fails often ranks behind all that always answer, and one that never answers has no rank", () => {
  const tally = tallyOf("lowest_cost", {
    flaky: [[1n, 1], [0n, null]],
    dear: [[900n, 1], [900n, 1]],
    dead: [[0n, null], [0n, null]],
  }); // prettier-ignore
  expect(ranks(tally)).toEqual({ flaky: 2, dear: 1, dead: null });
  expect(tally.results()[2]).toMatchObject({
    calls: 2,
    failed: 2,
    costPerCallMicroUsd: null,
    firstByteP50Ms: null,
  });
});

test("a failed call that was debited counts in the cost", () => {
  const tally = tallyOf("lowest_cost", { a: [[10n, 1], [7n, null]] }); // prettier-ignore
  expect(tally.results()[0]).toMatchObject({ costMicroUsd: 17n, costPerCallMicroUsd: 17n });
});
