import { type Static, Type } from "typebox";

import type { BySku, Sku } from "../../../kernel/index.ts";

export const PerToken = Type.String({ description: "decimal dollars a token" });
const PRICE_NAMES = {
  prompt: "prompt",
  completion: "completion",
  input_cache_read: "cachedPrompt",
  input_cache_write: "cacheWrite",
  internal_reasoning: "internalReasoning",
  input_cache_write_1h: "cacheWrite1h",
} as const satisfies Readonly<Record<string, Sku>>;

export const Pricing = Type.Object({
  prompt: PerToken,
  completion: PerToken,
  input_cache_read: PerToken,
  input_cache_write: PerToken,
  internal_reasoning: PerToken,
  input_cache_write_1h: Type.Optional(PerToken),
});
export type Pricing = Static<typeof Pricing>;

export function showPrices(prices: BySku<bigint>): Pricing {
  return Object.fromEntries(
    Object.entries(PRICE_NAMES).flatMap(([name, sku]) => {
      const price = prices[sku];
      return price === undefined ? [] : [[name, usdPerToken(price)]];
    }),
  ) as Pricing;
}

/** Formats pico-USD per token as a decimal string of USD, exact and without trailing zeros. */
export function usdPerToken(pico: bigint): string {
  const digits = pico.toString().padStart(13, "0");
  const text = `${digits.slice(0, -12)}.${digits.slice(-12)}`;
  return text.replace(/\.?0+$/, "");
}
