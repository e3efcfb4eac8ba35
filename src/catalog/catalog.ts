import type { BySku, ModelId, OrgId, ProviderId } from "../kernel/index.ts";
import type {
  ManifestChecked,
  ManifestDescriptor,
  ManifestImageTokens,
  ManifestInputModality,
  ManifestSku,
} from "./manifest/index.ts";
import type { FixedMember, WireProfile } from "./wire-profile.ts";

/** The chat wire that an endpoint speaks: the id of a value in `wire/wires.ts`, which has the list. */
export type WireId = `wire_${string}`;
export type ModalityId = "text" | "image" | "video" | "decisions";
export type InputModality = ManifestInputModality;

/**
 * Prices of one listing in pico-USD per token; absent SKUs are filled with their base rate, but for
 * an hour of the cache, which the listing then does not offer.
 */
export interface PriceSheet extends BySku<bigint> {
  /**
   * Hash of the deployment and these prices, tiers included: what an attempt is pinned to at
   * admission.
   */
  readonly pinId: string;
  /** The prices that the provider is owed; it has no purchase prices itself. Absent: these prices. */
  readonly purchase?: PriceSheet;
  /** The prices of long prompts, in ascending order; absent: the same. A tier has no tiers. */
  readonly tiers?: readonly PriceTier[];
}

/** The prices of every token of a request, output included, whose prompt is above a bound. */
export interface PriceTier {
  /** Prompt, cached and written tokens together; the tier is for more than these. */
  readonly abovePromptTokens: number;
  readonly prices: PriceSheet;
}

/** The prices of a listing from an instant on. */
export interface DatedPrices {
  /** Milliseconds since 1970; -Infinity: since ever. */
  readonly fromMs: number;
  readonly prices: PriceSheet;
  readonly defaultedSkus: readonly PricedSku[];
}

/** When and how the prices of a listing were last found to be true. */
export interface CheckedPrices extends ManifestChecked {
  /** When the catalog was built: `late` after 45 days, `old` after 90, when it is tried last. */
  readonly age: "recent" | "late" | "old";
  /** When the age, or whether it is routed, is another; Infinity: never. */
  readonly ageUntilMs: number;
}

/** How one request parameter may be set. */
export type CapabilityDescriptor = ManifestDescriptor;

export interface CapacityDeclaration {
  readonly type: "request" | "prompt" | "completion";
  readonly per: "minute" | "hour" | "day";
  readonly value: number;
}

/** The request format of a decisions listing. */
export interface DecisionsListing {
  /** The grammar of the questions that buyers send. */
  readonly wire: "systemone" | "gliner";
  /** The path below the base address. */
  readonly path: string;
  /** The provider runs one prompt per question, each with the whole state. */
  readonly isStatePerQuestion: boolean;
  /** An object of type `image_url` is read as an image. */
  readonly readsImages: boolean;
  /** How answers are wrapped; absent: not at all. */
  readonly envelope?: "envelope_v4";
  /** The buyer's own format, or the public form of the wire: the operator says which. */
  readonly form: "as_sent" | "public";
}

/** Output tokens of one image of a size and a quality; absent: of any. */
export type ImageTokens = ManifestImageTokens;

/** A SKU by the name that listings give it. */
export type PricedSku = ManifestSku;

/** One line of what a buyer is shown; display only. */
export interface PriceCardLine {
  readonly unit: "token" | "image" | "second" | "megapixel";
  readonly costUsd: string;
  readonly billable?: string;
  readonly variant?: string;
}

/**
 * A provider's shared capacity: claimed before each dispatch, cooling down after a 429. The
 * deployments of one provider that draw on the same capacity have the same pool.
 */
export interface PoolDeclaration {
  /** The deployment's own id, or the id from the operator's pool file. */
  readonly id: string;
  readonly capacity: readonly CapacityDeclaration[];
  readonly tokensPerMinute?: number;
  readonly requestsPerSecond?: number;
  readonly concurrent?: number;
  /** Whole percent of every limit that one organization may use: rounded down, at least 1. */
  readonly orgSharePercent: number;
}

/** Present on the copy of a deployment that uses a customer's own key. */
export interface OwnKey {
  readonly connectionId: string;
  readonly orgId: OrgId;
  /** The deployment's own: a key opens for the provider it was added for and no other. */
  readonly providerId: ProviderId;
  readonly sealedKey: Buffer;
}

/** Why a compiled deployment is not routed. `ready` ones have none. */
export type NotReadyReason = "staged" | "private" | "key_missing" | "key_elsewhere" | "stale";

