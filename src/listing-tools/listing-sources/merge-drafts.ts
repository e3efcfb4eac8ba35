import type { BilledSku } from "../../catalog/index.ts";
import { defined, HOUR_SKU_NAME } from "../../kernel/index.ts";
import type {
  Draft,
  DraftAbilities,
  DraftChange,
  DraftPrices,
  DraftSheet,
  DraftTier,
  InfoCode,
  StageCode,
} from "./draft.ts";
import { comparePrices, withMargin } from "./price-text.ts";
import type { ListingSource } from "./provider-heads.ts";

export interface Opinion {
  readonly from: ListingSource;
  /** Day of the source's file, YYYY-MM-DD. */
  readonly dated: string;
  /** False if the source may call the model by a name that the provider itself does not know. */
  readonly isOwn: boolean;
  readonly draft: Draft;
}

export interface MergedDraft extends Draft {
  readonly stagedBecause: readonly StageCode[];
  /** The day of the older of two sources that agree; undefined if no two agree. */
  readonly agreedOn?: string;
}

export interface MergeInput {
  /** This source names the model. The newest source, maybe another one, gives the prices. */
  readonly lead: Opinion;
  readonly others: readonly Opinion[];
  /** True if there is only one source. It is then trusted without a second one. */
  readonly alone: boolean;
  /** A source of this day (YYYY-MM-DD) or a later one is recent enough to make a listing ready. */
  readonly recentFrom: string;
}

/** Starts from the newest prices. Unless `alone`, they need a second recent source that agrees. */
export function mergeDrafts({ lead, others, alone, recentFrom }: MergeInput): MergedDraft {
  const everyone = [lead, ...others];
  const newest = everyone.reduce((a, b) => (b.dated > a.dated ? b : a));
  const draft: Draft = {
    ...lead.draft,
    prices: newest.draft.prices,
    changes: newest.draft.changes,
  };
  const compared = everyone
    .filter(({ from }) => from !== newest.from)
    .map((other) => ({ other, flaw: difference(draft, other.draft) }));
  const agreed = compared.filter(({ flaw }) => flaw === undefined).map(({ other }) => other);
  const differing = compared.filter(({ flaw }) => flaw !== undefined);
  const isRecent = ({ dated }: Opinion): boolean => dated >= recentFrom;
  const recent = isRecent(newest) ? agreed.filter(isRecent) : [];
  const agreeing = recent.length > 0 ? recent : agreed;
  const notes = [...new Set([...draft.notes, ...newest.draft.notes])];
  const note = (code: InfoCode, message: string): void => {
    notes.push({ model: draft.name, code, message });
  };
  for (const { other, flaw } of differing) note("source-disagrees", `${other.from}: ${flaw}`);
  const prices = alone
    ? draft.prices
    : mergePrices(draft.prices, agreeing, (sku, price) =>
        note("sku-one-source", `only one source prices ${sku}: ${price} is left out`),
      );
  const dated = adoptChanges(draft, agreeing, prices);
  const whole = wholePrices({ prices, changes: dated.changes }, () =>
    note("one-hour-derived", `${HOUR_SKU_NAME} is twice the prompt where it is not stated`),
  );
  const doubt = (): StageCode => {
    if (agreed.length > 0) return "old-agreement";
    const isAlone = isRecent(newest) && !differing.some(({ other }) => isRecent(other));
    return isAlone || differing.length === 0 ? "one-source" : "sources-differ";
  };
  const all = everyone.map((each) => each.draft);
  const recentOnes = everyone.filter(isRecent).map((each) => each.draft);
  const current = recentOnes.length > 0 ? recentOnes : all;
  const agreedOn = findNewestDay(agreeing);
  return {
    ...draft,
    ...mergeFacts(all, current),
    ...whole,
    stagedBecause: [
      ...new Set([
        ...(alone || recent.length > 0 ? [] : [doubt()]),
        ...current.flatMap((each) => each.stagedBecause),
        ...dated.stagedBecause,
      ]),
    ],
    notes,
    ...(agreedOn !== "" && { agreedOn: agreedOn < newest.dated ? agreedOn : newest.dated }),
  };
}

export function findNewestDay(sources: readonly { readonly dated: string }[]): string {
  return sources.reduce((newest, { dated }) => (dated > newest ? dated : newest), "");
}

