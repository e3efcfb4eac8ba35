import type {
  FactDifference,
  ListingDifference,
  ManifestDifference,
  PriceDifference,
} from "../listing-tools/index.ts";

export function describeDifference(
  { provider, counts, facts, models, ok }: ManifestDifference,
  files: { readonly old: string; readonly new: string },
): readonly string[] {
  const { added, removed, changed, dearer, cheaper } = counts;
  return [
    `${provider}: ${files.old} (${counts.old} listings) → ${files.new} (${counts.new})`,
    `${added} come, ${removed} go, ${changed} change; ${dearer} are dearer, ${cheaper} cheaper`,
    ...facts.map((fact) => `  ${factLine(fact)}`),
    ...models.flatMap(describeListing),
    ok ? "no client pays more, and nothing leaves" : "a client pays more, or something leaves",
  ];
}

const CHANGES = { added: "comes", removed: "goes", changed: "changes" } as const;

export function describeListing(listing: ListingDifference): readonly string[] {
  const { model, change, prices, facts } = listing;
  const marks = [
    ...(listing.is_dearer ? ["dearer"] : []),
    ...(listing.is_cheaper ? ["cheaper"] : []),
    ...(listing.is_less ? ["less"] : []),
  ];
  const marked = marks.length === 0 ? "" : ` (${marks.join(", ")})`;
  return [
    `${model} ${CHANGES[change]}${marked}`,
    ...prices.map((price) => `  ${priceLine(price)}`),
    ...facts.map((fact) => `  ${factLine(fact)}`),
  ];
}

export function priceLine(price: PriceDifference): string {
  const above = price.above_prompt_tokens;
  const where = above === 0 ? "" : ` above ${above} prompt tokens`;
  const when = price.from === null ? "" : ` from ${price.from}`;
  const percent = price.percent === null ? "" : `  ${price.percent} %`;
  return `${price.sku}${where}${when}: ${price.old ?? "-"} → ${price.new ?? "-"}${percent}`;
}

const VALUE_CHARS_MAX = 120;

export function factLine({ field, old, new: next, is_less: isLess }: FactDifference): string {
  return `${field}: ${valueText(old)} → ${valueText(next)}${isLess ? "  (less)" : ""}`;
}

function valueText(value: unknown): string {
  const text = value === null ? "-" : JSON.stringify(value);
  return text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX)}…` : text;
}
