import type { ModelProvider, PricesPerMillion } from "../../api/contract.ts";
import { parseUsd, showUsd } from "../../ui/money-math.ts";

/** A unit of usage that is billed by the token. */
export type Sku = keyof PricesPerMillion;

export const SKU_NAMES: Readonly<Record<Sku, string>> = {
  prompt: "Input",
  cached_prompt: "Cached input",
  cache_write: "Cache write",
  cache_write_1h: "Cache write, 1 hour",
  completion: "Output",
  internal_reasoning: "Reasoning",
};

export const SKUS = Object.keys(SKU_NAMES) as readonly Sku[];
/** 1-hour cache writes. A listing without a price for them charges them like other cache writes. */
export const HOUR_WRITE = "cache_write_1h" satisfies Sku;

/** Such as `"same as input"`. Undefined if the listing states a price for the SKU. */
export function defaultLabel(listing: ModelProvider, sku: Sku): string | undefined {
  if (!listing.defaulted.includes(sku)) return undefined;
  return sku === "internal_reasoning" ? "same as output" : "same as input";
}

/** Writes a price exactly, with at least two decimals, such as `"$3.00"` or `"$0.0375"`. */
export function showPrice(price: string): string {
  const [whole = "0", fraction = ""] = price.split(".");
  return showUsd(`${whole}.${fraction.replace(/0+$/, "").padEnd(2, "0")}`);
}

/** Such as `"$0.10 a second"`. */
export function cardLineLabel(line: ModelProvider["price_card"][number]): string {
  return `${showPrice(line.cost_usd)} ${line.unit === "image" ? "an" : "a"} ${line.unit}`;
}

/** Dollars per million tokens; undefined if the listing is not billed by token. */
export function tokenPrice(listing: ModelProvider, sku: Sku): string | undefined {
  return listing.billing === "token" ? listing.prices?.[sku] : undefined;
}

export function paidPrice(listings: readonly ModelProvider[], sku: Sku): string | undefined {
  const [first] = listings;
  return first === undefined ? undefined : tokenPrice(first, sku);
}

export function lowestPrice(listings: readonly ModelProvider[], sku: Sku): string | undefined {
  return listings
    .flatMap((listing) => tokenPrice(listing, sku) ?? [])
    .reduce<string | undefined>(
      (low, price) => (low === undefined || parseUsd(price) < parseUsd(low) ? price : low),
      undefined,
    );
}

export function priceLine(listings: readonly ModelProvider[]): string {
  const price = lowestLine(listings.slice(0, 1));
  const lowest = lowestLine(listings);
  return lowest === price ? price : `${price}, from ${lowest}`;
}

function lowestLine(listings: readonly ModelProvider[]): string {
  const input = lowestPrice(listings, "prompt");
  const output = lowestPrice(listings, "completion");
  const card = listings.flatMap(({ price_card }) => price_card)[0];
  const isByToken = input !== undefined && output !== undefined;
  // Decisions have no output price.
  const parts = [
    ...(isByToken && parseUsd(input) !== 0n ? [`${showPrice(input)} in`] : []),
    ...(isByToken && parseUsd(output) !== 0n ? [`${showPrice(output)} out`] : []),
  ];
  if (parts.length > 0) return parts.join(" · ");
  if (card !== undefined) return cardLineLabel(card);
  return isByToken ? "Free" : "Price on each request";
}
