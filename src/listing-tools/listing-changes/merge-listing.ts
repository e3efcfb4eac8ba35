import { BILLED_SKUS } from "../../catalog/index.ts";
import { diffRates, isDearer, type PriceDifference } from "./diff-prices.ts";
import { priceUnits } from "./decimal-text.ts";
import { changesAfter, type Listing, ratesAbove, ratesAt } from "./listing-prices.ts";
import { announced } from "./price-timeline.ts";

/** How new prices of a source come into force. */
export interface PriceRules {
  readonly nowMs: number;
  /** When rises begin that no one named an instant for. */
  readonly riseFromMs: number;
  /** When every price change begins, where the operator named an instant. */
  readonly effectiveMs?: number;
  /** Millionths of a percent: a rise above it waits. */
  readonly riseMax: bigint;
  /** A rise that no margin covers begins at once, or is seen as a loss; absent: the operator pays. */
  readonly neverBelowCost?: true;
}

/** What becomes of a listing that the source still has, and that was not edited by hand. */
export type MergedListing =
  | { readonly kind: "taken"; readonly listing: Listing }
  /** The source's listing has to be accepted first. */
  | {
      readonly kind: "waits";
      readonly reason: "rise" | "staged";
      readonly prices: readonly PriceDifference[];
      /** The same at its old prices, which says what its provider is owed by now. */
      readonly listing?: Listing;
    };

/** Takes over what the source says of a listing; no customer pays more before it is announced. */
export function mergeListing(
  before: Listing,
  after: Listing,
  rules: PriceRules & { readonly isAccepted: boolean },
): MergedListing {
  const { nowMs } = rules;
  // No client is served by a staged listing: there is no one to notify.
  if (before.model.is_ready === false) return { kind: "taken", listing: after };
  const saleFromMs = saleFrom(before, after, rules);
  const rises = diffRates(before, after, saleFromMs).filter(isDearer);
  if (!rules.isAccepted) {
    if (after.model.is_ready === false) return { kind: "waits", reason: "staged", prices: rises };
    if (rises.some((each) => isAbove(each, rules.riseMax))) {
      const waits = { kind: "waits", reason: "rise", prices: rises } as const;
      if (rules.neverBelowCost !== true) return waits;
      // Sold below cost until it is accepted: that is an alert, and in the books.
      return { ...waits, listing: announced(before, after, { nowMs, saleFromMs: Infinity }) };
    }
  }
  if (saleFromMs <= nowMs) return { kind: "taken", listing: after };
  const listing = announced(before, after, { nowMs, saleFromMs });
  const isLoss = rules.neverBelowCost === true && isBelowCost(listing, nowMs);
  return { kind: "taken", listing: isLoss ? after : listing };
}

/** Would some token be sold for less than is owed for it, at the prices of an instant? */
function isBelowCost({ model, terms }: Listing, atMs: number): boolean {
  const { purchase_pricing: pricing, purchase_tiers: tiers, purchase_extra: extra } = terms;
  if (pricing === undefined) return false;
  const bought = ratesAt(
    {
      model: { ...model, pricing },
      terms: {
        ...(tiers === undefined ? {} : { price_tiers: tiers }),
        ...(extra === undefined ? {} : { extra_pricing: extra }),
      },
    },
    atMs,
  );
  const sold = ratesAt({ model, terms }, atMs);
  return [...bought, ...sold].some(({ abovePromptTokens: bound }) => {
    const [owed, paid] = [ratesAbove(bought, bound), ratesAbove(sold, bound)];
    return BILLED_SKUS.some((sku) => priceUnits(owed[sku]) > priceUnits(paid[sku]));
  });
}

/**
 * When customers begin to pay the source's prices. What is announced already keeps its instant; a
 * cut begins at once unless the operator named an instant; a rise never does by itself.
 */
function saleFrom(before: Listing, after: Listing, rules: PriceRules): number {
  const { nowMs, riseFromMs, effectiveMs } = rules;
  const candidates = [nowMs, ...changesAfter(before, nowMs).toSorted((a, b) => a - b)];
  const same = candidates.find((atMs) => diffRates(before, after, atMs).length === 0);
  if (same !== undefined) return same;
  if (effectiveMs !== undefined) return Math.max(effectiveMs, nowMs);
  const notDearer = candidates.find((atMs) => !diffRates(before, after, atMs).some(isDearer));
  return notDearer ?? riseFromMs;
}

/** Exactly: `new - old` against `riseMax` millionths of a percent of `old`. */
function isAbove({ old, new: next }: PriceDifference, riseMax: bigint): boolean {
  const before = priceUnits(old ?? "0");
  return (priceUnits(next ?? "0") - before) * 100_000_000n > riseMax * before;
}
