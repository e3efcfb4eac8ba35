import type { PriceNotice } from "../api/contract.ts";
import { showCents } from "../ui/money-math.ts";

const SKUS = [
  ["prompt", "prompt"],
  ["cached_prompt", "cached tokens"],
  ["cache_write", "cache write"],
  ["cache_write_1h", "1-hour cache write"],
  ["completion", "output"],
  ["internal_reasoning", "reasoning"],
] as const;

/**
 * Describes the changed prices, such as `"prompt $1.25 → $1.50"`. Leaves out a price that equals
 * its base price in `BASES` both before and after the change: cached tokens, for example, may cost
 * the same as the prompt. The price of 1-hour cache writes, if unset, is that of cache writes.
 */
export function priceLines({ old, new: next }: PriceNotice): readonly string[] {
  const lines = SKUS.flatMap(([sku, name]) => {
    const before = old.prices[sku] ?? old.prices.cache_write;
    const after = next.prices[sku] ?? next.prices.cache_write;
    if (before === after) return [];
    const base = BASES[sku];
    const isAsBase =
      base !== undefined && before === old.prices[base] && after === next.prices[base];
    return isAsBase ? [] : [`${name} $${before} → $${after}`];
  });
  const hasTiers = old.price_tiers.length + next.price_tiers.length > 0;
  return hasTiers && !isSame(old.price_tiers, next.price_tiers)
    ? [...lines, "prices for long prompts"]
    : lines;
}

const BASES: Partial<Record<(typeof SKUS)[number][0], "prompt" | "cache_write" | "completion">> = {
  cached_prompt: "prompt",
  cache_write: "prompt",
  cache_write_1h: "cache_write",
  internal_reasoning: "completion",
};

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The cost of the last 30 days, such as `"$1.00 at today's prices, $1.20 at the new ones"`. */
export function costLine(notice: PriceNotice): string {
  const { cost_old_usd: old, cost_new_usd: next } = notice;
  const least = notice.is_at_least ? "at least " : "";
  return `${least}${showCents(old)} at today's prices, ${least}${showCents(next)} at the new ones`;
}
