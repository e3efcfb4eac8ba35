import { HOUR_SKU_NAME } from "../../kernel/index.ts";
import type { BilledSku } from "../../catalog/index.ts";
import type { Draft, DraftPrices, DraftSheet, DraftTier } from "./draft.ts";
import { comparePrices } from "./price-text.ts";

/** SKUs that a sheet may leave out, with the one whose price then holds. */
export const DEFAULT_SKUS = {
  cached_prompt: "prompt",
  cache_write: "prompt",
  [HOUR_SKU_NAME]: "prompt",
  internal_reasoning: "completion",
} as const satisfies Partial<Record<BilledSku, "prompt" | "completion">>;

export type OptionalSku = keyof typeof DEFAULT_SKUS;

export const OPTIONAL_SKUS = Object.keys(DEFAULT_SKUS) as OptionalSku[];

/** Undefined when two sources say the same of a model's prices; else where they differ first. */
export function difference(a: Draft, b: Draft): string | undefined {
  return (
    pricesDifference(a.prices, b.prices) ??
    (a.changes.length > 0 && b.changes.length > 0 ? changesDifference(a, b) : undefined)
  );
}

function pricesDifference(a: DraftPrices, b: DraftPrices): string | undefined {
  const base = sheetDifference(a.sheet, b.sheet);
  if (base !== undefined) return base;
  const bounds = (prices: DraftPrices): string =>
    prices.tiers.map((tier) => tier.abovePromptTokens).join(", ") || "none";
  const isAlike = a.tiers.every((tier, at) => sameBound(tier, b.tiers[at]));
  if (!isAlike || a.tiers.length !== b.tiers.length) {
    return `tiers above ${bounds(a)} and ${bounds(b)}`;
  }
  for (const [index, tier] of a.tiers.entries()) {
    const other = b.tiers[index];
    const found = other === undefined ? undefined : sheetDifference(tier.sheet, other.sheet);
    if (found !== undefined) return `above ${tier.abovePromptTokens}: ${found}`;
  }
  return undefined;
}

/** "From 200,000" is "above 199,999" in one list and "above 200,000" in another. */
function sameBound(a: DraftTier, b: DraftTier | undefined): boolean {
  return b !== undefined && Math.abs(a.abovePromptTokens - b.abovePromptTokens) <= 1;
}

function sheetDifference(a: DraftSheet, b: DraftSheet): string | undefined {
  const sku = (["prompt", "completion", ...OPTIONAL_SKUS] as const).find((each) => {
    const [left, right] = [a[each], b[each]];
    return left !== undefined && right !== undefined && left !== right;
  });
  return sku === undefined ? undefined : `${sku} ${a[sku]} and ${b[sku]}`;
}

function changesDifference(a: Draft, b: Draft): string | undefined {
  const days = ({ changes }: Draft): string => changes.map(({ from }) => from).join(", ");
  if (days(a) !== days(b)) return `changes on ${days(a)} and ${days(b)}`;
  for (const [index, change] of a.changes.entries()) {
    const other = b.changes[index];
    const found = other === undefined ? undefined : pricesDifference(change, other);
    if (found !== undefined) return `from ${change.from}: ${found}`;
  }
  return undefined;
}

/** The price that holds for an SKU, stated or not. */
export function effectivePrice(sheet: DraftSheet, sku: OptionalSku): string {
  return sheet[sku] ?? sheet[DEFAULT_SKUS[sku]];
}

/** Does no price fall? */
export function isRise(before: DraftSheet, after: DraftSheet): boolean {
  return (
    comparePrices(after.prompt, before.prompt) >= 0 &&
    comparePrices(after.completion, before.completion) >= 0 &&
    OPTIONAL_SKUS.every(
      (sku) => comparePrices(effectivePrice(after, sku), effectivePrice(before, sku)) >= 0,
    )
  );
}
