import { isDay, type RawJson, type RawObject } from "../../kernel/index.ts";
import {
  type DraftChange,
  type DraftPrices,
  type ImportNote,
  type ReaderInput,
  type Reading,
  skipped,
  type StageCode,
} from "./draft.ts";
import {
  countAt,
  countOf,
  flagAt,
  idFlaw,
  isNoChatName,
  isNothing,
  listAt,
  numberTextAt,
  numberTextOf,
  objectAt,
  objectOf,
  reasonsOfName,
  RETIRED,
  textAt,
} from "./entry-rules.ts";
import { comparePrices } from "./price-text.ts";
import { type PricesReading, type RawSheet, type RawTier, readPrices } from "./sheet-builder.ts";

/** Reads `prices/data.json`: a list of providers, prices in USD per million tokens, some dated. */
export function readGenaiPrices(document: RawJson, input: ReaderInput): Reading[] {
  const providers = Array.isArray(document) ? (document as readonly RawJson[]) : [];
  const provider = providers
    .map(objectOf)
    .find((each) => each !== undefined && textAt(each, "id") === input.provider);
  return (provider === undefined ? [] : listAt(provider, "models")).map((each, at): Reading => {
    const entry = objectOf(each);
    const id = entry === undefined ? undefined : textAt(entry, "id");
    return entry === undefined || id === undefined
      ? skipped(`models[${at}]`, "not-a-model", "has no id")
      : readEntry(id, entry, input.dated);
  });
}

function readEntry(id: string, entry: RawObject, dated: string): Reading {
  if (flagAt(entry, "deprecated") === true) return skipped(id, ...RETIRED);
  const flaw = idFlaw(id);
  if (flaw !== undefined) return skipped(id, "id-not-expressible", flaw);
  if (isNoChatName(id)) {
    return skipped(id, "not-chat", "its name is that of another kind of model");
  }
  const priced = readDated(id, entry, dated);
  if (!priced.ok) return skipped(id, priced.code, priced.message);
  const context = countAt(entry, "context_window");
  const displayName = textAt(entry, "name");
  const match = objectAt(entry, "match");
  return {
    kind: "draft",
    draft: {
      name: id,
      upstreamId: id,
      prices: priced.prices,
      changes: priced.changes,
      abilities: {},
      resolvesTo: [],
      stagedBecause: [...reasonsOfName(id), ...priced.stagedBecause],
      notes: priced.notes,
      matches: (upstreamId) => match !== undefined && isMatch(match, upstreamId.toLowerCase(), 0),
      ...(displayName === undefined ? {} : { displayName }),
      ...(context === undefined ? {} : { contextLength: context }),
    },
  };
}

type DatedReading =
  | Extract<PricesReading, { ok: false }>
  | {
      readonly ok: true;
      readonly prices: DraftPrices;
      readonly changes: readonly DraftChange[];
      readonly notes: readonly ImportNote[];
      readonly stagedBecause: readonly StageCode[];
    };

/** Prices of one entry: one set, or a list of which some begin on a day and some hold by day. */
function readDated(id: string, entry: RawObject, dated: string): DatedReading {
  const stated = entry.get("prices");
  const sets = Array.isArray(stated) ? (stated as readonly RawJson[]) : undefined;
  if (sets === undefined) return readSet(id, objectOf(stated));
  const read = sets.map((each) => {
    const set = objectOf(each);
    const constraint = set === undefined ? undefined : objectAt(set, "constraint");
    const prices = readSet(id, set === undefined ? undefined : objectAt(set, "prices"));
    return {
      prices,
      day: constraint === undefined ? undefined : textAt(constraint, "start_date"),
      isDaily: constraint?.has("start_time") === true,
    };
  });
  const bad = read.find(({ prices }) => !prices.ok)?.prices;
  if (bad !== undefined && !bad.ok) return bad;
  const sound = read.flatMap(({ prices, ...rest }) => (prices.ok ? [{ ...rest, prices }] : []));
  const begun = sound
    .filter(({ day }) => day !== undefined && day <= dated)
    .toSorted((a, b) => ((a.day ?? "") < (b.day ?? "") ? -1 : 1))
    .at(-1);
  const today = sound.filter((each) =>
    begun === undefined || each.isDaily ? each.day === undefined : each === begun,
  );
  const base = dearestOf(today.length > 0 ? today : sound);
  if (base === undefined) return { ok: false, code: "no-price", message: "no price is stated" };
  const changes = sound
    .flatMap(({ day, prices }): DraftChange[] =>
      day === undefined || !isDay(day) || day <= dated
        ? []
        : [{ from: `${day}T00:00:00Z`, ...prices.prices }],
    )
    .toSorted((a, b) => (a.from < b.from ? -1 : 1));
  const fees = sound.flatMap(({ prices }) => prices.stagedBecause);
  return {
    ok: true,
    prices: base.prices,
    changes,
    notes: sound.flatMap(({ prices }) => prices.notes),
    // The dearest of the day is listed: nothing in a manifest knows the hour.
    stagedBecause: [
      ...fees,
      ...(sound.some((each) => each.isDaily) ? (["time-of-day"] as const) : []),
    ],
  };
}

