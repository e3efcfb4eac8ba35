import {
  type Catalog,
  comingPrices,
  type Deployment,
  deploymentAt,
  costsMore,
  type PriceSheet,
  computeRates,
  costElsewhere,
  leastCostElsewhere,
  tierBounds,
} from "../../catalog/index.ts";
import { formatUsd, instant, type Usage } from "../../kernel/index.ts";
import type { SizedTokens } from "../../gateway/index.ts";
import type { PriceNotice } from "./contract.ts";
import { presentTiers } from "./present-model.ts";
import { presentPrices } from "./present-request.ts";

export interface ComingChange {
  readonly listing: Deployment;
  readonly name: string;
  readonly fromMs: number;
  readonly before: PriceSheet;
  readonly after: PriceSheet;
}

export interface ListingUse {
  readonly requests: number;
  readonly usage: Usage;
  /** Tokens grouped by the prompt sizes at which prices change; undefined if sizes are unknown. */
  readonly sized: readonly SizedTokens[] | undefined;
}

/**
 * Finds, for each routed listing that bills by the token, the next change of the prices that
 * customers pay.
 */
export function comingChanges({ models }: Catalog, nowMs: number): readonly ComingChange[] {
  return models.flatMap(({ displayName, deployments }) =>
    deployments.flatMap((each): ComingChange[] => {
      const listing = deploymentAt(each, nowMs);
      const { prices: before } = listing;
      if (before === null || listing.billing !== "token") return [];
      const next = comingPrices(listing).find(({ prices }) => !isSame(before, prices));
      if (next === undefined) return [];
      const { fromMs, prices: after } = next;
      return [{ listing, name: displayName, fromMs, before, after }];
    }),
  );
}

/** The prompt sizes at which a price of these listings changes. */
export function changeBounds(changes: readonly ComingChange[]): readonly number[] {
  const bounds = changes.flatMap(({ before, after }) => [
    ...tierBounds(before),
    ...tierBounds(after),
  ]);
  return [...new Set(bounds)].toSorted((a, b) => a - b);
}

/** `bounds` are the prompt sizes by which `use` was grouped. */
export function priceNotice(
  change: ComingChange,
  use: ListingUse,
  bounds: readonly number[],
): PriceNotice {
  const { listing, name, fromMs, before, after } = change;
  const from = instant(fromMs);
  const hasTiers = changeBounds([change]).length > 0;
  const computeCost = (prices: PriceSheet): string => {
    if (use.sized === undefined) return formatUsd(leastCostElsewhere(prices, use.usage));
    // Requests with the customer's own provider key are left out: they cost the same after the
    // change.
    const billed = use.sized.filter(({ isOwnKey }) => !isOwnKey);
    const tokens = billed.map(({ promptAbove, usage }) => ({
      abovePromptTokens: bounds[promptAbove - 1] ?? 0,
      usage,
    }));
    return formatUsd(costElsewhere(prices, tokens));
  };
  return {
    notice_id: `${listing.id}@${from}`,
    model: listing.modelId,
    name,
    provider: listing.providerId,
    provider_name: listing.providerName,
    from,
    old: { prices: presentPrices(before), price_tiers: presentTiers(before) },
    new: { prices: presentPrices(after), price_tiers: presentTiers(after) },
    is_rise: isRise(before, after),
    requests: use.requests,
    cost_old_usd: computeCost(before),
    cost_new_usd: computeCost(after),
    is_at_least: hasTiers && use.sized === undefined,
  };
}

/** True if customers pay the same, even if the provider's own price changes. */
function isSame(before: PriceSheet, after: PriceSheet): boolean {
  return serializeSale(before) === serializeSale(after);
}

function serializeSale(prices: PriceSheet): string {
  return JSON.stringify([presentPrices(prices), presentTiers(prices)]);
}

function isRise(before: PriceSheet, after: PriceSheet): boolean {
  const bounds = [0, ...tierBounds(before), ...tierBounds(after)];
  return bounds.some((bound) => {
    return costsMore(
      computeRates(ratesAbove(after, bound)),
      computeRates(ratesAbove(before, bound)),
    );
  });
}

function ratesAbove(prices: PriceSheet, bound: number): PriceSheet {
  const tier = prices.tiers?.findLast(({ abovePromptTokens }) => abovePromptTokens <= bound);
  return tier?.prices ?? prices;
}
