import type { Attempt } from "../../api/contract.ts";
import { parseUsd, showUsd } from "../../ui/money-math.ts";
import { HOUR_WRITE, SKU_NAMES, SKUS, type Sku } from "../models/price-labels.ts";

export interface AttemptLine {
  readonly sku: Sku;
  readonly name: string;
  readonly tokens: number;
  /** Dollars per million tokens at the time when the gateway admitted the request. */
  readonly price: string;
  /** Exact dollars, up to twelve decimals. Undefined if the lines do not add up to the charge. */
  readonly amount: string | undefined;
}

/**
 * The lines of an attempt's charge, which a customer can add up. They have no amounts if the cost
 * that the provider reported was charged instead.
 */
export function lineAmounts(attempt: Attempt): readonly AttemptLine[] {
  const lines = priceLines(attempt);
  const isReported = findOrigin(attempt, addUp(lines)) === "reported";
  return lines
    .filter((line) => line.tokens > 0)
    .map(({ sku, tokens, price, pico }) => ({
      sku,
      name: SKU_NAMES[sku],
      tokens,
      price,
      amount: isReported ? undefined : writePico(pico),
    }));
}

/** Says how the charge follows from the lines. */
export function chargeNote(attempt: Attempt): string {
  const sum = addUp(priceLines(attempt));
  const origin = findOrigin(attempt, sum);
  if (origin === "sum") return "The sum is rounded down once, to the micro-dollar.";
  if (origin === "reported") return "The provider reports its own cost, which is what was charged.";
  const { settled_usd: settled } = attempt;
  const excess = sum - parseUsd(settled) * PICO_PER_MICRO;
  const more = excess > 0n ? `; the excess of ${showUsd(writePico(excess))} is not charged` : "";
  return `Charged at the reserved maximum, ${showUsd(settled)}${more}.`;
}

function findOrigin(attempt: Attempt, sum: bigint): "sum" | "reserve" | "reported" {
  const settled = parseUsd(attempt.settled_usd);
  if (sum / PICO_PER_MICRO === settled) return "sum";
  return settled === parseUsd(attempt.reserved_usd) ? "reserve" : "reported";
}

interface PriceLine extends Omit<AttemptLine, "name" | "amount"> {
  readonly pico: bigint;
}

function addUp(lines: readonly PriceLine[]): bigint {
  return lines.reduce((total, { pico }) => total + pico, 0n);
}

function priceLines({ tokens, prices }: Attempt): readonly PriceLine[] {
  if (tokens === null || prices === null) return [];
  const hour = tokens[HOUR_WRITE] ?? 0;
  // `cache_write` includes the 1-hour writes, which have their own line, so they are subtracted.
  const counts = { ...tokens, cache_write: tokens.cache_write - hour, [HOUR_WRITE]: hour };
  return SKUS.map((sku) => {
    const price = prices[sku] ?? prices.cache_write;
    return { sku, tokens: counts[sku], price, pico: BigInt(counts[sku]) * parseUsd(price) };
  });
}
const PICO_PER_MICRO = 1_000_000n;
const PICO_PER_USD = 1_000_000_000_000n;

/** Writes dollars with six decimals, or with up to twelve if the further ones are not zero. */
function writePico(pico: bigint): string {
  const fraction = String(pico % PICO_PER_USD).padStart(12, "0");
  return `${pico / PICO_PER_USD}.${fraction.slice(0, 6)}${fraction.slice(6).replace(/0+$/, "")}`;
}
