import { expect, test } from "vitest";

import { SIZED_ATTEMPTS_MAX } from "../../kernel/core/constants.ts";
import { sizedTokens } from "./tokens-by-size.ts";

test("token sums by size are undefined, not partial, if there are more attempts than are read", () => {
  const row = {
    model_id: "a",
    provider_id: "acme",
    prompt_above: 0,
    total_above: 0,
    is_own_key: false,
    debit: 0n,
    cache_write_1h: null,
    attempts: 1n,
    prompt: 1n,
    cached_prompt: 0n,
    cache_write: 0n,
    completion: 0n,
    internal_reasoning: 0n,
  };
  expect(sizedTokens([])).toEqual([]);
  expect(sizedTokens([{ ...row, all_attempts: BigInt(SIZED_ATTEMPTS_MAX) }])).toHaveLength(1);
  expect(sizedTokens([{ ...row, all_attempts: BigInt(SIZED_ATTEMPTS_MAX) + 1n }])).toBeUndefined();
});
