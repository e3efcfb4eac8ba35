import { isDeepStrictEqual } from "node:util";

import {
  BILLED_SKUS,
  extraPricing,
  type ManifestExtraPricing,
  type ManifestTermPrices,
  statedRates,
} from "../../catalog/index.ts";
import { defined } from "../../kernel/index.ts";
import type { Prices } from "../listing-sources/price-text.ts";
import {
  changesAfter,
  diffRates,
  isDearer,
  isoSecond,
  type Listing,
  type PriceDifference,
  priceUnits,
  ratesAbove,
  ratesAt,
} from "./listing-prices.ts";

export interface PriceRules {
  readonly nowMs: number;
  /** The instant at which a price rise begins if the operator named no instant. */
  readonly riseFromMs: number;
  /** The instant that the operator named for all price changes; undefined if none. */
  readonly effectiveMs?: number;
  /** Largest rise that needs no person's consent, in millionths of a percent. */
  readonly riseMax: bigint;
  /**
   * True: a rise begins at once where the old price is below cost. Absent: all rises are announced,
   * and the operator pays the difference until a rise begins.
   */
  readonly neverBelowCost?: true;
}

/** The result for a listing that the source still has and that nobody edited by hand. */
export type MergedListing =
  | { readonly kind: "taken"; readonly listing: Listing }
  /** A person must accept the new listing first. */
  | {
      readonly kind: "waits";
      readonly reason: "rise" | "staged";
      readonly prices: readonly PriceDifference[];
      /** The listing to use until then: the old sale prices with the new purchase prices. */
      readonly listing?: Listing;
    };

/** Merges the source's listing into the old one. `rules` decide which rises are announced. */
export function mergeListing(
  before: Listing,
  after: Listing,
  rules: PriceRules & { readonly isAccepted: boolean },
): MergedListing {
  const { nowMs } = rules;
  // A staged listing serves no client, so no change needs an announcement.
  if (before.model.is_ready === false) return { kind: "taken", listing: after };
  const saleFromMs = saleFrom(before, after, rules);
  const rises = diffRates(before, after, saleFromMs).filter(isDearer);
  if (!rules.isAccepted) {
    if (after.model.is_ready === false) return { kind: "waits", reason: "staged", prices: rises };
    if (rises.some((each) => isAbove(each, rules.riseMax))) {
      const waits = { kind: "waits", reason: "rise", prices: rises } as const;
      if (rules.neverBelowCost !== true) return waits;
      // Until a person accepts, the listing may sell below cost, which the operator's pages show.
      return { ...waits, listing: announced(before, after, { nowMs, saleFromMs: Infinity }) };
    }
  }
  if (saleFromMs <= nowMs) return { kind: "taken", listing: after };
  const listing = announced(before, after, { nowMs, saleFromMs });
  const isLoss = rules.neverBelowCost === true && isBelowCost(listing, nowMs);
  return { kind: "taken", listing: isLoss ? after : listing };
}

/** True if some token sells below its purchase price at this instant. */
function isBelowCost({ model, terms }: Listing, atMs: number): boolean {
  const { purchase_pricing: pricing, purchase_tiers: tiers, purchase_extra: extra } = terms;
  if (pricing === undefined) return false;
  const owed = priceTerms(toSheet(pricing, tiers, extra));
  const bought = ratesAt({ model: { ...model, pricing }, terms: owed }, atMs);
  const sold = ratesAt({ model, terms }, atMs);
  return [...bought, ...sold].some(({ abovePromptTokens: bound }) => {
    const [due, paid] = [ratesAbove(bought, bound), ratesAbove(sold, bound)];
    return BILLED_SKUS.some((sku) => priceUnits(due[sku]) > priceUnits(paid[sku]));
  });
}

/**
 * When customers begin to pay the source's prices: when the old listing has the same prices (now or
 * as announced); else at the operator's instant; else when they are no rise; else at `riseFromMs`.
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

function isAbove({ old, new: next }: PriceDifference, riseMax: bigint): boolean {
  const before = priceUnits(old ?? "0");
  return (priceUnits(next ?? "0") - before) * 100_000_000n > riseMax * before;
}

interface Sheet {
  readonly pricing: Prices["pricing"];
  readonly price_tiers: Prices["price_tiers"];
  readonly extra_pricing: Prices["extra_pricing"];
}

interface Point {
  readonly fromMs: number;
  readonly sale: Sheet;
  readonly purchase: Sheet;
}

/** Sale prices change at `saleFromMs` (Infinity: never), and purchase prices at once. */
function announced(
  before: Listing,
  after: Listing,
  at: { readonly nowMs: number; readonly saleFromMs: number },
): Listing {
  const old = buildTimeline(before);
  const next = buildTimeline(after);
  const begins = [...old, ...next].map(({ fromMs }) => fromMs);
  const instants = [at.nowMs, at.saleFromMs, ...begins.filter((fromMs) => fromMs > at.nowMs)];
  const points = [...new Set(instants.filter(Number.isFinite))]
    .toSorted((a, b) => a - b)
    .map((fromMs): Point => {
      const { purchase } = pointAt(next, fromMs);
      const { sale } = pointAt(fromMs < at.saleFromMs ? old : next, fromMs);
      return { fromMs, sale, purchase };
    });
  return withPrices(after, points.filter(isNews));
}

