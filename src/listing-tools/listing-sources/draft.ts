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

/** Something worth knowing about one entry of a source. */
export interface ImportNote {
  readonly model: string;
  readonly code: NoteCode;
  readonly message: string;
}

export type NoteCode = SkipCode | StageCode | InfoCode;

/** Why an entry is not a listing. */
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

/** Why a listing is not ready; also the codes of `staged_because`. */
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

/** Requests and tokens a minute of one account. */
export interface DraftCapacity {
  readonly requestsPerMinute?: number;
  readonly promptTokensPerMinute?: number;
}

/** One entry of a source, in terms that no source has. Undefined: the source does not say. */
export interface Draft {
  /** The key in its source: for messages. */
  readonly name: string;
  /** The model's id at the provider. */
  readonly upstreamId: string;
  readonly displayName?: string | undefined;
  readonly prices: DraftPrices;
  readonly changes: readonly DraftChange[];
  readonly contextLength?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  /** "text" is always meant. Undefined if the source does not say. */
  readonly inputs?: ReadonlySet<Exclude<ManifestInputModality, "text">>;
  readonly abilities: DraftAbilities;
  readonly released?: string | undefined;
  readonly deprecationDate?: string | undefined;
  readonly resolvesTo: readonly string[];
  readonly capacity?: DraftCapacity;
  readonly stagedBecause: readonly StageCode[];
  readonly notes: readonly ImportNote[];
  /** True for ids that this entry of a source also means. Undefined: only its own. */
  readonly matches?: (upstreamId: string) => boolean;
}

/** One entry of a source, read. */
export type Reading =
  | { readonly kind: "draft"; readonly draft: Draft }
  /** `denied`: the id of a model that this source says is none to chat with. */
  | { readonly kind: "skipped"; readonly note: ImportNote; readonly denied?: string };

/** The facts about the provider that a reader of its entries needs. */
export interface ReaderInput {
  /** The provider's name in this source. */
  readonly provider: string;
  /** The day the source speaks of, YYYY-MM-DD: what ended before it is retired. */
  readonly dated: string;
}

const DENIALS: ReadonlySet<SkipCode> = new Set(["not-chat", "other-endpoint", "retired"]);

/** `upstreamId`: the model's id at the provider, where the source's name is another. */
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
