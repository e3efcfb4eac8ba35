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

/** The id of a chat wire; `formats/wire/wires.ts` lists all wires. */
export type WireId = `wire_${string}`;
export type ModalityId = "text" | "image" | "video" | "decisions";
export type InputModality = ManifestInputModality;

/**
 * Prices of one listing in pico-USD per token. Every SKU has a price (`statedRates` has the
 * defaults), except that `cacheWrite1h` is absent if the manifest does not price it.
 */
export interface PriceSheet extends BySku<bigint> {
  /** Hash of the deployment id and all prices. An attempt stores it and is settled at these. */
  readonly pinId: string;
  /** The prices at which the provider is paid; absent: the prices of this sheet. */
  readonly purchase?: PriceSheet;
  /** Prices of long prompts, in ascending order; absent: the length does not change the price. */
  readonly tiers?: readonly PriceTier[];
}

/** Prices of all tokens, output included, of a request whose prompt exceeds the bound. */
export interface PriceTier {
  /** Exclusive lower bound of the prompt's length, in uncached, cached and cache-written tokens. */
  readonly abovePromptTokens: number;
  readonly prices: PriceSheet;
}

export interface DatedPrices {
  /** When the prices begin, in ms since 1970; -Infinity for the first prices of a listing. */
  readonly fromMs: number;
  readonly prices: PriceSheet;
  readonly defaultedSkus: readonly PricedSku[];
}

export interface CheckedPrices extends ManifestChecked {
  /** `late` 45 days after the check, `old` after 90 days: routing tries an `old` listing last. */
  readonly age: "recent" | "late" | "old";
  /** When `age` changes next or routing of the listing ends, in ms since 1970; Infinity: never. */
  readonly ageUntilMs: number;
}

export type CapabilityDescriptor = ManifestDescriptor;

export type CapacityDeclaration = Pick<ManifestCapacity, "type" | "per" | "value">;

export interface DecisionsListing {
  readonly wire: "systemone" | "gliner";
  readonly path: string;
  /** True if the provider runs a prompt per question and bills the request's `state` each time. */
  readonly isStatePerQuestion: boolean;
  readonly readsImages: boolean;
  /** The format in which the provider wraps its answers; absent: it does not wrap them. */
  readonly envelope?: "envelope_v4";
  /**
   * `as_sent` forwards the client's body with few edits; `public` rewrites it in the provider's
   * public format.
   */
  readonly form: "as_sent" | "public";
}

export type ImageTokens = ManifestImageTokens;

export type PricedSku = ManifestSku;

/** A line of the price card. Buyers see it; nothing is billed from it. */
export interface PriceCardLine {
  readonly unit: "token" | "image" | "second" | "megapixel";
  readonly costUsd: string;
  readonly billable?: string;
  readonly variant?: string;
}

/** Capacity of one deployment, or of several that share it. A 429 cools down the whole pool. */
export interface PoolDeclaration {
  readonly id: string;
  readonly capacity: readonly CapacityDeclaration[];
  readonly tokensPerMinute?: number;
  readonly requestsPerSecond?: number;
  readonly concurrent?: number;
  /** Percent of each limit that one organization may use: a share of at least 1, rounded down. */
  readonly orgSharePercent: number;
}

export interface OwnKey {
  readonly connectionId: string;
  readonly orgId: OrgId;
  /** The key is used only for the provider that it was added for. */
  readonly providerId: ProviderId;
  readonly sealedKey: Buffer;
}

export type NotReadyReason = "staged" | "private" | "key_missing" | "key_elsewhere" | "stale";

