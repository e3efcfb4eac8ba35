import type {
  FactDifference,
  ListingDifference,
  ManifestDifference,
  PriceDifference,
  RefreshFinding,
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

function describeListing(listing: ListingDifference): readonly string[] {
  const { model, change } = listing;
  const marks = [
    ...(listing.is_dearer ? ["dearer"] : []),
    ...(listing.is_cheaper ? ["cheaper"] : []),
    ...(listing.is_less ? ["less"] : []),
  ];
  const marked = marks.length === 0 ? "" : ` (${marks.join(", ")})`;
  return [`${model} ${CHANGES[change]}${marked}`, ...detailLines(listing)];
}

function detailLines(of: Pick<ListingDifference, "prices" | "facts">): readonly string[] {
  const { prices, facts } = of;
  return [...prices.map(priceLine), ...facts.map(factLine)].map((line) => `  ${line}`);
}

function priceLine(price: PriceDifference): string {
  const above = price.above_prompt_tokens;
  const where = above === 0 ? "" : ` above ${above} prompt tokens`;
  const when = price.from === null ? "" : ` from ${price.from}`;
  const percent = price.percent === null ? "" : `  ${price.percent} %`;
  return `${price.sku}${where}${when}: ${price.old ?? "-"} → ${price.new ?? "-"}${percent}`;
}

const VALUE_CHARS_MAX = 120;

function factLine({ field, old, new: next, is_less: isLess }: FactDifference): string {
  return `${field}: ${valueText(old)} → ${valueText(next)}${isLess ? "  (less)" : ""}`;
}

function valueText(value: unknown): string {
  const text = value === null ? "-" : JSON.stringify(value);
  return text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX)}…` : text;
}

export function describeRefresh(
  results: readonly RefreshedFile[],
  isWritten: boolean,
): readonly string[] {
  const changed = results.filter(({ state }) => state === "changed").length;
  const done = isWritten ? "written" : "to be written with --write";
  return [...results.flatMap(describeFile), `${changed} of ${results.length} manifests ${done}`];
}

const STATES = {
  changed: "follows its source",
  unchanged: "is as its source says",
  no_source: "has no catalog_source: it was not imported, so it is not refreshed",
  /** No head of this provider (its manifest without models) is known, and an import needs one. */
  no_head: "is not refreshed",
  older_source: "is not refreshed",
  lists_nothing: "is not refreshed",
  invalid: "is not refreshed, as it would not be valid",
} as const;

function describeFile(result: RefreshedFile): readonly string[] {
  const { file, state, detail, difference, findings } = result;
  const models: readonly ListingDifference[] = difference?.models ?? [];
  return [
    `${file} ${STATES[state]}${detail === undefined ? "" : `: ${detail}`}`,
    ...models.flatMap(describeListing).map((line) => `  ${line}`),
    ...findings.flatMap(describeFinding).map((line) => `  ${line}`),
  ];
}

function describeFinding(finding: RefreshFinding): readonly string[] {
  const { model, kind } = finding;
  const say: Readonly<Record<RefreshFinding["kind"], string>> = {
    rise_waits: `rises by more than --max-rise: nothing is changed without --accept ${model}`,
    staging_waits: `would be staged: nothing is changed without --accept ${model}`,
    going_waits: `is not in the source, as over half of the list: --accept ${model} ends it in 14 days`,
    edited: "was edited and stays as it is; the source says",
    removed_by_hand: "was removed and stays so",
    gone: "is not in the source any more and ends in 14 days",
  };
  return [`${model} ${say[kind]}`, ...detailLines(finding)];
}

export interface RefreshedFile {
  readonly file: string;
  readonly provider: string;
  readonly state: keyof typeof STATES;
  readonly detail?: string;
  readonly difference?: ManifestDifference;
  readonly findings: readonly RefreshFinding[];
}