/** Uses each SKU's highest price. If only one source states it, it must exceed the default. */
function mergePrices(
  lead: DraftPrices,
  agreeing: readonly Opinion[],
  leftOut: (sku: OptionalSku, price: string) => void,
): DraftPrices {
  if (agreeing.length === 0) return lead;
  const merged = (sheet: DraftSheet, others: readonly (DraftSheet | undefined)[]): DraftSheet => {
    const stated = OPTIONAL_SKUS.flatMap((sku): [OptionalSku, string][] => {
      const prices = [sheet, ...others].flatMap((each) => each?.[sku] ?? []);
      const price = dearest(prices);
      if (price === undefined) return [];
      const isDearer = comparePrices(price, sheet[DEFAULT_SKUS[sku]]) > 0;
      if (prices.length > 1 || isDearer) return [[sku, price]];
      leftOut(sku, price);
      return [];
    });
    return {
      prompt: sheet.prompt,
      completion: sheet.completion,
      ...Object.fromEntries(stated),
    };
  };
  return {
    sheet: merged(
      lead.sheet,
      agreeing.map((each) => each.draft.prices.sheet),
    ),
    tiers: lead.tiers.map((tier, index) => ({
      abovePromptTokens: Math.min(
        ...[lead, ...agreeing.map((each) => each.draft.prices)].map(
          ({ tiers }) => tiers[index]?.abovePromptTokens ?? tier.abovePromptTokens,
        ),
      ),
      sheet: merged(
        tier.sheet,
        agreeing.map((each) => each.draft.prices.tiers[index]?.sheet),
      ),
    })),
  };
}

function dearest(prices: readonly string[]): string | undefined {
  return prices.toSorted(comparePrices).at(-1);
}

/** Uses the first source with changes. A fall that only one source announces stages the listing. */
function adoptChanges(
  draft: Draft,
  agreeing: readonly Opinion[],
  prices: DraftPrices,
): { readonly changes: readonly DraftChange[]; readonly stagedBecause: readonly StageCode[] } {
  const announcing = [draft, ...agreeing.map((each) => each.draft)].filter(
    ({ changes }) => changes.length > 0,
  );
  const changes = announcing[0]?.changes ?? [];
  const steps = [prices, ...changes];
  const rises = changes.every((change, at) => {
    const before = steps[at]?.sheet;
    return before !== undefined && isRise(statedIn(before, change.sheet), change.sheet);
  });
  const isTrusted = rises || announcing.length > 1 || agreeing.length === 0;
  return { changes, stagedBecause: isTrusted ? [] : ["dated"] };
}

/** Keeps only SKUs that `other` also states: a price missing there would look like a fall. */
function statedIn(sheet: DraftSheet, other: DraftSheet): DraftSheet {
  const kept = Object.entries(sheet).filter(([sku]) => Object.hasOwn(other, sku));
  return Object.fromEntries(kept) as unknown as DraftSheet;
}

/**
 * Makes every tier and price change state the same SKUs. A missing price becomes the prompt or
 * completion price of the same sheet, and for a one-hour cache write twice the prompt price.
 */
function wholePrices(
  { prices, changes }: { readonly prices: DraftPrices; readonly changes: readonly DraftChange[] },
  derived: () => void,
): Pick<Draft, "prices" | "changes"> {
  const listSheets = (each: DraftPrices): DraftSheet[] => [
    each.sheet,
    ...each.tiers.map((tier) => tier.sheet),
  ];
  const whole = <T extends DraftPrices>(each: T, wantsHour: boolean): T => {
    const sheets = listSheets(each);
    const skus = OPTIONAL_SKUS.filter(
      (sku) =>
        sheets.some((sheet) => sheet[sku] !== undefined) || (wantsHour && sku === HOUR_SKU_NAME),
    );
    const fill = (sheet: DraftSheet): DraftSheet => ({
      prompt: sheet.prompt,
      completion: sheet.completion,
      ...Object.fromEntries(skus.map((sku) => [sku, sheet[sku] ?? missing(sheet, sku)])),
    });
    const missing = (sheet: DraftSheet, sku: OptionalSku): string => {
      if (sku !== HOUR_SKU_NAME) return sheet[DEFAULT_SKUS[sku]];
      derived();
      return withMargin(sheet.prompt, "100") ?? sheet.prompt;
    };
    return {
      ...each,
      sheet: fill(each.sheet),
      tiers: each.tiers.map((tier) => ({ ...tier, sheet: fill(tier.sheet) })),
    };
  };
  const wantsHour = [prices, ...changes].some((each) =>
    listSheets(each).some((sheet) => sheet[HOUR_SKU_NAME] !== undefined),
  );
  return {
    prices: whole(prices, wantsHour),
    changes: changes.map((change) => whole(change, wantsHour)),
  };
}

