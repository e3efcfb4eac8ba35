/**
 * Observed tokens of one attempt in the five buckets that are priced. The buckets are disjoint:
 * their sum is everything the provider counted. A sixth price is for a part of one of them.
 */
export interface Usage {
  /** Prompt tokens read without the cache. */
  readonly prompt: number;
  /** Prompt tokens read from the provider's cache. */
  readonly cachedPrompt: number;
  /** Prompt tokens written into the provider's cache. */
  readonly cacheWrite: number;
  /** The part of `cacheWrite` that is kept for an hour, at a price of its own; absent: none. */
  readonly cacheWrite1h?: number;
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

/** The same tokens as five buckets: an hour of the cache counts as any other write. */
export function withoutHourWrites(usage: Usage): Usage {
  const { cacheWrite1h: _hour, ...buckets } = usage;
  return buckets;
}

export function promptTokensTotal(usage: Usage): number {
  return usage.prompt + usage.cachedPrompt + usage.cacheWrite;
}

export function outputTokensTotal(usage: Usage): number {
  return usage.completion + usage.internalReasoning;
}