interface DatedSet {
  readonly prices: { readonly prices: DraftPrices };
}

function dearestOf(sets: readonly DatedSet[]): { readonly prices: DraftPrices } | undefined {
  const inOrder = sets
    .map(({ prices }) => prices)
    .toSorted((a, b) => comparePrices(a.prices.sheet.completion, b.prices.sheet.completion));
  return inOrder.at(-1);
}

function readSet(id: string, prices: RawObject | undefined): DatedReading {
  if (prices === undefined) return { ok: false, code: "no-price", message: "no price is stated" };
  const bounds = new Set(
    [...prices.values()].flatMap((price) => tiersOf(price).map(({ start }) => start)),
  );
  const tiers = [...bounds].map((abovePromptTokens): RawTier => {
    return { abovePromptTokens, sheet: sheetAt(prices, abovePromptTokens) };
  });
  const priced = readPrices({ model: id, sheet: sheetAt(prices, 0), tiers, places: 0 });
  if (!priced.ok) return priced;
  const fee = !isNothing(numberTextAt(prices, "requests_kcount"));
  const other = [...prices.keys()].filter((key) => /audio|requests/.test(key));
  const message = `not offered: ${other.join(", ")}`;
  return {
    ...priced,
    changes: [],
    notes: [
      ...priced.notes,
      ...(other.length === 0 ? [] : [{ model: id, code: "other-unit" as const, message }]),
    ],
    stagedBecause: fee ? ["request-fee"] : [],
  };
}

function sheetAt(prices: RawObject, tokens: number): RawSheet {
  const at = (field: string): string | undefined => priceAt(prices.get(field), tokens);
  return {
    prompt: at("input_mtok"),
    completion: at("output_mtok"),
    cached_prompt: at("cache_read_mtok"),
    cache_write: at("cache_write_mtok"),
    cache_write_1h: at("cache_write_1h_mtok"),
  };
}

/** A price, or `{ base, tiers: [{ start, price }] }`. */
function priceAt(price: RawJson | undefined, tokens: number): string | undefined {
  const tiered = objectOf(price);
  if (tiered === undefined) return numberTextOf(price);
  const reached = tiersOf(tiered).filter(({ start }) => start <= tokens && tokens > 0);
  return reached.at(-1)?.price ?? numberTextAt(tiered, "base");
}

function tiersOf(price: RawJson): { readonly start: number; readonly price: string }[] {
  const tiered = objectOf(price);
  const tiers = tiered === undefined ? [] : listAt(tiered, "tiers");
  return tiers
    .flatMap((each) => {
      const tier = objectOf(each);
      const start = countOf(tier?.get("start"));
      const text = numberTextOf(tier?.get("price"));
      return start === undefined || text === undefined ? [] : [{ start, price: text }];
    })
    .toSorted((a, b) => a.start - b.start);
}

const MATCH_DEPTH_MAX = 8;

/** Does the entry mean this id? A pattern counts as no: it is not ours, and its time has no bound. */
function isMatch(match: RawObject, id: string, depth: number): boolean {
  if (depth > MATCH_DEPTH_MAX) return false;
  const parts = (key: string): (RawObject | undefined)[] => listAt(match, key).map(objectOf);
  const holds = (each: RawObject | undefined): boolean =>
    each !== undefined && isMatch(each, id, depth + 1);
  const text = (key: string): string | undefined => textAt(match, key)?.toLowerCase();
  const [equal, start, end, part] = ["equals", "starts_with", "ends_with", "contains"].map(text);
  if (equal !== undefined) return id === equal;
  if (start !== undefined) return id.startsWith(start);
  if (end !== undefined) return id.endsWith(end);
  if (part !== undefined) return id.includes(part);
  if (match.has("or")) return parts("or").some(holds);
  if (match.has("and")) return parts("and").length > 0 && parts("and").every(holds);
  return false;
}
