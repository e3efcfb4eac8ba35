import {
  ceilToMicroUsd,
  eachSku,
  floorToMicroUsd,
  HOUR_SKU,
  type MicroUsd,
  type PicoUsd,
  picoUsd,
  promptTokensTotal,
  type Sku,
  type Usage,
} from "../../kernel/index.ts";
import type { PriceSheet, PriceTier } from "../catalog.ts";

/** The cost of all input and output at their highest rates. The sum is rounded up once. */
export function quoteWorstCase(prices: PriceSheet, tokens: WorstTokens): MicroUsd {
  const { tiers } = prices;
  return tiers === undefined ? quoteAtRates(prices, tokens) : quoteTiers(prices, tiers, tokens);
}

interface WorstTokens {
  readonly input: number;
  readonly output: number;
  /** True: all input is reserved at no less than the price of an hour-long cache write. */
  readonly asksHourWrites?: boolean;
}

/** The highest quote of the tiers that the prompt can reach, each for the tier's longest prompt. */
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
  const hour = tokens.asksHourWrites === true ? computeRates(prices).cacheWrite1h : cacheWrite;
  const input = BigInt(tokens.input) * dearest(prompt, cachedPrompt, cacheWrite, hour);
  const output = BigInt(tokens.output) * dearest(prices.completion, prices.internalReasoning);
  return ceilToMicroUsd(picoUsd(input + output));
}

/**
 * The most that `images` images can cost: all estimated input tokens, and `ceiling` output tokens
 * for each image. If the provider reports its own cost, `ceiling` is in micro-dollars: input then
 * has the price 0, and an output token the price of one micro-dollar.
 */
export function quoteImages(
  prices: PriceSheet,
  asked: { readonly input: number; readonly images: number; readonly ceiling: number },
): MicroUsd {
  return quoteWorstCase(prices, { input: asked.input, output: asked.images * asked.ceiling });
}

/** The exact cost at pinned prices. The length of the prompt selects one tier for all tokens. */
export function exactCost(pinned: PriceSheet, usage: Usage): PicoUsd {
  const prices = pinned.tiers === undefined ? pinned : findTier(pinned, promptTokensTotal(usage));
  const { cacheWrite1h: hour = 0 } = usage;
  const cost =
    BigInt(usage.prompt) * prices.prompt +
    BigInt(usage.cachedPrompt) * prices.cachedPrompt +
    BigInt(usage.cacheWrite - hour) * prices.cacheWrite +
    BigInt(usage.completion) * prices.completion +
    BigInt(usage.internalReasoning) * prices.internalReasoning;
  return picoUsd(hour === 0 ? cost : cost + BigInt(hour) * computeRates(prices).cacheWrite1h);
}

function findTier(prices: PriceSheet, promptTokens: number): PriceSheet {
  const tier = prices.tiers?.findLast(({ abovePromptTokens }) => promptTokens > abovePromptTokens);
  return tier?.prices ?? prices;
}

/** The customer's debit for an exact cost, rounded down once and never above the reserve. */
export function computeDebit(cost: PicoUsd, reserve: MicroUsd): MicroUsd {
  const floor = floorToMicroUsd(cost);
  return floor <= reserve ? floor : reserve;
}

function dearest(first: bigint, ...others: bigint[]): bigint {
  return others.reduce((most, price) => (price > most ? price : most), first);
}

/** Tokens of requests whose prompts are all in the same tier. */
export interface TokensOfSize {
  /** Exclusive lower bound of the length of every prompt; 0: any length. */
  readonly abovePromptTokens: number;
  readonly usage: Usage;
}

/** The cost of `tokens` at `prices`, each entry in the tier of its prompts. Rounded down once. */
export function costElsewhere(prices: PriceSheet, tokens: readonly TokensOfSize[]): MicroUsd {
  let sum = 0n;
  for (const { abovePromptTokens, usage } of tokens) {
    sum += exactCost(ratesAbove(prices, abovePromptTokens), usage);
  }
  return floorToMicroUsd(picoUsd(sum));
}

/**
 * The least that the tokens can have cost if neither the lengths of the prompts nor the lifetimes
 * of the cache writes are known. Exact if neither changes the price.
 */
export function leastCostElsewhere(prices: PriceSheet, usage: Usage): MicroUsd {
  const sheets = [
    ratesAlone(prices),
    ...(prices.tiers ?? []).map((tier) => ratesAlone(tier.prices)),
  ];
  const costs = sheets.map((sheet) => exactCost(withCheapestWrite(sheet), usage));
  return floorToMicroUsd(costs.reduce((least, cost) => (cost < least ? cost : least)));
}

function withCheapestWrite(prices: PriceSheet): PriceSheet {
  const { cacheWrite, [HOUR_SKU]: hour } = computeRates(prices);
  return hour < cacheWrite ? { ...prices, cacheWrite: hour } : prices;
}

/** True if the length of each prompt or the lifetime of a cache write decides the price. */
export function dependsOnRequest(prices: PriceSheet, usage: Usage): boolean {
  const hasHours = pricesHourWrites(prices) && usage.cacheWrite > 0;
  return hasHours || tierBounds(prices).length > 0;
}

/** The bounds of all tiers in prompt tokens: each tier applies to prompts above its bound. */
export function tierBounds(prices: PriceSheet): readonly number[] {
  return (prices.tiers ?? []).map(({ abovePromptTokens }) => abovePromptTokens);
}

function ratesAbove(prices: PriceSheet, promptTokens: number): PriceSheet {
  const tier = prices.tiers?.findLast(({ abovePromptTokens }) => abovePromptTokens <= promptTokens);
  return ratesAlone(tier?.prices ?? prices);
}

/** Leaves out the tiers, because the token sum of many prompts is not the length of one prompt. */
function ratesAlone({ tiers: _bySize, ...sheet }: PriceSheet): PriceSheet {
  return sheet;
}

type Rates = Readonly<Record<Sku, bigint>>;

/** The price per token of every SKU. Unpriced hour-long cache writes cost as other writes do. */
export function computeRates(prices: PriceSheet): Rates {
  return eachSku((sku) => prices[sku] ?? prices.cacheWrite);
}

export function pricesHourWrites(prices: PriceSheet | null): boolean {
  return prices?.[HOUR_SKU] !== undefined;
}

/** True if a prompt of some length costs more for some SKU than at the other prices. */
export function isDearer(prices: PriceSheet, than: PriceSheet): boolean {
  const bounds = [0, ...tierBounds(prices), ...tierBounds(than)];
  const ratesAt = (sheet: PriceSheet, bound: number) => computeRates(ratesAbove(sheet, bound));
  return bounds.some((bound) => costsMore(ratesAt(prices, bound), ratesAt(than, bound)));
}

function costsMore(rates: Rates, than: Rates): boolean {
  return Object.values(eachSku((sku) => rates[sku] > than[sku])).includes(true);
}
