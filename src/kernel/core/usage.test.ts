import { expect, test } from "vitest";

import { bySkuName, sumUsage, type Usage } from "./usage.ts";

const FIVE: Usage = {
  prompt: 1,
  cachedPrompt: 2,
  cacheWrite: 4,
  completion: 8,
  internalReasoning: 16,
};

test("the tokens of a request with several attempts are added up bucket by bucket, the hour of the cache too", () => {
  expect(sumUsage([FIVE, { ...FIVE, cacheWrite1h: 3 }, { ...FIVE, cacheWrite1h: 1 }])).toEqual({
    prompt: 3,
    cachedPrompt: 6,
    cacheWrite: 12,
    cacheWrite1h: 4,
    completion: 24,
    internalReasoning: 48,
  });
});

test("tokens and prices without an hour of the cache are shown without one, never as a zero", () => {
  const names = ["prompt", "cached_prompt", "cache_write", "completion", "internal_reasoning"];
  expect(sumUsage([FIVE, FIVE])).not.toHaveProperty("cacheWrite1h");
  expect(Object.keys(bySkuName(FIVE, String))).toEqual(names);
  expect(bySkuName({ ...FIVE, cacheWrite1h: 3 }, String)).toHaveProperty("cache_write_1h", "3");
});
