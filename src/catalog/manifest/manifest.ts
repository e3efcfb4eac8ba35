/**
 * The values that a request parameter may have on a listing; `unknown` declares it without its
 * values.
 */
export type ManifestDescriptor =
  | { readonly type: "boolean" | "unknown" }
  | {
      readonly type: "range";
      readonly min: number;
      readonly max: number;
      readonly default?: number;
    }
  | {
      readonly type: "integer";
      readonly min?: number;
      readonly max?: number;
      readonly default?: number;
      readonly unit?: string;
    }
  | { readonly type: "enum"; readonly values: readonly string[]; readonly default?: string };

/** The units that `pricing` prices, in the order in which it is written. */
export const MANIFEST_SKUS = [
  "prompt",
  "cached_prompt",
  "cache_write",
  "completion",
  "internal_reasoning",
] as const;
export type ManifestSku = (typeof MANIFEST_SKUS)[number];

/** The units that `extra_pricing` prices. */
export const EXTRA_SKUS = ["cache_write_1h"] as const;

/** The units that a listing bills: a write that is kept for an hour has a price of its own in its terms. */
export const BILLED_SKUS = [
  "prompt",
  "cached_prompt",
  "cache_write",
  "cache_write_1h",
  "completion",
  "internal_reasoning",
] as const;
export type BilledSku = (typeof BILLED_SKUS)[number];

/** The price of one SKU, as a decimal string in USD per million tokens. */
export interface ManifestPrice {
  readonly type: ManifestSku;
  readonly unit: "token";
  readonly cost_usd_per_million: string;
}

/** A line of the price card: display only, never billed from. */
export interface ManifestPriceCardLine {
  readonly unit: "token" | "image" | "second" | "megapixel";
  readonly cost_usd: string;
  readonly billable?: string;
  readonly variant?: string;
}

/** A declared rate limit of the listing; its identity is type plus window. */
export interface ManifestCapacity {
  readonly type: "request" | "prompt" | "completion";
  readonly unit?: "token";
  readonly per: "minute" | "hour" | "day";
  readonly value: number;
}

export type ManifestInputModality = "text" | "image" | "file" | "audio" | "video";

/** One listing: a model that the provider serves. Absent fields keep their documented default. */
export interface ManifestModel {
  readonly id: string;
  readonly display_name?: string;
  readonly description?: string;
  readonly output_modality?: "text" | "image" | "video" | "decisions";
  readonly decisions_wire?: "systemone" | "gliner";
  readonly decisions_path?: string;
  readonly decisions_state_per_question?: boolean;
  readonly decisions_image_parts?: boolean;
  readonly input_modalities?: readonly ManifestInputModality[];
  readonly context_length?: number;
  readonly max_output_tokens?: number;
  readonly price_card?: readonly ManifestPriceCardLine[];
  readonly quantization?: string;
  readonly resolves_to?: readonly string[];
  readonly streaming?: boolean;
  readonly supported_parameters?: Readonly<Record<string, ManifestDescriptor>>;
  readonly pricing: readonly ManifestPrice[];
  readonly capacity?: readonly ManifestCapacity[];
  readonly datacenters?: readonly string[];
  readonly upstream_id?: string;
  readonly is_ready?: boolean;
  readonly deprecation_date?: string;
  readonly released?: string;
}

export interface ManifestProvider {
  readonly id: string;
  readonly name: string;
  readonly privacy_policy_url: string;
  readonly terms_of_service_url?: string;
  readonly status_page_url?: string;
  readonly priority?: number;
  readonly prompt_logging: "none" | "retained";
  readonly listing?: "public" | "private";
}

export interface ManifestEndpoint {
  readonly base_url: string;
  /** The schema has the list. */
  readonly dialect: `wire_${string}`;
  readonly api_key_env?: string;
  readonly images_path?: string;
  readonly videos_path?: string;
  readonly decisions_path?: string;
  readonly response_envelope?: "envelope_v4";
  readonly billing?: "token" | "reported_cost";
}

