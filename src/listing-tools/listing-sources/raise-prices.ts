import { extraPricing, type ManifestPrice, type ManifestTermPrices } from "../../catalog/index.ts";

/** Sale and `purchase_…` prices. Without the latter, the provider is owed the sale prices. */
export type Prices = ManifestTermPrices & { readonly pricing: readonly ManifestPrice[] };

type Raise = (price: string) => string;

/** Raises the sale prices: each is `raise` of the price that the provider is owed. */
export function raisedPrices<P extends Prices>(prices: P, raise: Raise): P {
  const bought = prices.purchase_pricing ?? prices.pricing;
  const tiers = prices.purchase_tiers ?? prices.price_tiers;
  const extra = prices.purchase_extra ?? prices.extra_pricing;
  const raisedTiers = tiers?.map((tier) => ({
    ...tier,
    pricing: raisedEntries(tier.pricing, raise),
    ...raisedExtra(tier.extra_pricing, raise),
  }));
  return {
    ...prices,
    pricing: raisedEntries(bought, raise),
    purchase_pricing: bought,
    ...(tiers && { price_tiers: raisedTiers, purchase_tiers: tiers }),
    ...(extra && { ...raisedExtra(extra, raise), purchase_extra: extra }),
  };
}

function raisedEntries(entries: readonly ManifestPrice[], raise: Raise): readonly ManifestPrice[] {
  return entries.map((entry) => ({
    ...entry,
    cost_usd_per_million: raise(entry.cost_usd_per_million),
  }));
}

function raisedExtra(
  extra: ManifestTermPrices["extra_pricing"],
  raise: Raise,
): Pick<ManifestTermPrices, "extra_pricing"> {
  return extra === undefined ? {} : { extra_pricing: extraPricing((sku) => raise(extra[sku])) };
}
