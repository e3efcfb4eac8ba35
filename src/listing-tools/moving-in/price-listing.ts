import type { Manifest, ManifestModel, ManifestPrice } from "../../catalog/index.ts";
import { defined, OUTPUT_TOKENS_MAX, type RawObject } from "../../kernel/index.ts";
import { undatedName } from "../listing-sources/entry-rules.ts";
import { marketplaceId } from "../listing-sources/ids.ts";
import { importListings, type SourceInput } from "../listing-sources/import-listings.ts";
import { readPrice } from "../listing-sources/price-text.ts";
import {
  findHead,
  headParameters,
  isImportable,
  type ProviderHead,
} from "../listing-sources/provider-heads.ts";
import type { WrittenListing } from "../listing-sources/write-listing.ts";
import type { Fates } from "./fates.ts";
import { type MovedDeployment, PRICE_FIELDS } from "./read-deployments.ts";
import { asMap, textAt } from "./setting-tree.ts";

export interface ListingFinder {
  readonly shipped: (deployment: MovedDeployment) => WrittenListing | undefined;
  readonly fromPriceFile: (deployment: MovedDeployment) => WrittenListing | undefined;
  /** Shipped ids of one provider, or of all providers if undefined. Ready listings come first. */
  readonly shippedIds: (providerId: string | undefined) => readonly string[];
}

export type PriceOrigin = "shipped" | "price_file" | "config" | "none";

export interface PricedListing extends WrittenListing {
  readonly origin: PriceOrigin;
}

type Sku = keyof typeof PRICE_FIELDS;
const SKUS = Object.keys(PRICE_FIELDS) as readonly Sku[];

/**
 * A shipped listing, else one of the price file, else one with the configuration's prices, else a
 * staged one. Each configured price that is not used gets a note.
 */
export function priceListing(
  deployment: MovedDeployment,
  finder: ListingFinder,
  fates: Fates,
): PricedListing {
  const shipped = finder.shipped(deployment);
  // The operator's own prices are better than a staged listing.
  const isStaged = shipped?.model.is_ready === false;
  const filed = isStaged || shipped === undefined ? finder.fromPriceFile(deployment) : undefined;
  const isPriced =
    perMillion(deployment.prices.prompt) !== undefined &&
    perMillion(deployment.prices.completion) !== undefined;
  if (shipped !== undefined && !(isStaged && (filed !== undefined || isPriced))) {
    namePrices(deployment, shipped, { fates, source: "the shipped listing" });
    return { ...shipped, origin: "shipped" };
  }
  if (filed !== undefined) {
    namePrices(deployment, filed, { fates, source: "the price file" });
    return { ...filed, origin: "price_file" };
  }
  return configListing(deployment, fates);
}

/** The price in USD per million tokens, rounded as `readPrice` does; undefined for another text. */
function perMillion(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const price = readPrice(text, PER_TOKEN_PLACES);
  return price.ok ? price.usdPerMillion : undefined;
}

const PER_TOKEN_PLACES = 6;

function listPaths({ path }: MovedDeployment, sku: Sku): (readonly (string | number)[])[] {
  return ["litellm_params", "model_info"].map((place) => [...path, place, PRICE_FIELDS[sku]]);
}

function namePrices(
  deployment: MovedDeployment,
  { model }: WrittenListing,
  { fates, source }: { readonly fates: Fates; readonly source: string },
): void {
  for (const sku of SKUS) {
    const written = perMillion(deployment.prices[sku]);
    const listed = model.pricing.find(({ type }) => type === sku)?.cost_usd_per_million;
    for (const path of listPaths(deployment, sku)) {
      if (written !== undefined && written === plain(listed)) {
        fates.carried(path, { why: `${source} has the same price` });
      } else if (deployment.prices[sku] !== undefined) {
        const here = listed === undefined ? "none of its own" : `$${listed}`;
        const there = written === undefined ? "a value that is not a price" : `$${written}`;
        fates.notCarried(path, {
          why: `${source} counts: per million tokens it has ${here}, the file ${there}`,
          next: "edit the price in the manifest if yours is the right one",
        });
      }
    }
  }
}

