/**
 * Observed tokens of one attempt in the five buckets that are priced. The buckets are disjoint:
 * their sum is everything the provider counted.
 */
export interface Usage {
  /** Prompt tokens read without the cache. */
  readonly prompt: number;
  /** Prompt tokens read from the provider's cache. */
  readonly cachedPrompt: number;
  /** Prompt tokens written into the provider's cache. */
  readonly cacheWrite: number;
  /** Output tokens without reasoning. */
  readonly completion: number;
  /** Reasoning ("thinking") output tokens. */
  readonly internalReasoning: number;
}

export const ZERO_USAGE: Usage = {
  prompt: 0,
  cachedPrompt: 0,
  cacheWrite: 0,
  completion: 0,
  internalReasoning: 0,
};

export function promptTokensTotal(usage: Usage): number {
  return usage.prompt + usage.cachedPrompt + usage.cacheWrite;
}

export function outputTokensTotal(usage: Usage): number {
  return usage.completion + usage.internalReasoning;
}
