import {
  BILLED_SKUS,
  type BilledSku,
  type Manifest,
  type ManifestPrice,
  type ManifestTermPrices,
  statedRates,
} from "../../catalog/index.ts";
import { assert } from "../../kernel/index.ts";

type ManifestModel = Manifest["models"][number];
type Terms = NonNullable<Manifest["listing_terms"]>[string];

/** Prices in USD per million tokens, as the manifest writes them, for every SKU. */
export type Rates = Readonly<Record<BilledSku, string>>;

/** Rates of prompts with more than `abovePromptTokens` tokens. The first tier begins at 0. */
export interface RateTier {
  readonly abovePromptTokens: number;
  readonly rates: Rates;
}

export interface Listing {
  readonly model: ManifestModel;
  readonly terms: Terms;
}

export function indexListings({
  models,
  listing_terms: terms = {},
}: Manifest): Map<string, Listing> {
  return new Map(
    models.map((model) => {
      const own = Object.hasOwn(terms, model.id) ? terms[model.id] : undefined;
      return [model.id, { model, terms: own ?? {} }];
    }),
  );
}

export function changesAfter({ terms }: Listing, afterMs: number): readonly number[] {
  const begins = (terms.price_changes ?? []).map(({ from }) => Date.parse(from));
  return begins.filter((ms) => ms > afterMs);
}

export function ratesAt({ model, terms }: Listing, atMs: number): readonly RateTier[] {
  const begun = (terms.price_changes ?? []).findLast(({ from }) => Date.parse(from) <= atMs);
  const pricing = begun?.pricing ?? model.pricing;
  const prices: ManifestTermPrices = begun ?? terms;
  const tiers = (prices.price_tiers ?? []).map((tier) => ({
    abovePromptTokens: tier.above_prompt_tokens,
    rates: computeRates(tier.pricing, tier.extra_pricing),
  }));
  return [{ abovePromptTokens: 0, rates: computeRates(pricing, prices.extra_pricing) }, ...tiers];
}

/** The rates of a prompt with one token more than `bound`. */
export function ratesAbove(tiers: readonly RateTier[], bound: number): Rates {
  const tier = tiers.findLast(({ abovePromptTokens }) => abovePromptTokens <= bound);
  assert(tier !== undefined, "the first tier is above nothing");
  return tier.rates;
}

/** Prices every SKU. A one-hour cache write without a price costs as much as another write. */
function computeRates(
  pricing: readonly ManifestPrice[],
  extra: ManifestTermPrices["extra_pricing"],
): Rates {
  const rates = statedRates(pricing, extra);
  const skus = BILLED_SKUS.map((sku) => [sku, rates[sku] ?? rates.cache_write]);
  return Object.fromEntries(skus) as Rates;
}