/** One provider's listing of one model. It is what the gateway routes, prices and settles. */
export interface Deployment {
  /** `<provider id>/<model id>`: unique in a catalog and stable across builds. */
  readonly id: string;
  readonly providerId: ProviderId;
  readonly providerName: string;
  readonly modelId: ModelId;
  readonly manifestSha256: string;
  readonly upstreamModelId: string;
  /** Ids other than `upstreamModelId` that the endpoint may report as the `model` of an answer. */
  readonly resolvesTo: readonly string[];
  readonly wire: WireId;
  readonly modality: ModalityId;
  /** Includes the version segment, such as `/v1`; has no trailing slash. */
  readonly baseUrl: string;
  /** Environment variable with the marketplace's key; absent: no key is needed or allowed. */
  readonly apiKeyEnv?: string;
  /** Lower numbers are tried first, but an `old` price check puts a listing behind all others. */
  readonly priority: number;
  readonly promptLogging: "none" | "retained";
  readonly datacenters: readonly string[];
  readonly billing: "token" | "reported_cost";
  /**
   * The prices in force when the catalog was built. An attempt uses the prices in force at its own
   * start (`deploymentAt`). Null only if the listing has no price row: such a model is refused,
   * never priced at 0.
   */
  readonly prices: PriceSheet | null;
  /** All prices, oldest first, each valid until the next; absent: `prices` never change. */
  readonly datedPrices?: readonly DatedPrices[];
  /** When and how the prices were last checked; absent: unknown. */
  readonly checked?: CheckedPrices;
  /** End of its `deprecation_date`, in ms since 1970, after which a build leaves it out. */
  readonly endsMs?: number;
  /** SKUs without their own price, which cost as much as prompt or completion; absent: none. */
  readonly defaultedSkus?: readonly PricedSku[];
  readonly inputModalities: ReadonlySet<InputModality>;
  readonly contextLength?: number;
  /**
   * Maximum output tokens of one answer (text), of one image, or of one second of video; maximum
   * cost in micro-dollars if `billing` is `reported_cost`.
   */
  readonly maxOutputTokens?: number;
  /** If an answer reports no usage: the output tokens of each image. The first match applies. */
  readonly imageTokens?: readonly ImageTokens[];
  readonly supportedParameters: ReadonlyMap<string, CapabilityDescriptor>;
  /** `imagesPath` and `videosPath` are relative to `baseUrl` and start with a slash. */
  readonly imagesPath: string;
  readonly videosPath: string;
  /** Present on decisions listings only. */
  readonly decisions?: DecisionsListing;
  readonly priceCard: readonly PriceCardLine[];
  readonly quantization?: string;
  readonly capacity: readonly CapacityDeclaration[];
  readonly pool: PoolDeclaration;
  readonly wireProfile?: WireProfile;
  /** Members of every chat request; each replaces the client's member of the same name. */
  readonly fixedBody?: readonly FixedMember[];
  readonly ownKey?: OwnKey;
  /** True if the provider bills the customer, who may then send fields that raise the price. */
  readonly passesPricedFields?: true;
  readonly settlement: Pick<ManifestSettlement, "mode" | "interval">;
  /** Why the deployment is not routed; absent: it is routed. */
  readonly notReady?: NotReadyReason;
}

export interface ListedModel {
  readonly id: ModelId;
  readonly displayName: string;
  readonly description?: string;
  readonly modality: ModalityId;
  readonly inputModalities: readonly InputModality[];
  readonly contextLength?: number;
  readonly maxOutputTokens?: number;
  readonly supportedParameters: ReadonlyMap<string, CapabilityDescriptor>;
  /** The price card of the deployment that routing tries first. */
  readonly priceCard: readonly PriceCardLine[];
  readonly quantization?: string;
  /** Only on decisions models: the question format of the deployment that routing tries first. */
  readonly decisionsWire?: DecisionsListing["wire"];
  /** YYYY-MM-DD, like `deprecationDate`. */
  readonly released?: string;
  readonly deprecationDate?: string;
  /** In routing order, never empty: routed deployments, or the private one of a dedicated model. */
  readonly deployments: readonly Deployment[];
}

export interface ListedProvider {
  readonly id: ProviderId;
  readonly name: string;
  readonly privacyPolicyUrl: string;
  readonly termsOfServiceUrl?: string;
  readonly statusPageUrl?: string;
  readonly promptLogging: "none" | "retained";
  /** Routed deployments only; never empty. */
  readonly deployments: readonly Deployment[];
}

/** One immutable build of all manifests. A reload replaces the whole object. */
export interface Catalog {
  /** Hash of manifests and pools, and of what time changes: prices, check ages, past listings. */
  readonly buildId: string;
  /** Public, routed models: newest `released` first, undated models last, then by name. */
  readonly models: readonly ListedModel[];
  /** The providers that serve `models`, sorted by name. */
  readonly providers: readonly ListedProvider[];
  /** Includes staged, private and keyless deployments, but none past its deprecation date. */
  readonly deployments: readonly Deployment[];
  find(id: string): ListedModel | undefined;
  /** Also finds one past its deprecation date, because its video jobs may end after that date. */
  findDeployment(id: string): Deployment | undefined;
  /** Finds a model of a private manifest. Only the model's own dedicated endpoint routes to it. */
  findDedicated(providerId: string, id: string): ListedModel | undefined;
  /** True for each listing of a private manifest, also one that cannot be routed at present. */
  isDedicated(providerId: string, id: string): boolean;
}
