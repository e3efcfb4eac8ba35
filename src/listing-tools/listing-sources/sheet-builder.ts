import { defined, HOUR_SKU_NAME } from "../../kernel/index.ts";
import { BILLED_SKUS, type BilledSku } from "../../catalog/index.ts";
import {
  type Draft,
  type DraftPrices,
  type DraftSheet,
  type DraftTier,
  type ImportNote,
  type NoteCode,
  type Reading,
  type SkipCode,
  skipped,
  type StageCode,
} from "./draft.ts";
import { isNothing, listNameReasons, otherUnitsNote, outputBound } from "./entry-rules.ts";
import { readPrice } from "./price-text.ts";

/** Prices of an entry as its source writes them; undefined where the source states none. */
export type RawSheet = Readonly<Partial<Record<BilledSku, string | undefined>>>;

export function sheetOver(base: RawSheet, tier: RawSheet): RawSheet {
  const stated = Object.entries(tier).filter(([, price]) => price !== undefined);
  return { ...base, ...Object.fromEntries(stated) };
}

export interface RawTier {
  readonly abovePromptTokens: number;
  readonly sheet: RawSheet;
}

export interface PricesInput {
  readonly model: string;
  readonly sheet: RawSheet;
  readonly tiers: readonly RawTier[];
  /** Decimal places from the source's unit to USD per million tokens: 6 for one token, else 0. */
  readonly places: number;
}

export type PricesReading =
  | { readonly ok: true; readonly prices: DraftPrices; readonly notes: readonly ImportNote[] }
  | { readonly ok: false; readonly code: SkipCode; readonly message: string };

interface FoundModel
  extends
    PricesInput,
    Omit<Draft, "name" | "upstreamId" | "prices" | "changes" | "notes" | "maxOutputTokens"> {
  readonly upstreamId: string;
  /** The output bound as the source states it. */
  readonly outputTokens: number | undefined;
  /** Units other than tokens that the source prices. Features with such prices are not offered. */
  readonly otherUnits: readonly string[];
  readonly stagedBecause: readonly StageCode[];
}

export function toReading(found: FoundModel): Reading {
  const { model, sheet, tiers, places, outputTokens, otherUnits, ...facts } = found;
  const priced = readPrices({ model, sheet, tiers, places });
  if (!priced.ok) return skipped(model, priced.code, priced.message);
  const bound = outputBound(model, outputTokens, facts.contextLength);
  const reasons = [...listNameReasons(facts.upstreamId), ...facts.stagedBecause];
  return {
    kind: "draft",
    draft: {
      ...facts,
      name: model,
      prices: priced.prices,
      changes: [],
      maxOutputTokens: bound.maxOutputTokens,
      stagedBecause: [...new Set(reasons)],
      notes: [...priced.notes, ...bound.notes, ...otherUnitsNote(model, otherUnits)],
    },
  };
}

class PriceFlaw extends Error {
  readonly code: SkipCode;
  constructor(code: SkipCode, message: string) {
    super(message);
    this.code = code;
  }
}

export function readPrices(input: PricesInput): PricesReading {
  const notes: ImportNote[] = [];
  try {
    const sheet = readSheet(input, input.sheet, notes);
    const tiers = input.tiers
      .map(({ abovePromptTokens, sheet: raw }): DraftTier => {
        return { abovePromptTokens, sheet: readSheet(input, raw, notes) };
      })
      .toSorted((a, b) => a.abovePromptTokens - b.abovePromptTokens)
      .filter((tier, at, all) => !sameSheet(tier.sheet, all[at - 1]?.sheet ?? sheet));
    return { ok: true, prices: { sheet, tiers }, notes };
  } catch (error) {
    if (!(error instanceof PriceFlaw)) throw error;
    return { ok: false, code: error.code, message: error.message };
  }
}

function readSheet({ model, places }: PricesInput, raw: RawSheet, notes: ImportNote[]): DraftSheet {
  const note = (code: NoteCode, message: string): void => void notes.push({ model, code, message });
  const read = (sku: BilledSku): string | undefined => {
    const text = raw[sku];
    if (text === undefined) return undefined;
    const price = readPrice(text, places);
    if (!price.ok) {
      const code = price.reason === "negative" ? "variable-price" : "price-out-of-range";
      throw new PriceFlaw(code, `the price of ${sku} is ${price.reason.replaceAll("-", " ")}`);
    }
    if (price.changed !== undefined) {
      const why = price.changed === "price-noise" ? "a float's digits" : "rounded up";
      note(price.changed, `${sku}: ${text} is ${why}`);
    }
    return price.usdPerMillion;
  };
  const prompt = read("prompt");
  const completion = read("completion");
  if (prompt === undefined || completion === undefined) {
    throw new PriceFlaw("no-price", "the prices of prompt and completion are not both stated");
  }
  if (prompt === "0" && completion === "0") {
    throw new PriceFlaw("free", "it is priced at nothing: an experiment, or a local model");
  }
  const reasoning = read("internal_reasoning");
  // A price of 0 next to a paid prompt means no extra fee, not that the tokens are free.
  const readWrite = (sku: BilledSku): string | undefined => {
    if (raw[sku] === undefined || !isNothing(raw[sku]) || prompt === "0") return read(sku);
    note("no-extra-fee", `${sku} is 0 beside a paid prompt: such tokens cost what prompt costs`);
    return undefined;
  };
  return {
    prompt,
    completion,
    ...defined({
      cached_prompt: read("cached_prompt"),
      cache_write: readWrite("cache_write"),
      [HOUR_SKU_NAME]: readWrite(HOUR_SKU_NAME),
      internal_reasoning: reasoning === completion ? undefined : reasoning,
    }),
  };
}

function sameSheet(a: DraftSheet, b: DraftSheet): boolean {
  return BILLED_SKUS.every((sku) => a[sku] === b[sku]);
}
