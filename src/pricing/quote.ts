import type { PriceSheet } from "../catalog/index.ts";
import {
  ceilToMicroUsd,
  floorToMicroUsd,
  type MicroUsd,
  picoUsd,
  type PicoUsd,
  type Usage,
} from "../core/index.ts";

/**
 * The most a text request can cost: every estimated input token at the dearest input rate, every
 * output token at the dearest output rate. Rounded up once, over the sum.
 */
export function quoteWorstCase(
  prices: PriceSheet,
  tokens: { readonly input: number; readonly output: number },
): MicroUsd {
  const input =
    BigInt(tokens.input) * dearest(prices.prompt, prices.cachedPrompt, prices.cacheWrite);
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

/** The exact cost of observed tokens at pinned prices. */
export function exactCost(prices: PriceSheet, usage: Usage): PicoUsd {
  return picoUsd(
    BigInt(usage.prompt) * prices.prompt +
      BigInt(usage.cachedPrompt) * prices.cachedPrompt +
      BigInt(usage.cacheWrite) * prices.cacheWrite +
      BigInt(usage.completion) * prices.completion +
      BigInt(usage.internalReasoning) * prices.internalReasoning,
  );
}

/** What the customer owes for an exact cost: rounded down once, never above the reserve. */
export function debitOf(cost: PicoUsd, reserve: MicroUsd): MicroUsd {
  const floor = floorToMicroUsd(cost);
  return floor <= reserve ? floor : reserve;
}

function dearest(first: bigint, ...others: bigint[]): bigint {
  return others.reduce((most, price) => (price > most ? price : most), first);
}
