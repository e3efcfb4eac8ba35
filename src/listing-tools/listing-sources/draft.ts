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
  readonly tiers: readonly DraftTier[];
}

export interface DraftChange extends DraftPrices {
  readonly from: string;
}

export interface ImportNote {
  readonly model: string;
  readonly code: NoteCode;
  readonly message: string;
}

export type NoteCode = SkipCode | StageCode | InfoCode;

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

/** Reasons to stage a listing: the codes of `staged_because` in a manifest. */
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

/** The model's abilities. A member is undefined if the source does not say. */
export interface DraftAbilities {
  readonly tools?: boolean;
  readonly structured?: boolean;
  readonly reasoning?: boolean;
  readonly sampling?: boolean;
  readonly efforts?: readonly string[];
}

/** Rate limits that a provider sets for one account. */
export interface DraftCapacity {
  readonly requestsPerMinute?: number;
  readonly promptTokensPerMinute?: number;
}

/** An entry in one format for all sources. A member is undefined if the source does not say. */
export interface Draft {
  readonly name: string;
  readonly upstreamId: string;
  readonly displayName?: string | undefined;
  readonly prices: DraftPrices;
  readonly changes: readonly DraftChange[];
  readonly contextLength?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  /** Inputs other than text; undefined if the source does not say. */
  readonly inputs?: ReadonlySet<Exclude<ManifestInputModality, "text">>;
  readonly abilities: DraftAbilities;
  readonly released?: string | undefined;
  readonly deprecationDate?: string | undefined;
  readonly resolvesTo: readonly string[];
  readonly capacity?: DraftCapacity;
  readonly stagedBecause: readonly StageCode[];
  readonly notes: readonly ImportNote[];
  /** True for another id that the entry covers. Undefined: the entry covers only its own id. */
  readonly matches?: (upstreamId: string) => boolean;
}

export type Reading =
  | { readonly kind: "draft"; readonly draft: Draft }
  /** `denied`: the model's id, if this source says that the model does not chat or is retired. */
  | { readonly kind: "skipped"; readonly note: ImportNote; readonly denied?: string };

export interface ReaderInput {
  readonly provider: string;
  /** The day of the source, YYYY-MM-DD. A model that ends on it or earlier is retired. */
  readonly dated: string;
}

const DENIALS: ReadonlySet<SkipCode> = new Set(["not-chat", "other-endpoint", "retired"]);

/** `upstreamId` is the model's id at the provider, needed only if the source's name differs. */
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
