import type { Attempt } from "../../../../src/account/console-api/contract.ts";
import { parseUsd } from "../../ui/money-math.ts";
import { HOUR_WRITE, skuName, SKUS, type Sku } from "../models/price-labels.ts";

export interface AttemptLine {
  readonly sku: Sku;
  readonly name: string;
  readonly tokens: number;
  /** Dollars per million tokens when the request was admitted. */
  readonly price: string;
  /** Exact dollars, up to twelve decimals; undefined if the sum of the lines is not the charge. */
  readonly amount: string | undefined;
}

/**
 * The lines of an attempt's charge, which a customer can add up. The lines have no amounts if the
 * provider's reported cost was charged instead.
 */
export function lineAmounts(attempt: Attempt): readonly AttemptLine[] {
  const { tokens, prices, settled_usd } = attempt;
  if (tokens === null || prices === null) return [];
  const hour = tokens[HOUR_WRITE] ?? 0;
  // `cache_write` includes 1-hour writes, which get a separate line.
  const counts = { ...tokens, cache_write: tokens.cache_write - hour, [HOUR_WRITE]: hour };
  const lines = SKUS.map((sku) => {
    const price = prices[sku] ?? prices.cache_write;
    return { sku, tokens: counts[sku], price, pico: BigInt(counts[sku]) * parseUsd(price) };
  });
  const sum = lines.reduce((total, { pico }) => total + pico, 0n);
  const isSum = sum / PICO_PER_MICRO === parseUsd(settled_usd);
  return lines
    .filter((line) => line.tokens > 0)
    .map(({ sku, tokens: count, price, pico }) => ({
      sku,
      name: skuName(sku),
      tokens: count,
      price,
      amount: isSum ? writePico(pico) : undefined,
    }));
}
const PICO_PER_MICRO = 1_000_000n;
const PICO_PER_USD = 1_000_000_000_000n;

/** Dollars with six decimals, or up to twelve if the further decimals are not zero. */
function writePico(pico: bigint): string {
  const fraction = String(pico % PICO_PER_USD).padStart(12, "0");
  return `${pico / PICO_PER_USD}.${fraction.slice(0, 6)}${fraction.slice(6).replace(/0+$/, "")}`;
}
