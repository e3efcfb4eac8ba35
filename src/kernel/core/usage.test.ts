import { expect, test } from "vitest";

import { bySkuName, sumUsage, type Usage } from "./usage.ts";

const FIVE: Usage = {
  prompt: 1,
  cachedPrompt: 2,
  cacheWrite: 4,
  completion: 8,
  internalReasoning: 16,
};

test("sumUsage adds tokens bucket by bucket, including hour-long cache writes", () => {
  expect(sumUsage([FIVE, { ...FIVE, cacheWrite1h: 3 }, { ...FIVE, cacheWrite1h: 1 }])).toEqual({
    prompt: 3,
    cachedPrompt: 6,
    cacheWrite: 12,
    cacheWrite1h: 4,
    completion: 24,
    internalReasoning: 48,
  });
});

test("tokens and prices without hour-long cache writes omit them instead of showing a zero", () => {
  const names = ["prompt", "cached_prompt", "cache_write", "completion", "internal_reasoning"];
  expect(sumUsage([FIVE, FIVE])).not.toHaveProperty("cacheWrite1h");
  expect(Object.keys(bySkuName(FIVE, String))).toEqual(names);
  expect(bySkuName({ ...FIVE, cacheWrite1h: 3 }, String)).toHaveProperty("cache_write_1h", "3");
});