function isNews({ sale, purchase }: Point, index: number, points: readonly Point[]): boolean {
  const before = points[index - 1];
  if (before === undefined) return true;
  return !isDeepStrictEqual([before.sale, before.purchase], [sale, purchase]);
}

function buildTimeline({ model, terms }: Listing): readonly Point[] {
  const changes = terms.price_changes ?? [];
  return [
    toPoint(Number.NEGATIVE_INFINITY, { ...terms, pricing: model.pricing }),
    ...changes.map((change) => toPoint(Date.parse(change.from), change)),
  ];
}

function toPoint(fromMs: number, prices: Prices): Point {
  const sale = toSheet(prices.pricing, prices.price_tiers, prices.extra_pricing);
  const { purchase_pricing: pricing, purchase_tiers: tiers, purchase_extra: extra } = prices;
  return { fromMs, sale, purchase: pricing === undefined ? sale : toSheet(pricing, tiers, extra) };
}

function toSheet(
  pricing: Sheet["pricing"],
  tiers: Sheet["price_tiers"],
  extra: Sheet["extra_pricing"],
): Sheet {
  return { pricing, price_tiers: tiers, extra_pricing: extra };
}

function pointAt(timeline: readonly Point[], atMs: number): Point {
  return timeline.findLast(({ fromMs }) => fromMs <= atMs) ?? (timeline[0] as Point);
}

/** Writes the first point in time as today's prices, and later ones as announced changes. */
function withPrices({ model, terms }: Listing, points: readonly Point[]): Listing {
  const whole = points.map((point) => wholePoint(point, points));
  const isBought = whole.some(({ sale, purchase }) => !isDeepStrictEqual(sale, purchase));
  const toPrices = (point: Point) => ({
    ...priceTerms(point.sale),
    ...(isBought ? purchaseTerms(point) : {}),
  });
  const [first, ...later] = whole;
  if (first === undefined) return { model, terms };
  const {
    price_tiers: _tiers,
    extra_pricing: _extra,
    price_changes: _changes,
    purchase_pricing: _purchase,
    purchase_tiers: _purchaseTiers,
    purchase_extra: _purchaseExtra,
    staged_because: staged,
    checked,
    ...rest
  } = terms;
  return {
    model: { ...model, pricing: first.sale.pricing },
    terms: {
      ...toPrices(first),
      ...(later.length > 0 && {
        price_changes: later.map((point) => ({
          from: isoSecond(point.fromMs),
          pricing: point.sale.pricing,
          ...toPrices(point),
        })),
      }),
      ...rest,
      ...defined({ staged_because: staged, checked }),
    },
  };
}

/**
 * Writes out prices that a point only implies, where a default would change what somebody pays: of
 * one-hour cache writes in sale and purchase prices, and of tiers in purchase prices.
 */
function wholePoint(point: Point, points: readonly Point[]): Point {
  const hasHour = points[0]?.sale.extra_pricing !== undefined;
  const sale = hasHour ? withHour(point.sale) : point.sale;
  const hour = sale.extra_pricing === undefined ? point.purchase : withHour(point.purchase);
  return { ...point, sale, purchase: withTiers(hour, sale) };
}

/** Adds a missing price for one-hour cache writes: the price of other cache writes. */
function withHour(sheet: Sheet): Sheet {
  const priced = (pricing: Sheet["pricing"]): ManifestExtraPricing => {
    const { cache_write: write } = statedRates(pricing, undefined);
    return extraPricing(() => write);
  };
  const tiers = sheet.price_tiers?.map((tier) => ({
    ...tier,
    extra_pricing: tier.extra_pricing ?? priced(tier.pricing),
  }));
  return toSheet(sheet.pricing, tiers, sheet.extra_pricing ?? priced(sheet.pricing));
}

function withTiers(sheet: Sheet, like: Sheet): Sheet {
  if (sheet.price_tiers !== undefined || like.price_tiers === undefined) return sheet;
  const { pricing, extra_pricing: extra } = sheet;
  const tiers = like.price_tiers.map(({ above_prompt_tokens: bound }) => ({
    above_prompt_tokens: bound,
    pricing,
    ...(extra && { extra_pricing: extra }),
  }));
  return toSheet(pricing, tiers, extra);
}

function priceTerms({ pricing: _pricing, ...terms }: Sheet): ManifestTermPrices {
  return defined(terms);
}

function purchaseTerms({ purchase }: Point): ManifestTermPrices {
  const { pricing, price_tiers: tiers, extra_pricing: extra } = purchase;
  return defined({ purchase_pricing: pricing, purchase_tiers: tiers, purchase_extra: extra });
}
