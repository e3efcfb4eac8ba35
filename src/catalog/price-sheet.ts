import { hash } from "node:crypto";

import { assert, type BySkuName, fromSkuNames } from "../kernel/index.ts";
import type { DatedPrices, PricedSku, PriceSheet, PriceTier } from "./catalog.ts";
import {
  EXTRA_SKUS,
  type ManifestExtraPricing,
  type ManifestListingTerms,
  type ManifestPrice,
  type ManifestPriceTier,
  type ManifestTermPrices,
} from "./manifest/index.ts";

interface StatedPrices extends ManifestTermPrices {
  readonly pricing: readonly ManifestPrice[];
}

/** All prices of a valid listing, oldest first. Every price pin also covers the `pinned` texts. */
export function compileDatedPrices(
  pinned: readonly string[],
  pricing: readonly ManifestPrice[],
  { price_changes: changes = [], ...terms }: ManifestListingTerms = {},
): readonly [DatedPrices, ...DatedPrices[]] {
  const dated = (fromMs: number, stated: StatedPrices): DatedPrices => ({
    fromMs,
    prices: compilePriceSheet(pinned, stated),
    defaultedSkus: defaultedSkus(stated.pricing),
  });
  return [
    dated(Number.NEGATIVE_INFINITY, { ...terms, pricing }),
    ...changes.map((change) => dated(Date.parse(change.from), change)),
  ];
}

/** The prices until the next change. The pin also covers the purchase prices. */
export function compilePriceSheet(pinned: readonly string[], stated: StatedPrices): PriceSheet {
  const { pricing, price_tiers: tiers, extra_pricing: extra, purchase_pricing: bought } = stated;
  if (bought === undefined) return compileTiered(pinned, pricing, tiers, extra);
  const { purchase_tiers: boughtTiers, purchase_extra: boughtExtra } = stated;
  const purchase = compileTiered([...pinned, "purchase"], bought, boughtTiers, boughtExtra);
  return { ...compileTiered([...pinned, purchase.pinId], pricing, tiers, extra), purchase };
}

function compileTiered(
  pinned: readonly string[],
  pricing: readonly ManifestPrice[],
  stated: readonly ManifestPriceTier[] | undefined,
  extra: ManifestExtraPricing | undefined,
): PriceSheet {
  if (stated === undefined) return compileRates(pinned, pricing, extra);
  const tiers = stated.map(({ above_prompt_tokens: bound, ...tier }): PriceTier => {
    const prices = compileRates([...pinned, `above=${bound}`], tier.pricing, tier.extra_pricing);
    return { abovePromptTokens: bound, prices };
  });
  const tierPins = tiers.map(({ prices }) => prices.pinId);
  return { ...compileRates([...pinned, ...tierPins], pricing, extra), tiers };
}

function compileRates(
  pinned: readonly string[],
  pricing: readonly ManifestPrice[],
  extra: ManifestExtraPricing | undefined,
): PriceSheet {
  const rates = statedRates(pricing, extra);
  const prices = fromSkuNames((name) => {
    const rate = rates[name];
    return rate === undefined ? undefined : scaledPrice(rate, FRACTION_DIGITS);
  });
  const lines = Object.entries(prices).map(([sku, price]) => `${sku}=${price}`);
  return { pinId: shortHash([...pinned, ...lines].join("\n")), ...prices };
}

function defaultedSkus(pricing: readonly ManifestPrice[]): readonly PricedSku[] {
  const declared = new Set(pricing.map(({ type }) => type));
  return OPTIONAL_SKUS.filter((sku) => !declared.has(sku));
}

const OPTIONAL_SKUS = ["cached_prompt", "cache_write", "internal_reasoning"] as const;

export function shortHash(text: string): string {
  return hash("sha256", text).slice(0, 32);
}

/** A price in USD per million tokens with six decimals is a whole number of pico-USD per token. */
const FRACTION_DIGITS = 6;

/** A decimal text times 10^`fractionDigits`. The result must be a whole number. */
export function scaledPrice(text: string, fractionDigits: number): bigint {
  const [whole = "", fraction = ""] = text.split(".");
  assert(fraction.length <= fractionDigits, "a scaled decimal loses no digits");
  return BigInt(whole + fraction.padEnd(fractionDigits, "0"));
}

/**
 * The price of each SKU in USD per million tokens, as written. A SKU without a price costs its base
 * rate, never 0: cache reads and writes cost what the prompt costs, reasoning what the completion
 * costs. Hour-long cache writes are absent if they are not priced.
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

export function extraPricing(
  priceOf: (sku: (typeof EXTRA_SKUS)[number]) => string,
): ManifestExtraPricing {
  return Object.fromEntries(EXTRA_SKUS.map((sku) => [sku, priceOf(sku)])) as ManifestExtraPricing;
}
