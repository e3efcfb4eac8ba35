import { describe, expect, test } from "vitest";

import type { OptimizeSearch } from "../../../../src/account/console-api/contract.ts";
import {
  countCalls,
  isUndecided,
  readPrompts,
  promptsProblem,
  findWinner,
} from "./optimize-labels.ts";

describe("pasted prompts", () => {
  test("are one per line, without empty lines", () => {
    expect(readPrompts("first\r\n\n  second  \nthird\n")).toEqual(["first", "second", "third"]);
  });

  test("are blocks if they are separated by lines of dashes", () => {
    expect(readPrompts("line one\nline two\n---\nsecond\n\n-----\n\n---\nthird")).toEqual([
      "line one\nline two",
      "second",
      "third",
    ]);
  });

  test("must be 3 to 50, each with at most 20,000 characters", () => {
    const prompts = (count: number): string[] => Array.from({ length: count }, () => "hi");
    expect(promptsProblem(prompts(2))).toMatch(/at least 3 prompts. There are 2/);
    expect(promptsProblem(prompts(3))).toBeUndefined();
    expect(promptsProblem(prompts(50))).toBeUndefined();
    expect(promptsProblem(prompts(51))).toMatch(/at most 50/);
    expect(promptsProblem(["a", "b", "x".repeat(20_001)])).toMatch(/^Prompt 3 is longer/);
  });
});

test("a judge adds one call for each prompt", () => {
  expect(countCalls(10, 3, false)).toBe(30);
  expect(countCalls(10, 3, true)).toBe(40);
});

test("a judged search has no winner without verdicts, even if a model has rank 1", () => {
  const result = { model: "m", calls: 3, failed: 0, rank: 1, win_rate: null };
  const judged = { objective: "best_judged", state: "finished", results: [result] };
  const search = (some: object) => ({ ...judged, ...some }) as unknown as OptimizeSearch;
  expect(findWinner(search({}))).toBeUndefined();
  expect(isUndecided(search({}))).toBe(true);
  expect(findWinner(search({ objective: "fastest" }))).toBe(result);
  expect(findWinner(search({ results: [{ ...result, win_rate: 0.5 }] }))?.model).toBe("m");
  expect(isUndecided(search({ results: [{ ...result, failed: 3, rank: null }] }))).toBe(false);
});
