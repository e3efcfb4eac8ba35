import { assert, type BySkuName } from "../kernel/index.ts";
import { EXTRA_SKUS, type ManifestExtraPricing, type ManifestPrice } from "./manifest/index.ts";

/**
 * What each SKU of a valid listing costs, in USD per million tokens as written. One without a price
 * costs its base rate, never 0: cache reads and writes what the prompt costs, reasoning what the
 * completion costs. A write for an hour has a rate only where it has a price.
 */
export function statedRates(
  pricing: readonly ManifestPrice[],
  extra: ManifestExtraPricing | undefined,
): BySkuName<string> {
  const stated = new Map(pricing.map((price) => [price.type, price.cost_usd_per_million]));
  const prompt = stated.get("prompt");
  const completion = stated.get("completion");
  assert(prompt !== undefined, "a valid listing prices the prompt");
  assert(completion !== undefined, "a valid listing prices the completion");
  return {
    prompt,
    cached_prompt: stated.get("cached_prompt") ?? prompt,
    cache_write: stated.get("cache_write") ?? prompt,
    completion,
    internal_reasoning: stated.get("internal_reasoning") ?? completion,
    ...extra,
  };
}

/** Prices of the SKUs that `pricing` has no name for. */
export function extraPricing(
  priceOf: (sku: (typeof EXTRA_SKUS)[number]) => string,
): ManifestExtraPricing {
  return Object.fromEntries(EXTRA_SKUS.map((sku) => [sku, priceOf(sku)])) as ManifestExtraPricing;
}
