import { expect, test } from "vitest";

import { compareTokens, referenceCount } from "./reference-tokens.ts";

const TEXT = "Token counts of a known text are known.";

test.each([
  ["gpt-4o-mini", "o200k_base", 9],
  ["openai/gpt-5.1", "o200k_base", 9],
  ["o3", "o200k_base", 9],
  ["gpt-3.5-turbo", "cl100k_base", 9],
])("tokens of %s are counted with the tokenizer %s", async (upstreamModelId, by, tokens) => {
  const count = await referenceCount({ upstreamModelId }, TEXT);
  expect(count).toEqual({ tokens, isExact: true, by });
});

test.each(["claude-sonnet-4-5", "my-gpt-4o-like"])(
  "%s has no published tokenizer: its count is an estimate",
  async (upstreamModelId) => {
    const count = await referenceCount({ upstreamModelId }, TEXT);
    expect(count).toEqual({ tokens: 9, isExact: false, by: "an estimate for English" });
  },
);

test("o200k_base counts fewer tokens in a German text than cl100k_base", async () => {
  const text = "Überraschung für Größenwahnsinnige";
  const old = await referenceCount({ upstreamModelId: "gpt-4" }, text);
  const current = await referenceCount({ upstreamModelId: "gpt-4o" }, text);
  expect(current.tokens).toBeLessThan(old.tokens);
});

test.each([
  [100, "right"],
  [130, "right"],
  [70, "right"],
  [131, "odd"],
  [50, "odd"],
  [201, "wrong"],
  [49, "wrong"],
])("against an estimate of 100 tokens, %i billed tokens are %s", (billed, kind) => {
  const reference = { tokens: 100, isExact: false, by: "an estimate" };
  expect(compareTokens(billed, reference)).toEqual({ kind, tolerancePercent: 30 });
});

test.each([
  [105, "right"],
  [95, "right"],
  [106, "wrong"],
  [94, "wrong"],
])("against an exact count of 100 tokens, %i billed tokens are %s", (billed, kind) => {
  const reference = { tokens: 100, isExact: true, by: "a tokenizer" };
  expect(compareTokens(billed, reference)).toEqual({ kind, tolerancePercent: 5 });
});
