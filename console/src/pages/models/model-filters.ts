import type { Model, ModelProvider } from "../../../../src/console-api/contract.ts";
import { parseUsd } from "../../ui/money-math.ts";
import { tokenPrice, type Sku } from "./price-labels.ts";

/** What the models page keeps in its address. */
export type ModelSearch = Readonly<
  Partial<
    Record<
      | "q"
      | "modality"
      | "input"
      | "context"
      | "price"
      | "output"
      | "parameter"
      | "provider"
      | "country"
      | "logging"
      | "sort"
      | "view"
      | "compare"
      | "page",
      string | undefined
    >
  >
>;

/**
 * The models that fit, in the order they came in, which is newest first. What a provider decides (price, country, logging, parameters) must hold for one and the same provider:
 * a cheap one that logs prompts and an expensive one that does not are not one that is cheap and
 * does not log.
 */
export function filterModels(models: readonly Model[], search: ModelSearch): readonly Model[] {
  const words = (search.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  return models.filter(
    (model) =>
      matchesWords(model, words) &&
      (search.modality === undefined || model.modality === search.modality) &&
      (search.input === undefined || model.input_modalities.includes(search.input)) &&
      fittingListings(model, search).length > 0,
  );
}

function matchesWords(model: Model, words: readonly string[]): boolean {
  const providers = model.providers.map(({ provider, name }) => `${provider} ${name}`);
  const text = [model.id, model.name, ...providers].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

/** The model's providers that fit. */
export function fittingListings(model: Model, search: ModelSearch): readonly ModelProvider[] {
  const contextMin = readContext(search.context);
  const priceMax = readPrice(search.price);
  const outputMax = readPrice(search.output);
  return model.providers.filter(
    (listing) =>
      (search.provider === undefined || listing.provider === search.provider) &&
      (search.logging !== "none" || listing.prompt_logging === "none") &&
      (search.country === undefined || runsOnlyIn(listing, search.country)) &&
      (search.parameter === undefined || Object.hasOwn(listing.parameters, search.parameter)) &&
      (contextMin === undefined || (listing.context_length ?? 0) >= contextMin) &&
      (priceMax === undefined || costsAtMost(listing, "prompt", priceMax)) &&
      (outputMax === undefined || costsAtMost(listing, "completion", outputMax)),
  );
}

/** A provider that declares no data centre may run anywhere. */
function runsOnlyIn({ datacenters }: ModelProvider, country: string): boolean {
  return datacenters.length > 0 && datacenters.every((each) => each === country);
}

function costsAtMost(listing: ModelProvider, sku: Sku, priceMax: bigint): boolean {
  const price = tokenPrice(listing, sku);
  return price !== undefined && parseUsd(price) <= priceMax;
}

/** Tokens, as people write them: `"128000"`, `"128k"`, `"1M"`; undefined: no filter. */
export function readContext(text: string | undefined): number | undefined {
  const match = /^(\d{1,9})([km]?)$/i.exec((text ?? "").replaceAll(/[\s,_]/g, ""));
  if (match === null) return undefined;
  const [, digits = "0", unit = ""] = match;
  return Number(digits) * ({ k: 1_000, m: 1_000_000 }[unit.toLowerCase()] ?? 1);
}

/** Dollars per million tokens in micro-dollars; undefined: no filter. */
export function readPrice(text: string | undefined): bigint | undefined {
  const price = (text ?? "").trim().replace(/^\$/, "");
  return /^\d{1,7}(\.\d{1,6})?$/.test(price) ? parseUsd(price) : undefined;
}

export interface ModelChoices {
  readonly modalities: readonly Model["modality"][];
  readonly inputs: readonly string[];
  readonly parameters: readonly string[];
  readonly providers: readonly { readonly id: string; readonly name: string }[];
  readonly countries: readonly string[];
}

/** What the filters can be set to: what the catalog has. */
export function choicesOf(models: readonly Model[]): ModelChoices {
  const listings = models.flatMap(({ providers }) => providers);
  const names = new Map(listings.map(({ provider, name }) => [provider, name]));
  return {
    modalities: MODALITIES.filter((each) => models.some(({ modality }) => modality === each)),
    inputs: sorted(models.flatMap(({ input_modalities }) => input_modalities)),
    parameters: sorted(listings.flatMap(({ parameters }) => Object.keys(parameters))),
    providers: [...names]
      .map(([id, name]) => ({ id, name }))
      .sort((a, b) => a.name.localeCompare(b.name, "en")),
    countries: sorted(listings.flatMap(({ datacenters }) => datacenters)),
  };
}
const MODALITIES: readonly Model["modality"][] = ["text", "image", "video", "decisions"];

function sorted(words: readonly string[]): readonly string[] {
  return [...new Set(words)].sort((a, b) => a.localeCompare(b, "en"));
}
