import { eachSku, HOUR_SKU, type Sku } from "../kernel/index.ts";
import type { PriceSheet } from "./catalog.ts";

type Rates = Readonly<Record<Sku, bigint>>;

/** The price of a token of each SKU: an hour of the cache costs what any write does unless priced. */
export function ratesOf(prices: PriceSheet): Rates {
  return eachSku((sku) => prices[sku] ?? prices.cacheWrite);
}

/** Does the listing offer writes that are kept for an hour, at a price of their own? */
export function pricesHourWrites(prices: PriceSheet | null): boolean {
  return prices?.[HOUR_SKU] !== undefined;
}

/** Does some token cost more? */
export function costsMore(rates: Rates, than: Rates): boolean {
  return Object.values(eachSku((sku) => rates[sku] > than[sku])).includes(true);
}
