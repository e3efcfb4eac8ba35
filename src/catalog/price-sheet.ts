import { createHash } from "node:crypto";

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

/**
 * Returns all past, present and announced prices of a valid listing, oldest first. The hash `pinId`
 * of each sheet also covers the texts `pinned`, such as the deployment's id.
 */
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

/**
 * Compiles the prices that hold until the next price change. The price pin is a hash that also
 * covers the purchase prices, so a changed purchase price gives a new pin.
 */
export function compilePriceSheet(pinned: readonly string[], stated: StatedPrices): PriceSheet {
  const { pricing, price_tiers: tiers, extra_pricing: extra, purchase_pricing: bought } = stated;
  const sold = { pricing, tiers, extra };
  if (bought === undefined) return compileTiered(pinned, sold);
  const purchase = compileTiered([...pinned, "purchase"], {
    pricing: bought,
    tiers: stated.purchase_tiers,
    extra: stated.purchase_extra,
  });
  return { ...compileTiered([...pinned, purchase.pinId], sold), purchase };
}

interface TieredPrices extends StatedRates {
  readonly tiers: readonly ManifestPriceTier[] | undefined;
}

interface StatedRates {
  readonly pricing: readonly ManifestPrice[];
  readonly extra: ManifestExtraPricing | undefined;
}

function compileTiered(
  pinned: readonly string[],
  { tiers: stated, ...base }: TieredPrices,
): PriceSheet {
  if (stated === undefined) return compileRates(pinned, base);
  const tiers = stated.map((tier) => compileTier(pinned, tier));
  const tierPins = tiers.map(({ prices }) => prices.pinId);
  return { ...compileRates([...pinned, ...tierPins], base), tiers };
}

function compileTier(
  pinned: readonly string[],
  { above_prompt_tokens: abovePromptTokens, pricing, extra_pricing: extra }: ManifestPriceTier,
): PriceTier {
  const prices = compileRates([...pinned, `above=${abovePromptTokens}`], { pricing, extra });
  return { abovePromptTokens, prices };
}

function compileRates(pinned: readonly string[], { pricing, extra }: StatedRates): PriceSheet {
  const rates = statedRates(pricing, extra);
  const prices = fromSkuNames((name) => {
    const rate = rates[name];
    return rate === undefined ? undefined : picoUsdPerToken(rate);
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
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

const FRACTION_DIGITS = 6;

/**
 * The result is exact, because USD per million tokens with six fraction digits is a whole number of
 * pico-USD per token.
 */
function picoUsdPerToken(costUsdPerMillion: string): bigint {
  const [whole = "", fraction = ""] = costUsdPerMillion.split(".");
  assert(fraction.length <= FRACTION_DIGITS, "a valid price has at most six fraction digits");
  return BigInt(whole + fraction.padEnd(FRACTION_DIGITS, "0"));
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
