import { assert, defined, groupBy } from "../kernel/index.ts";
import type { Deployment, InputModality, ListedModel } from "./catalog.ts";
import type { ManifestModel } from "./manifest/index.ts";

export interface Listing {
  readonly deployment: Deployment;
  readonly model: ManifestModel;
}

/** Sorts listings in the same order on all instances, whatever the order of the manifests. */
export function byProviderThenModel(a: Listing, b: Listing): number {
  return (
    a.deployment.priority - b.deployment.priority ||
    byText(a.deployment.providerId, b.deployment.providerId) ||
    byText(a.deployment.modelId, b.deployment.modelId)
  );
}

/**
 * Listings with an `old` price check come last; then priority, price and provider id decide. Price
 * precedes the id, so that no customer pays more because of a provider's name.
 */
function byRoutingOrder(a: Listing, b: Listing): number {
  return (
    Number(isOld(a)) - Number(isOld(b)) ||
    a.deployment.priority - b.deployment.priority ||
    byPrice(a.deployment, b.deployment) ||
    byText(a.deployment.providerId, b.deployment.providerId)
  );
}

function isOld({ deployment: { checked } }: Listing): boolean {
  return checked?.age === "old";
}

/** A listing that bills reported cost comes last, because it has no comparable token prices. */
function byPrice(a: Deployment, b: Deployment): number {
  const [ofA, ofB] = [typicalPrice(a), typicalPrice(b)];
  if (ofA === ofB) return 0;
  if (ofA === undefined || ofB === undefined) return ofA === undefined ? 1 : -1;
  return ofA < ofB ? -1 : 1;
}

/** Weighs three prompt tokens for each completion token, as in a typical chat. */
function typicalPrice({ prices, billing }: Deployment): bigint | undefined {
  if (prices === null || billing === "reported_cost") return undefined;
  return 3n * prices.prompt + prices.completion;
}

/** One model per id, sorted by `released`, newest first and undated last, then by name. */
export function mergeModels(routed: readonly Listing[]): readonly ListedModel[] {
  const byId = groupBy(routed, ({ model }) => model.id);
  return [...byId.values()]
    .map((each) => mergeOne(each.sort(byRoutingOrder)))
    .sort(byNewestThenName);
}

/**
 * Takes each text from the first listing in routing order that has it. Input modalities and
 * parameters are unions; bounds and the deprecation date are maxima. The rest is the first
 * listing's.
 */
function mergeOne(listings: readonly Listing[]): ListedModel {
  const first = listings[0]?.deployment;
  assert(first !== undefined, "a model is listed because a deployment serves it");
  const deployments = listings.map(({ deployment }) => deployment);
  return {
    id: first.modelId,
    displayName: findText(listings, "display_name") ?? first.modelId,
    modality: first.modality,
    inputModalities: MODALITIES_IN_ORDER.filter((modality) =>
      deployments.some((each) => each.inputModalities.has(modality)),
    ),
    // If listings describe a parameter differently, the one that routing tries first wins.
    supportedParameters: new Map(
      deployments.toReversed().flatMap((each) => [...each.supportedParameters]),
    ),
    priceCard: first.priceCard,
    deployments,
    ...defined({
      description: findText(listings, "description"),
      contextLength: largest(deployments.map((each) => each.contextLength)),
      maxOutputTokens: largest(deployments.map((each) => each.maxOutputTokens)),
      quantization: first.quantization,
      decisionsWire: first.decisions?.wire,
      released: findText(listings, "released"),
      deprecationDate: lastDeprecation(listings),
    }),
  };
}

function findText(
  listings: readonly Listing[],
  field: "display_name" | "description" | "released",
): string | undefined {
  return listings.find(({ model }) => model[field] !== undefined)?.model[field];
}

/** The latest date, because a model ends with its last listing; undefined if any has no date. */
function lastDeprecation(listings: readonly Listing[]): string | undefined {
  const dates = listings.map(({ model }) => model.deprecation_date ?? "");
  return dates.includes("") ? undefined : dates.sort().at(-1);
}

function largest(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

const MODALITIES_IN_ORDER: readonly InputModality[] = ["text", "image", "file", "audio", "video"];

function byNewestThenName(a: ListedModel, b: ListedModel): number {
  return (
    byText(b.released ?? "", a.released ?? "") ||
    byText(a.displayName, b.displayName) ||
    byText(a.id, b.id)
  );
}

export function byText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
