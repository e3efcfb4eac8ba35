import type {
  ModelProvider,
  PriceChange,
  PricesPerMillion,
  PriceTier,
} from "../../api/contract.ts";
import { formatCount } from "../../ui/format.ts";
import { parseUsd } from "../../ui/money-math.ts";
import { dayLabel } from "./model-labels.ts";
import { SKUS, type Sku } from "./price-labels.ts";

export interface PriceRow {
  readonly key: string;
  readonly provider: string;
  /** Such as `"now"` or `"from 1 Jan 2027"`. */
  readonly when: string;
  /** Such as `"Any size"` or `"above 200,000 tokens"`. */
  readonly prompts: string;
  readonly prices: PricesPerMillion;
}

/** Rows of prices that depend on date or prompt size. Constant prices make no rows. */
export function priceRows(listings: readonly ModelProvider[]): readonly PriceRow[] {
  return listings.flatMap(
    ({ provider, name, prices, price_tiers: tiers, price_changes: changes }) => {
      if (prices === null || (tiers.length === 0 && changes.length === 0)) return [];
      const sheets = [
        { when: "now", prices, price_tiers: tiers },
        ...changes.map((change) => ({ ...change, when: `from ${instantLabel(change.from)}` })),
      ];
      return sheets.flatMap(({ when, ...sheet }) =>
        listSizes(sheet).map((size) => {
          const key = `${provider} ${when} ${size.prompts}`;
          return { ...size, key, provider: name, when };
        }),
      );
    },
  );
}

function listSizes({
  prices,
  price_tiers: tiers,
}: Pick<PriceChange, "prices" | "price_tiers">): readonly Pick<PriceRow, "prompts" | "prices">[] {
  const [first] = tiers;
  if (first === undefined) return [{ prompts: "Any size", prices }];
  return [
    { prompts: `up to ${sizeLabel(first)}`, prices },
    ...tiers.map((tier, at) => {
      const next = tiers[at + 1];
      const end = next === undefined ? "" : `, up to ${sizeLabel(next)}`;
      return { prompts: `above ${sizeLabel(tier)}${end}`, prices: tier.prices };
    }),
  ];
}

function sizeLabel({ above_prompt_tokens: tokens }: PriceTier): string {
  return `${formatCount(tokens)} tokens`;
}

export function instantLabel(instant: string): string {
  const day = dayLabel(instant.slice(0, "2027-01-01".length));
  const time = instant.slice("2027-01-01T".length, "2027-01-01T00:00".length);
  return time === "00:00" ? day : `${day}, ${time} UTC`;
}

export type ChangeKind = "rise" | "fall" | "mixed";

/** Undefined if all prices stay the same. */
export function changeKind(
  before: PricesPerMillion,
  after: PricesPerMillion,
): ChangeKind | undefined {
  const steps = SKUS.map((sku) => unitPrice(after, sku) - unitPrice(before, sku));
  const isRise = steps.some((step) => step > 0n);
  const isFall = steps.some((step) => step < 0n);
  if (isRise && isFall) return "mixed";
  return isRise ? "rise" : isFall ? "fall" : undefined;
}

/** Without a price of its own, a 1-hour cache write costs as much as any other cache write. */
function unitPrice(prices: PricesPerMillion, sku: Sku): bigint {
  return parseUsd(prices[sku] ?? prices.cache_write);
}

interface ComingChange {
  readonly from: string;
  readonly kind: ChangeKind | undefined;
  readonly provider: string;
}

export function nextChange(listings: readonly ModelProvider[]): ComingChange | undefined {
  const coming = listings.flatMap(({ name, prices, price_changes: changes }) => {
    const [next] = changes;
    if (next === undefined || prices === null) return [];
    return [{ from: next.from, kind: changeKind(prices, next.prices), provider: name }];
  });
  return coming.toSorted((a, b) => (a.from < b.from ? -1 : 1))[0];
}

export function changeLabel({ from, kind }: ComingChange): string {
  return `${kind === undefined ? "New prices" : CHANGES[kind]} from ${instantLabel(from)}`;
}
const CHANGES: Readonly<Record<ChangeKind, string>> = {
  rise: "Price increase",
  fall: "Price decrease",
  mixed: "New prices",
};

/** Such as `"22 Nov 2026, two sources agree"`. */
export function labelChecked(checked: ModelProvider["checked"]): string {
  if (checked === null) return "Not recorded";
  const how = checked.by === "page" ? "the provider's page" : "two sources agree";
  const old = checked.age === "old" ? "; not confirmed since" : "";
  return `${dayLabel(checked.on)}, ${how}${old}`;
}
