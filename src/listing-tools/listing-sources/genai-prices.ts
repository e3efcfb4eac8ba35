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
  NO_PRICE,
  RETIRED,
  countAt,
  flagAt,
  idProblem,
  isNothing,
  listAt,
  noChatProblem,
  numberTextAt,
  objectAt,
  otherUnitsNote,
  listNameReasons,
  textAt,
} from "./entry-rules.ts";
import { comparePrices } from "./price-text.ts";
import { type PricesReading, type RawSheet, type RawTier, readPrices } from "./sheet-builder.ts";

/** Reads `prices/data.json`: a list of providers, prices in USD per million tokens, some dated. */
export function readGenaiPrices(document: RawJson, input: ReaderInput): Reading[] {
  const provider = listAt(document).find((each) => textAt(each, "id") === input.provider);
  return listAt(provider, "models").map((each, at): Reading => {
    const entry = objectAt(each);
    const id = textAt(each, "id");
    return entry === undefined || id === undefined
      ? skipped(`models[${at}]`, "not-a-model", "has no id")
      : readEntry(id, entry, input.dated);
  });
}

function readEntry(id: string, entry: RawObject, dated: string): Reading {
  const isRetired = flagAt(entry, "deprecated") === true;
  const unfit = isRetired ? RETIRED : (idProblem(id) ?? noChatProblem(id));
  if (unfit !== undefined) return skipped(id, ...unfit);
  const priced = readDated(id, entry, dated);
  if (!priced.ok) return skipped(id, priced.code, priced.message);
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
      stagedBecause: [...listNameReasons(id), ...priced.stagedBecause],
      notes: priced.notes,
      matches: (upstreamId) => match !== undefined && isMatch(match, upstreamId.toLowerCase(), 0),
      displayName: textAt(entry, "name"),
      contextLength: countAt(entry, "context_window"),
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

/** Reads the prices of an entry: one set, or several that start on days or at times of day. */
function readDated(id: string, entry: RawObject, dated: string): DatedReading {
  const stated = entry.get("prices");
  if (!Array.isArray(stated)) return readSet(id, objectAt(stated));
  const read = listAt(stated).map((set) => ({
    prices: readSet(id, objectAt(set, "prices")),
    day: textAt(set, "constraint", "start_date"),
    isDaily: objectAt(set, "constraint")?.has("start_time") === true,
  }));
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
  const base = findDearest(today.length > 0 ? today : sound);
  if (base === undefined) return UNPRICED;
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
    prices: base,
    changes,
    notes: sound.flatMap(({ prices }) => prices.notes),
    // A manifest has no times of day: the listing gets the highest price, and is staged.
    stagedBecause: [
      ...fees,
      ...(sound.some((each) => each.isDaily) ? (["time-of-day"] as const) : []),
    ],
  };
}

const UNPRICED = { ok: false, code: NO_PRICE[0], message: NO_PRICE[1] } as const;

function findDearest(
  sets: readonly { readonly prices: { readonly prices: DraftPrices } }[],
): DraftPrices | undefined {
  return sets
    .map(({ prices }) => prices.prices)
    .toSorted((a, b) => comparePrices(a.sheet.completion, b.sheet.completion))
    .at(-1);
}

function readSet(id: string, prices: RawObject | undefined): DatedReading {
  if (prices === undefined) return UNPRICED;
  const bounds = new Set(
    [...prices.values()].flatMap((price) => readTiers(price).map(({ start }) => start)),
  );
  const tiers = [...bounds].map((abovePromptTokens): RawTier => {
    return { abovePromptTokens, sheet: sheetAt(prices, abovePromptTokens) };
  });
  const priced = readPrices({ model: id, sheet: sheetAt(prices, 0), tiers, places: 0 });
  if (!priced.ok) return priced;
  const fee = !isNothing(numberTextAt(prices, "requests_kcount"));
  const other = [...prices.keys()].filter((key) => /audio|requests/.test(key));
  return {
    ...priced,
    changes: [],
    notes: [...priced.notes, ...otherUnitsNote(id, other)],
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

/** The price at `tokens` prompt tokens (0: the base price). `price`: a number or base and tiers. */
function priceAt(price: RawJson | undefined, tokens: number): string | undefined {
  if (objectAt(price) === undefined) return numberTextAt(price);
  const reached = readTiers(price).filter(({ start }) => start <= tokens && tokens > 0);
  return reached.at(-1)?.price ?? numberTextAt(price, "base");
}

function readTiers(
  price: RawJson | undefined,
): { readonly start: number; readonly price: string }[] {
  return listAt(price, "tiers")
    .flatMap((tier) => {
      const [start, text] = [countAt(tier, "start"), numberTextAt(tier, "price")];
      return start === undefined || text === undefined ? [] : [{ start, price: text }];
    })
    .toSorted((a, b) => a.start - b.start);
}

const MATCH_DEPTH_MAX = 8;

/** A `regex` clause never matches: a pattern from outside can take unbounded time. */
function isMatch(match: RawObject, id: string, depth: number): boolean {
  if (depth > MATCH_DEPTH_MAX) return false;
  const parts = (key: string): (RawObject | undefined)[] =>
    listAt(match, key).map((each) => objectAt(each));
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
