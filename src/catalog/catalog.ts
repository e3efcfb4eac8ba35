import type { BySku, ModelId, OrgId, ProviderId } from "../kernel/index.ts";
import type {
  ManifestCapacity,
  ManifestChecked,
  ManifestDescriptor,
  ManifestImageTokens,
  ManifestInputModality,
  ManifestSettlement,
  ManifestSku,
} from "./manifest/index.ts";
import type { FixedMember, WireProfile } from "./wire-profile.ts";

/** The chat wire that an endpoint speaks: the id of a value in `wire/wires.ts`, which has the list. */
export type WireId = `wire_${string}`;
export type ModalityId = "text" | "image" | "video" | "decisions";
export type InputModality = ManifestInputModality;

/**
 * Prices of one listing in pico-USD per token. Absent SKUs have their base rate, except hour-long
 * cache writes, which are then not offered.
 */
export interface PriceSheet extends BySku<bigint> {
  /** Hash of the deployment and these prices with their tiers; pins each attempt at admission. */
  readonly pinId: string;
  /** The prices that the provider is owed, without purchase prices; absent: these prices. */
  readonly purchase?: PriceSheet;
  /** The prices of long prompts, in ascending order and without tiers; absent: the same. */
  readonly tiers?: readonly PriceTier[];
}

/** The prices of a whole request, output included, whose prompt exceeds a bound. */
export interface PriceTier {
  /** The tier holds for more prompt, cached and written tokens together than this. */
  readonly abovePromptTokens: number;
  readonly prices: PriceSheet;
}

/** The prices of a listing from an instant on. */
export interface DatedPrices {
  /** Milliseconds since 1970; -Infinity: always. */
  readonly fromMs: number;
  readonly prices: PriceSheet;
  readonly defaultedSkus: readonly PricedSku[];
}

/** When and how the prices of a listing were last confirmed. */
export interface CheckedPrices extends ManifestChecked {
  /** At the build: `late` after 45 days, `old` after 90 days, when the listing is tried last. */
  readonly age: "recent" | "late" | "old";
  /** When the age or the routing changes; Infinity: never. */
  readonly ageUntilMs: number;
}

/** The values that one request parameter may have. */
export type CapabilityDescriptor = ManifestDescriptor;

export type CapacityDeclaration = Pick<ManifestCapacity, "type" | "per" | "value">;

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
  /** The buyer's own format or the public form of the wire, as the operator has set it. */
  readonly form: "as_sent" | "public";
}

/** Output tokens of one image, for a size and a quality; absent: for any. */
export type ImageTokens = ManifestImageTokens;

/** A SKU by its name in listings. */
export type PricedSku = ManifestSku;

/** One line of the price card that buyers see; display only. */
export interface PriceCardLine {
  readonly unit: "token" | "image" | "second" | "megapixel";
  readonly costUsd: string;
  readonly billable?: string;
  readonly variant?: string;
}

/**
 * A provider's shared capacity: claimed before each dispatch, in cooldown after a 429. Deployments
 * of one provider with the same capacity share a pool.
 */
export interface PoolDeclaration {
  /** The deployment's own id, or the id from the operator's pool file. */
  readonly id: string;
  readonly capacity: readonly CapacityDeclaration[];
  readonly tokensPerMinute?: number;
  readonly requestsPerSecond?: number;
  readonly concurrent?: number;
  /** Percent of every limit that one organization may use: rounded down, at least 1. */
  readonly orgSharePercent: number;
}

/** A customer's own key, on the copy of a deployment that uses it. */
export interface OwnKey {
  readonly connectionId: string;
  readonly orgId: OrgId;
  /** The deployment's provider: a key is used only for the provider it was added for. */
  readonly providerId: ProviderId;
  readonly sealedKey: Buffer;
}

/** The reason why a compiled deployment is not routed. */
export type NotReadyReason = "staged" | "private" | "key_missing" | "key_elsewhere" | "stale";