function plain(price: string | undefined): string | undefined {
  return price?.includes(".") === true ? price.replace(/\.?0+$/, "") : price;
}

function configListing(deployment: MovedDeployment, fates: Fates): PricedListing {
  const { prices, contextLength, abilities } = deployment;
  const pricing = readPricing(deployment, fates);
  const missing = [
    ...(pricing === undefined ? ["no-price"] : []),
    ...(contextLength === undefined ? ["no-limit"] : []),
  ];
  const maxOutputTokens = Math.min(
    deployment.maxOutputTokens ?? OUTPUT_TOKENS_MAX,
    contextLength ?? OUTPUT_TOKENS_MAX,
    OUTPUT_TOKENS_MAX,
  );
  const parts = [
    ...(abilities.vision ? (["image"] as const) : []),
    ...(abilities.files ? (["file"] as const) : []),
  ];
  const model: ManifestModel = {
    id: deployment.upstreamId,
    context_length: contextLength ?? UNKNOWN_CONTEXT_TOKENS,
    max_output_tokens: maxOutputTokens,
    streaming: true,
    ...(parts.length > 0 && { input_modalities: ["text", ...parts] }),
    supported_parameters: headParameters(deployment.head, {
      upstreamId: deployment.upstreamId,
      ...abilities,
      sampling: true,
      maxOutputTokens,
    }),
    pricing: pricing ?? DETERRENT_PRICING,
    ...(missing.length > 0 && { is_ready: false }),
  };
  const isUnpriced = pricing === undefined && Object.keys(prices).length > 0;
  if (isUnpriced) nameUnusable(deployment, fates);
  return {
    model,
    ...(missing.length > 0 && { terms: { staged_because: missing } }),
    origin: pricing === undefined ? "none" : "config",
  };
}

/** Tokens of a staged listing without a limit: too few to be mistaken for the model's own. */
const UNKNOWN_CONTEXT_TOKENS = 4_096;

/** Few balances cover this price if the listing is made ready by mistake; 0 would be free. */
const DETERRENT_PRICING: readonly ManifestPrice[] = [
  { type: "prompt", unit: "token", cost_usd_per_million: "9999999" },
  { type: "completion", unit: "token", cost_usd_per_million: "9999999" },
];

/** Returns undefined unless the configuration prices both prompt and completion. */
function readPricing(
  deployment: MovedDeployment,
  fates: Fates,
): readonly ManifestPrice[] | undefined {
  const found = new Map(SKUS.map((sku) => [sku, perMillion(deployment.prices[sku])]));
  if (found.get("prompt") === undefined || found.get("completion") === undefined) return undefined;
  // A cache write with the price 0 next to a paid prompt has no extra fee: its tokens are not free.
  if (found.get("cache_write") === "0" && found.get("prompt") !== "0") {
    found.set("cache_write", undefined);
  }
  return SKUS.flatMap((sku) => {
    const price = found.get(sku);
    if (price === undefined) return [];
    for (const path of listPaths(deployment, sku)) {
      fates.carried(path, { why: `$${price} per million tokens` });
    }
    return [{ type: sku, unit: "token", cost_usd_per_million: price } as const];
  });
}

function nameUnusable(deployment: MovedDeployment, fates: Fates): void {
  for (const sku of SKUS) {
    if (deployment.prices[sku] === undefined) continue;
    for (const path of listPaths(deployment, sku)) {
      fates.notCarried(path, {
        why: "a listing needs a price of prompt and one of completion, each at least 0",
        next: "write input_cost_per_token and output_cost_per_token, or give --prices",
      });
    }
  }
}

