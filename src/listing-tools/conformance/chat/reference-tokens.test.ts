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
  ["an estimate", 30, [70, 100, 130], [50, 131], [49, 201]],
  ["an exact count", 5, [95, 105], [], [94, 106]],
])(
  "against %s of 100 tokens, billed tokens are right within %i %%",
  (by, tolerancePercent, right, odd, wrong) => {
    const reference = { tokens: 100, isExact: by === "an exact count", by };
    for (const [kind, counts] of Object.entries({ right, odd, wrong })) {
      for (const billed of counts) {
        const compared = { billed, ...compareTokens(billed, reference) };
        expect(compared).toEqual({ billed, kind, tolerancePercent });
      }
    }
  },
);
