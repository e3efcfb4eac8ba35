import type { BilledSku, ManifestInputModality } from "../../catalog/index.ts";

/** Decimal USD per million tokens by SKU. */
export type DraftSheet = Readonly<Partial<Record<BilledSku, string>>> & {
  readonly prompt: string;
  readonly completion: string;
};

export interface DraftTier {
  readonly abovePromptTokens: number;
  readonly sheet: DraftSheet;
}

export interface DraftPrices {
  readonly sheet: DraftSheet;
  /** By ascending bound. */
  readonly tiers: readonly DraftTier[];
}

export interface DraftChange extends DraftPrices {
  /** Such as "2026-09-01T00:00:00Z". */
  readonly from: string;
}

/** A note on an entry of a source. */
export interface ImportNote {
  readonly model: string;
  readonly code: NoteCode;
  readonly message: string;
}

export type NoteCode = SkipCode | StageCode | InfoCode;

/** Reasons why an entry does not become a listing. */
export type SkipCode =
  | "not-a-model"
  | "not-chat"
  | "other-endpoint"
  | "retired"
  | "alias"
  | "dated-twin"
  | "id-not-expressible"
  | "no-price"
  | "no-token-price"
  | "free"
  | "variable-price"
  | "price-out-of-range";

/** Reasons why a listing is staged, which are the codes of `staged_because`. */
export type StageCode =
  | "one-source"
  | "sources-differ"
  | "tiered"
  | "dated"
  | "time-of-day"
  | "request-fee"
  | "preview"
  | "no-limit"
  | "zero-price"
  | "old-agreement"
  | "page-unchecked";

export type InfoCode =
  | "price-noise"
  | "price-rounded"
  | "output-bound-unknown"
  | "no-extra-fee"
  | "other-unit"
  | "sku-one-source"
  | "source-disagrees"
  | "one-hour-derived";

/** The abilities of a model. Undefined if the source does not say. */
export interface DraftAbilities {
  readonly tools?: boolean;
  readonly structured?: boolean;
  readonly reasoning?: boolean;
  readonly sampling?: boolean;
  readonly efforts?: readonly string[];
}

/** Requests and tokens per minute of one account. */
export interface DraftCapacity {
  readonly requestsPerMinute?: number;
  readonly promptTokensPerMinute?: number;
}

/** An entry in a format that is common to all sources; undefined fields are not stated. */
export interface Draft {
  /** The entry's key in its source, for messages. */
  readonly name: string;
  /** The model's id at the provider. */
  readonly upstreamId: string;
  readonly displayName?: string | undefined;
  readonly prices: DraftPrices;
  readonly changes: readonly DraftChange[];
  readonly contextLength?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  /** Inputs besides text; undefined if the source does not say. */
  readonly inputs?: ReadonlySet<Exclude<ManifestInputModality, "text">>;
  readonly abilities: DraftAbilities;
  readonly released?: string | undefined;
  readonly deprecationDate?: string | undefined;
  readonly resolvesTo: readonly string[];
  readonly capacity?: DraftCapacity;
  readonly stagedBecause: readonly StageCode[];
  readonly notes: readonly ImportNote[];
  /** Tests if the entry also covers an id. Undefined: it covers only its own. */
  readonly matches?: (upstreamId: string) => boolean;
}

/** The result of reading an entry. */
export type Reading =
  | { readonly kind: "draft"; readonly draft: Draft }
  /** `denied`: the id of a model that does not chat, by this source. */
  | { readonly kind: "skipped"; readonly note: ImportNote; readonly denied?: string };

/** The provider and the day for which a source is read. */
export interface ReaderInput {
  /** The provider's name in this source. */
  readonly provider: string;
  /** The day of the source, YYYY-MM-DD; models that ended before it are retired. */
  readonly dated: string;
}

const DENIALS: ReadonlySet<SkipCode> = new Set(["not-chat", "other-endpoint", "retired"]);

/** `upstreamId`: the model's id at the provider, if the source's name differs. */
export function skipped(
  model: string,
  code: SkipCode,
  message: string,
  upstreamId: string = model,
): Reading {
  const note = { model, code, message };
  return DENIALS.has(code)
    ? { kind: "skipped", note, denied: upstreamId }
    : { kind: "skipped", note };
}
