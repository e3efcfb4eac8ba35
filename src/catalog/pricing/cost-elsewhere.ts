import type { PriceSheet } from "../catalog.ts";
import { pricesHourWrites, ratesOf } from "../sku-rates.ts";
import {
  floorToMicroUsd,
  HOUR_SKU,
  type MicroUsd,
  picoUsd,
  type Usage,
} from "../../kernel/index.ts";
import { exactCost } from "./quote.ts";

/** Tokens of requests whose prompts lie between the same two bounds of every tier. */
export interface TokensOfSize {
  /** Each of these prompts has more tokens than this; 0: any. */
  readonly abovePromptTokens: number;
  readonly usage: Usage;
}

/**
 * What tokens that were used somewhere would have cost at these prices, each at the tier of its own
 * prompt: exact, and rounded down once, over all of them.
 */
export function costElsewhere(prices: PriceSheet, tokens: readonly TokensOfSize[]): MicroUsd {
  let sum = 0n;
  for (const { abovePromptTokens, usage } of tokens) {
    sum += exactCost(ratesAbove(prices, abovePromptTokens), usage);
  }
  return floorToMicroUsd(picoUsd(sum));
}

/**
 * The least that the same tokens can have cost where it is not known how large each prompt was, nor
 * for how long the cache was written: all of them at the cheapest tier and write. Where neither
 * changes the price, it is what they cost.
 */
export function leastCostElsewhere(prices: PriceSheet, usage: Usage): MicroUsd {
  const sheets = [rates(prices), ...(prices.tiers ?? []).map((tier) => rates(tier.prices))];
  const costs = sheets.map((sheet) => exactCost(withCheapestWrite(sheet), usage));
  return floorToMicroUsd(costs.reduce((least, cost) => (cost < least ? cost : least)));
}

function withCheapestWrite(prices: PriceSheet): PriceSheet {
  const { cacheWrite, [HOUR_SKU]: hour } = ratesOf(prices);
  return hour < cacheWrite ? { ...prices, cacheWrite: hour } : prices;
}

/** Does the cost of a sum of tokens depend on more than the sum? */
export function dependsOnRequest(prices: PriceSheet, usage: Usage): boolean {
  const hasHours = pricesHourWrites(prices) && usage.cacheWrite > 0;
  return hasHours || tierBounds(prices).length > 0;
}

/** The sizes of a prompt above which the prices change. */
export function tierBounds(prices: PriceSheet): readonly number[] {
  return (prices.tiers ?? []).map(({ abovePromptTokens }) => abovePromptTokens);
}

function ratesAbove(prices: PriceSheet, promptTokens: number): PriceSheet {
  const tier = prices.tiers?.findLast(({ abovePromptTokens }) => abovePromptTokens <= promptTokens);
  return rates(tier?.prices ?? prices);
}

/** One price for every size: the sum of many prompts is not the size of one. */
function rates({ tiers: _bySize, ...sheet }: PriceSheet): PriceSheet {
  return sheet;
}