/** Finds an entry by the model's name, with or without its date, or else by its base model. */
export function priceFileListings(
  source: Omit<SourceInput, "from">,
): (deployment: MovedDeployment) => WrittenListing | undefined {
  const entries = asMap(source.document);
  return ({ head, prefix, isProvidersOwn, upstreamId, baseModel }) => {
    // A server that only speaks the provider's wire does not have the provider's prices.
    if (!isProvidersOwn || entries === undefined) return undefined;
    const behind = baseModel === undefined ? [] : [baseModel, `${prefix}/${baseModel}`];
    const undated = undatedName(upstreamId);
    const named = undated === undefined ? [upstreamId] : [upstreamId, undated];
    for (const key of [...named.flatMap((each) => [`${prefix}/${each}`, each]), ...behind]) {
      const found = readListing(entries, { key, head, prefix, source });
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

/** Reads one entry alone. All entries together would merge the dated versions of a model. */
function readListing(
  entries: RawObject,
  of: {
    readonly key: string;
    readonly head: ProviderHead;
    readonly prefix: string;
    readonly source: Omit<SourceInput, "from">;
  },
): WrittenListing | undefined {
  const { key, prefix, source } = of;
  const entry = entries.get(key);
  const provider = textAt(entry, "litellm_provider");
  // The file has several names for one family of providers: "bedrock", "bedrock_converse".
  if (entry === undefined || provider?.startsWith(prefix.split("_")[0] ?? "") !== true) {
    return undefined;
  }
  const head = { ...of.head, sources: { litellm: provider } };
  if (!isImportable(head)) return undefined;
  const { manifest } = importListings({
    head,
    source: { ...source, from: "litellm", document: new Map([[key, entry]]) },
    against: [],
    models: [],
    withCapacity: false,
  });
  const model = manifest?.models[0];
  if (model === undefined) return undefined;
  return defined({ model, terms: manifest?.listing_terms?.[model.id] });
}

/**
 * Finds the listing at the same origin by the model's name, with or without its date, or by its
 * marketplace id. An Azure deployment gets OpenAI's listing of its base model, but staged, because
 * Azure's prices are in the operator's contract.
 */
export function shippedListings(
  manifests: readonly Manifest[],
): (deployment: MovedDeployment) => WrittenListing | undefined {
  return (deployment) => {
    const { head, upstreamId, baseUrl, baseModel } = deployment;
    if (head.provider.id === "azure") return ofBaseModel(manifests, baseModel);
    const { origin } = new URL(baseUrl);
    const known = manifests.find(({ provider, endpoint }) => {
      return provider.id === head.provider.id && new URL(endpoint.base_url).origin === origin;
    });
    return known && listingNamed(known, head.provider.id ?? "", upstreamId);
  };
}

function ofBaseModel(
  manifests: readonly Manifest[],
  baseModel: string | undefined,
): WrittenListing | undefined {
  const lab = manifests.find(({ provider }) => provider.id === "openai");
  if (lab === undefined || baseModel === undefined) return undefined;
  const found = listingNamed(lab, "openai", baseModel.slice(baseModel.lastIndexOf("/") + 1));
  if (found === undefined) return undefined;
  const { checked: _ofTheLab, ...terms } = found.terms ?? {};
  return {
    model: { ...found.model, is_ready: false },
    terms: { ...terms, staged_because: ["base-model"] },
  };
}

function listingNamed(
  { models, listing_terms: terms = {} }: Manifest,
  providerId: string,
  upstreamId: string,
): WrittenListing | undefined {
  const texts = models.filter(isText);
  const names = [upstreamId, undatedName(upstreamId) ?? upstreamId];
  const ids = names.map((name) => marketplaceId(providerId, name));
  const model = [
    ...names.map((name) => texts.find(({ id, upstream_id: own = id }) => own === name)),
    ...ids.map((id) => texts.find((each) => each.id === id)),
  ].find((each) => each !== undefined);
  return model && defined({ model, terms: terms[model.id] });
}

/** Ids of the text listings of one provider, or of all if undefined. Ready ones come first. */
export function shippedIds(
  manifests: readonly Manifest[],
): (providerId: string | undefined) => readonly string[] {
  return (providerId) => {
    const models = manifests
      .filter(({ provider: { id } }) => findHead(id) && (providerId ?? id) === id)
      .flatMap((each) => each.models.filter(isText));
    const ready = models.filter((each) => each.is_ready !== false);
    return [...new Set([...ready, ...models].map(({ id }) => id))];
  };
}

function isText({ output_modality: modality = "text" }: ManifestModel): boolean {
  return modality === "text";
}