/**
 * A limit is the smallest that a current source states, or else the smallest of any source. An
 * ability needs a source that states it and none that denies it. For reasoning, no denial counts.
 */
function mergeFacts(all: readonly Draft[], current: readonly Draft[]): Partial<Draft> {
  const least = (key: "contextLength" | "maxOutputTokens"): number | undefined =>
    smallest(current.map((each) => each[key])) ?? smallest(all.map((each) => each[key]));
  const context = least("contextLength");
  const bound = least("maxOutputTokens");
  const first = <K extends "displayName" | "released" | "deprecationDate">(key: K): Draft[K] =>
    all.find((each) => each[key] !== undefined)?.[key];
  const capacity = all.find((each) => each.capacity !== undefined)?.capacity;
  const saying = current.some((each) => each.inputs !== undefined) ? current : all;
  const stated = saying.flatMap((each) => each.inputs ?? []);
  const inputs = new Set(
    [...(stated[0] ?? [])].filter((kind) => stated.every((each) => each.has(kind))),
  );
  return {
    inputs,
    abilities: mergeAbilities(saying.map((each) => each.abilities)),
    displayName: first("displayName"),
    released: first("released"),
    deprecationDate: first("deprecationDate"),
    ...(capacity !== undefined && { capacity }),
    contextLength: context,
    maxOutputTokens: bound === undefined ? undefined : Math.min(bound, context ?? bound),
    resolvesTo: [...new Set(all.flatMap((each) => each.resolvesTo))],
  };
}

function smallest(values: readonly (number | undefined)[]): number | undefined {
  const known = values.flatMap((value) => value ?? []);
  return known.length === 0 ? undefined : Math.min(...known);
}

function mergeAbilities(all: readonly DraftAbilities[]): DraftAbilities {
  const merged = (key: "tools" | "structured" | "sampling"): boolean | undefined => {
    const stated = all.flatMap((each) => each[key] ?? []);
    return stated.length === 0 ? undefined : stated.every(Boolean);
  };
  const efforts = all.flatMap((each) => (each.efforts === undefined ? [] : [each.efforts]));
  const shared = (efforts[0] ?? []).filter((value) =>
    efforts.every((list) => list.includes(value)),
  );
  return defined({
    tools: merged("tools"),
    structured: merged("structured"),
    sampling: merged("sampling"),
    reasoning: all.some((each) => each.reasoning === true) ? true : undefined,
    efforts: shared.length > 0 ? shared : undefined,
  });
}

/** For each SKU that a sheet may leave out: the SKU from whose price its price is then derived. */
const DEFAULT_SKUS = {
  cached_prompt: "prompt",
  cache_write: "prompt",
  [HOUR_SKU_NAME]: "prompt",
  internal_reasoning: "completion",
} as const satisfies Partial<Record<BilledSku, "prompt" | "completion">>;

type OptionalSku = keyof typeof DEFAULT_SKUS;

const OPTIONAL_SKUS = Object.keys(DEFAULT_SKUS) as OptionalSku[];

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
  for (const [index, { abovePromptTokens, sheet }] of a.tiers.entries()) {
    const other = b.tiers[index];
    const found = other === undefined ? undefined : sheetDifference(sheet, other.sheet);
    if (found !== undefined) return `above ${abovePromptTokens}: ${found}`;
  }
  return undefined;
}

/** Some lists write "from 200,000" as "above 199,999", and others as "above 200,000". */
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

function effectivePrice(sheet: DraftSheet, sku: OptionalSku): string {
  return sheet[sku] ?? sheet[DEFAULT_SKUS[sku]];
}

/** True if no price falls. */
function isRise(before: DraftSheet, after: DraftSheet): boolean {
  return (
    comparePrices(after.prompt, before.prompt) >= 0 &&
    comparePrices(after.completion, before.completion) >= 0 &&
    OPTIONAL_SKUS.every(
      (sku) => comparePrices(effectivePrice(after, sku), effectivePrice(before, sku)) >= 0,
    )
  );
}