/** One provider's listing of one model: the unit that is routed, dispatched, priced and settled. */
export interface Deployment {
  /** `<provider id>/<model id>`: unique in a catalog, stable across builds. */
  readonly id: string;
  readonly providerId: ProviderId;
  readonly providerName: string;
  readonly modelId: ModelId;
  /** The hash of the manifest that lists it, hexadecimal. */
  readonly manifestSha256: string;
  /** The id the endpoint expects and echoes. */
  readonly upstreamModelId: string;
  /** Other ids the endpoint may report in `response.model`. */
  readonly resolvesTo: readonly string[];
  readonly wire: WireId;
  readonly modality: ModalityId;
  /** Up to and including the version segment, without a trailing slash. */
  readonly baseUrl: string;
  /** Name of the environment variable that holds the marketplace's key; absent = no key needed. */
  readonly apiKeyEnv?: string;
  /** Lower is tried first among the providers of one model. */
  readonly priority: number;
  readonly promptLogging: "none" | "retained";
  readonly datacenters: readonly string[];
  readonly billing: "token" | "reported_cost";
  /**
   * In force when the catalog was built; an attempt has those of its own instant (`deploymentAt`).
   * Null only when the listing has no price row; such a model is refused, never priced at 0.
   */
  readonly prices: PriceSheet | null;
  /** All prices in time, oldest first, each until the next begins; absent if they have no dates. */
  readonly datedPrices?: readonly DatedPrices[];
  /** Absent if it is not known when the prices were checked. */
  readonly checked?: CheckedPrices;
  /** SKUs that the listing does not price, so that they cost their base rate; absent: none. */
  readonly defaultedSkus?: readonly PricedSku[];
  readonly inputModalities: ReadonlySet<InputModality>;
  readonly contextLength?: number;
  /** Text: most output tokens. Image: ceiling per image. Video: ceiling per second. */
  readonly maxOutputTokens?: number;
  /** The tokens of an image whose answer reports no usage; the first entry that fits. Absent: nothing. */
  readonly imageTokens?: readonly ImageTokens[];
  readonly supportedParameters: ReadonlyMap<string, CapabilityDescriptor>;
  /** Paths below the base address. */
  readonly imagesPath: string;
  readonly videosPath: string;
  /** Set exactly on decisions listings. */
  readonly decisions?: DecisionsListing;
  readonly priceCard: readonly PriceCardLine[];
  readonly quantization?: string;
  readonly capacity: readonly CapacityDeclaration[];
  readonly pool: PoolDeclaration;
  /** Absent if the endpoint is as its wire says. */
  readonly wireProfile?: WireProfile;
  /** The members of every chat request to it, whatever the client sent; absent: none. */
  readonly fixedBody?: readonly FixedMember[];
  readonly ownKey?: OwnKey;
  /**
   * Set if fields that raise the provider's price are sent unchanged, because the provider bills
   * its customer directly.
   */
  readonly passesPricedFields?: true;
  readonly settlement: {
    readonly mode: "prepaid" | "arrears";
    readonly interval: "half_daily" | "daily" | "weekly" | "monthly";
  };
  /** Absent when the deployment is routed. */
  readonly notReady?: NotReadyReason;
}

/** One model id as buyers see it: every provider's listing merged, in routing order. */
export interface ListedModel {
  readonly id: ModelId;
  readonly displayName: string;
  /** A sentence of the listing; absent: none of the listings has one. */
  readonly description?: string;
  readonly modality: ModalityId;
  readonly inputModalities: readonly InputModality[];
  readonly contextLength?: number;
  readonly maxOutputTokens?: number;
  readonly supportedParameters: ReadonlyMap<string, CapabilityDescriptor>;
  /** The price card of the deployment that is tried first. */
  readonly priceCard: readonly PriceCardLine[];
  readonly quantization?: string;
  /** Set exactly on decisions models: the grammar of the deployment that is tried first. */
  readonly decisionsWire?: DecisionsListing["wire"];
  /** YYYY-MM-DD */
  readonly released?: string;
  /** YYYY-MM-DD */
  readonly deprecationDate?: string;
  /** Routed deployments only, lowest priority first, then the cheapest, then provider id. Never empty. */
  readonly deployments: readonly Deployment[];
}

/** A provider that serves at least one public model, as buyers see it. */
export interface ListedProvider {
  readonly id: ProviderId;
  readonly name: string;
  readonly privacyPolicyUrl: string;
  readonly termsOfServiceUrl?: string;
  readonly statusPageUrl?: string;
  readonly promptLogging: "none" | "retained";
  /** Routed ones only; never empty. */
  readonly deployments: readonly Deployment[];
}

/** One immutable build of all manifests. Swapped whole, never changed. */
export interface Catalog {
  /** Hash of the input: equal on every instance that compiled the same manifests. */
  readonly buildId: string;
  /** Public, routed models: newest `released` first, missing last, then display name. */
  readonly models: readonly ListedModel[];
  /** The providers that serve `models`, by name. */
  readonly providers: readonly ListedProvider[];
  /** Every compiled deployment, staged, private and keyless ones included. */
  readonly deployments: readonly Deployment[];
  /** The listed model of this id, or undefined. */
  find(id: string): ListedModel | undefined;
  /** A model of a private manifest, for the dedicated endpoint it belongs to only. */
  findDedicated(providerId: string, id: string): ListedModel | undefined;
}