/** One provider's listing of one model: the unit that is routed, dispatched, priced and settled. */
export interface Deployment {
  /** `<provider id>/<model id>`: unique in a catalog, stable across builds. */
  readonly id: string;
  readonly providerId: ProviderId;
  readonly providerName: string;
  readonly modelId: ModelId;
  /** The SHA-256 of the manifest that lists it, hexadecimal. */
  readonly manifestSha256: string;
  /** The id the endpoint expects and echoes. */
  readonly upstreamModelId: string;
  /** Other ids the endpoint may report in `response.model`. */
  readonly resolvesTo: readonly string[];
  readonly wire: WireId;
  readonly modality: ModalityId;
  /** Up to and including the version segment, without a trailing slash. */
  readonly baseUrl: string;
  /** Name of the environment variable with the marketplace's key; absent: no key needed. */
  readonly apiKeyEnv?: string;
  /** Lower is tried first among the providers of one model. */
  readonly priority: number;
  readonly promptLogging: "none" | "retained";
  readonly datacenters: readonly string[];
  readonly billing: "token" | "reported_cost";
  /**
   * The prices at the build; an attempt has those of its own instant (`deploymentAt`). Null only if
   * the listing has no price row; such a model is refused, never priced at 0.
   */
  readonly prices: PriceSheet | null;
  /** All prices in time, oldest first, each until the next begins; absent: `prices` always. */
  readonly datedPrices?: readonly DatedPrices[];
  /** Absent if it is not known when the prices were checked. */
  readonly checked?: CheckedPrices;
  /** SKUs without a price in the listing, which cost their base rate; absent: none. */
  readonly defaultedSkus?: readonly PricedSku[];
  readonly inputModalities: ReadonlySet<InputModality>;
  readonly contextLength?: number;
  /** Text: most output tokens. Image: ceiling per image. Video: ceiling per second. */
  readonly maxOutputTokens?: number;
  /** Tokens of an image whose answer reports no usage; the first entry that fits. Absent: none. */
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
  /** Absent if the endpoint does not differ from its wire. */
  readonly wireProfile?: WireProfile;
  /** Members of every chat request to it, whatever the client sent; absent: none. */
  readonly fixedBody?: readonly FixedMember[];
  readonly ownKey?: OwnKey;
  /**
   * Set if fields that raise the provider's price are sent on, because the provider bills its
   * customer directly.
   */
  readonly passesPricedFields?: true;
  readonly settlement: Pick<ManifestSettlement, "mode" | "interval">;
  /** Absent when the deployment is routed. */
  readonly notReady?: NotReadyReason;
}

/** One model as buyers see it: the listings of all providers merged, in routing order. */
export interface ListedModel {
  readonly id: ModelId;
  readonly displayName: string;
  /** A sentence of the listings; absent if none has one. */
  readonly description?: string;
  readonly modality: ModalityId;
  readonly inputModalities: readonly InputModality[];
  readonly contextLength?: number;
  readonly maxOutputTokens?: number;
  readonly supportedParameters: ReadonlyMap<string, CapabilityDescriptor>;
  /** The price card of the deployment that is tried first. */
  readonly priceCard: readonly PriceCardLine[];
  readonly quantization?: string;
  /** Set exactly on decisions models: the grammar of the first deployment. */
  readonly decisionsWire?: DecisionsListing["wire"];
  /** YYYY-MM-DD */
  readonly released?: string;
  /** YYYY-MM-DD */
  readonly deprecationDate?: string;
  /** Never empty, routed ones only: lowest priority first, then cheapest, then provider id. */
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

/** One immutable build of all manifests, replaced as a whole. */
export interface Catalog {
  /** Hash of the input: equal on every instance that compiled the same manifests. */
  readonly buildId: string;
  /** Public, routed models: newest `released` first, missing last, then display name. */
  readonly models: readonly ListedModel[];
  /** The providers that serve `models`, by name. */
  readonly providers: readonly ListedProvider[];
  /** All compiled deployments, also staged, private and keyless ones. */
  readonly deployments: readonly Deployment[];
  /** The listed model of this id, or undefined. */
  find(id: string): ListedModel | undefined;
  /** A model of a private manifest, for its own dedicated endpoint only. */
  findDedicated(providerId: string, id: string): ListedModel | undefined;
}