export interface ManifestSettlement {
  readonly mode: "prepaid" | "arrears";
  readonly interval: "half_daily" | "daily" | "weekly" | "monthly";
  readonly billing_contact?: string;
}

/** The prices of the same listing from some prompt size on: every SKU of such a request. */
export interface ManifestPriceTier {
  /** Prompt, cached and written tokens together; the tier holds above this many. */
  readonly above_prompt_tokens: number;
  readonly pricing: readonly ManifestPrice[];
  readonly extra_pricing?: ManifestExtraPricing;
}

/** Prices of SKUs that `pricing` has no name for, in USD per million tokens. */
export type ManifestExtraPricing = Readonly<Record<(typeof EXTRA_SKUS)[number], string>>;

/** Sale and purchase prices that hold together. */
export interface ManifestTermPrices {
  readonly price_tiers?: readonly ManifestPriceTier[];
  readonly extra_pricing?: ManifestExtraPricing;
  readonly purchase_pricing?: readonly ManifestPrice[];
  readonly purchase_tiers?: readonly ManifestPriceTier[];
  readonly purchase_extra?: ManifestExtraPricing;
}

/** All prices of a listing from an instant on: what it leaves out ends with it. */
export interface ManifestPriceChange extends ManifestTermPrices {
  /** In UTC, to the second. */
  readonly from: string;
  readonly pricing: readonly ManifestPrice[];
}

/** When and how the prices of a listing were last found to be true. */
export interface ManifestChecked {
  readonly on: string;
  readonly by: "two-sources" | "page";
  readonly url?: string;
}

/** Terms about the money of a listing that its fields cannot express. */
/** Output tokens of one image; what is left out is any. */
export interface ManifestImageTokens {
  readonly size?: string;
  readonly quality?: string;
  readonly tokens: number;
}

export interface ManifestListingTerms extends ManifestTermPrices {
  readonly image_tokens?: number | readonly ManifestImageTokens[];
  readonly price_changes?: readonly ManifestPriceChange[];
  readonly body?: Readonly<Record<string, unknown>>;
  readonly staged_because?: readonly string[];
  readonly checked?: ManifestChecked;
}

export type ManifestSourceName = "litellm" | "models.dev" | "openrouter" | "genai-prices";

/** One file that prices were read from. */
export interface ManifestSourceFile {
  readonly from: ManifestSourceName;
  readonly dated: string;
  readonly sha256: string;
}

/** Where the listings of a manifest were imported from. */
export interface ManifestCatalogSource extends ManifestSourceFile {
  readonly margin_percent?: string;
  readonly against?: readonly ManifestSourceFile[];
  readonly models?: readonly string[];
  /** By model id: SHA-256 of the listing and its terms as imported. */
  readonly imported: Readonly<Record<string, string>>;
}

/** The document a provider publishes to be listed, as written: defaults are not filled in. */
export interface Manifest {
  readonly manifest_version: "1";
  readonly provider: ManifestProvider;
  readonly endpoint: ManifestEndpoint;
  readonly settlement: ManifestSettlement;
  readonly models: readonly ManifestModel[];
  readonly catalog_source?: ManifestCatalogSource;
  /** By model id. */
  readonly listing_terms?: Readonly<Record<string, ManifestListingTerms>>;
  readonly wire_profile?: ManifestWireProfile;
}

/** A rule about history that a provider removes from a conversation, or wants in another form. */
export type HistoryRule =
  | "no-name"
  | "no-null"
  | "no-reasoning"
  | "no-strict"
  | "no-cache-control"
  | "text-only-content"
  | "system-for-developer";

/** How an endpoint differs from its wire: a closed vocabulary, each member with one effect. */
export interface ManifestWireProfile {
  readonly auth?: "bearer" | "x-api-key" | "api-key";
  readonly stream_usage?: "ask" | "always";
  readonly undeclared?: "forward" | "drop";
  readonly rename?: Readonly<Record<string, string>>;
  readonly values?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly history?: readonly HistoryRule[];
  readonly tool_signature?: "gemini";
  readonly usage_gap?: "reasoning";
  readonly non_stream_max?: number;
  readonly body?: Readonly<Record<string, unknown>>;
}
