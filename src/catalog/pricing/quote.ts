import type { PriceSheet, PriceTier } from "../catalog.ts";
import { ratesOf } from "../sku-rates.ts";
import {
  ceilToMicroUsd,
  floorToMicroUsd,
  type MicroUsd,
  picoUsd,
  type PicoUsd,
  promptTokensTotal,
  type Usage,
} from "../../kernel/index.ts";

/**
 * The most a text request can cost: every estimated input token at the dearest input rate, every
 * output token at the dearest output rate. Rounded up once, over the sum.
 */
export function quoteWorstCase(prices: PriceSheet, tokens: WorstTokens): MicroUsd {
  const { tiers } = prices;
  return tiers === undefined ? quoteAtRates(prices, tokens) : quoteTiers(prices, tiers, tokens);
}

/** The most tokens that a request can have. */
interface WorstTokens {
  readonly input: number;
  readonly output: number;
  /** Does the request ask for cache writes of an hour? Then all of the input may be such. */
  readonly asksHourWrites?: boolean;
}

/** The dearest of the tiers that so much input can reach, each with the most input it can have. */
function quoteTiers(
  prices: PriceSheet,
  tiers: readonly PriceTier[],
  tokens: WorstTokens,
): MicroUsd {
  const { input } = tokens;
  const [first] = tiers;
  let most = quoteAtRates(prices, atMost(tokens, first?.abovePromptTokens));
  for (const [index, tier] of tiers.entries()) {
    if (input <= tier.abovePromptTokens) break;
    const next = tiers[index + 1]?.abovePromptTokens;
    const quote = quoteAtRates(tier.prices, atMost(tokens, next));
    if (quote > most) most = quote;
  }
  return most;
}

function atMost(tokens: WorstTokens, input = tokens.input): WorstTokens {
  return input < tokens.input ? { ...tokens, input } : tokens;
}

function quoteAtRates(prices: PriceSheet, tokens: WorstTokens): MicroUsd {
  const { prompt, cachedPrompt, cacheWrite } = prices;
  const hour = tokens.asksHourWrites === true ? ratesOf(prices).cacheWrite1h : cacheWrite;
  const input = BigInt(tokens.input) * dearest(prompt, cachedPrompt, cacheWrite, hour);
  const output = BigInt(tokens.output) * dearest(prices.completion, prices.internalReasoning);
  return ceilToMicroUsd(picoUsd(input + output));
}

/**
 * The most that images can cost: every estimated input token, and for each image the listing's
 * ceiling, which is in micro-dollars where the provider reports its own cost, and so is the price.
 */
export function quoteImages(
  prices: PriceSheet,
  asked: { readonly input: number; readonly images: number; readonly ceiling: number },
): MicroUsd {
  return quoteWorstCase(prices, { input: asked.input, output: asked.images * asked.ceiling });
}

/** The exact cost of observed tokens at pinned prices: each of them at the whole prompt's tier. */
export function exactCost(pinned: PriceSheet, usage: Usage): PicoUsd {
  const prices = pinned.tiers === undefined ? pinned : tierOf(pinned, promptTokensTotal(usage));
  const { cacheWrite1h: hour = 0 } = usage;
  const cost =
    BigInt(usage.prompt) * prices.prompt +
    BigInt(usage.cachedPrompt) * prices.cachedPrompt +
    BigInt(usage.cacheWrite - hour) * prices.cacheWrite +
    BigInt(usage.completion) * prices.completion +
    BigInt(usage.internalReasoning) * prices.internalReasoning;
  return picoUsd(hour === 0 ? cost : cost + BigInt(hour) * ratesOf(prices).cacheWrite1h);
}

function tierOf(prices: PriceSheet, promptTokens: number): PriceSheet {
  const tier = prices.tiers?.findLast(({ abovePromptTokens }) => promptTokens > abovePromptTokens);
  return tier?.prices ?? prices;
}

/** What the customer owes for an exact cost: rounded down once, never above the reserve. */
export function debitOf(cost: PicoUsd, reserve: MicroUsd): MicroUsd {
  const floor = floorToMicroUsd(cost);
  return floor <= reserve ? floor : reserve;
}

function dearest(first: bigint, ...others: bigint[]): bigint {
  return others.reduce((most, price) => (price > most ? price : most), first);
}
