import type { ListingFigures, Model, ModelProvider } from "../../api/contract.ts";
import { bareUsd, parseUsd } from "../../ui/money-math.ts";
import { tokenPrice, type Sku } from "./price-labels.ts";
import type { ServedModels } from "./served.ts";

/** The filters that the Filters button opens. */
export const RAIL_FILTERS = [
  "input",
  "context",
  "price",
  "output",
  "ttft",
  "speed",
  "parameter",
  "provider",
  "country",
  "logging",
] as const;

type Name = (typeof RAIL_FILTERS)[number] | "q" | "modality" | "sort" | "compare" | "page";

export type ModelSearch = Readonly<Partial<Record<Name, string | undefined>>>;

/**
 * Filters that depend on the provider (ID, context, price, speed, country, logging, parameters)
 * must all match one provider: a model with a cheap provider that logs prompts and a dear one that
 * does not is no match for "cheap without logging". The price is that of the first matching
 * provider, which the gateway tries first. Without `served`, filters by speed are ignored.
 */
export function filterModels(
  models: readonly Model[],
  search: ModelSearch,
  served?: ServedModels,
): readonly Model[] {
  const words = (search.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  return models.filter(
    (model) =>
      matchesWords(model, words) &&
      (search.modality === undefined || model.modality === search.modality) &&
      (search.input === undefined || model.input_modalities.includes(search.input)) &&
      fittingListings(model, search, served).length > 0,
  );
}

function matchesWords(model: Model, words: readonly string[]): boolean {
  const providers = model.providers.map(({ provider, name }) => `${provider} ${name}`);
  const text = [model.id, model.name, ...providers].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

/** The providers of a model that match. Empty if the first matching provider is too expensive. */
export function fittingListings(
  model: Model,
  search: ModelSearch,
  served?: ServedModels,
): readonly ModelProvider[] {
  const contextMin = readContext(search.context);
  const figures = served?.get(model.id)?.byProvider;
  const fitting = model.providers.filter(
    (listing) =>
      (search.provider === undefined || listing.provider === search.provider) &&
      (search.logging !== "none" || listing.prompt_logging === "none") &&
      (search.country === undefined || runsOnlyIn(listing, search.country)) &&
      (search.parameter === undefined || Object.hasOwn(listing.parameters, search.parameter)) &&
      (contextMin === undefined || (listing.context_length ?? 0) >= contextMin) &&
      (served === undefined || isServedSo(figures?.get(listing.provider), search)),
  );
  const [paid] = fitting;
  const isCheap =
    paid !== undefined &&
    costsWithin(paid, "prompt", readPrice(search.price)) &&
    costsWithin(paid, "completion", readPrice(search.output));
  return isCheap ? fitting : [];
}

/** True if all declared data centers are in `country`. A provider without any may be anywhere. */
function runsOnlyIn({ datacenters }: ModelProvider, country: string): boolean {
  return datacenters.length > 0 && datacenters.every((each) => each === country);
}

/**
 * `max` is in micro-dollars per million tokens. Undefined matches every listing; any other value
 * matches only listings billed by token.
 */
function costsWithin(listing: ModelProvider, sku: Sku, max: bigint | undefined): boolean {
  if (max === undefined) return true;
  const price = tokenPrice(listing, sku);
  return price !== undefined && parseUsd(price) <= max;
}

/** A listing without measurements matches no filter by speed. */
function isServedSo(figures: ListingFigures | undefined, search: ModelSearch): boolean {
  const ttftMaxMs = readFigure(search.ttft) ?? Infinity;
  const speedMin = readFigure(search.speed) ?? -Infinity;
  const ttftMs = figures?.ttft_p50_ms ?? Infinity;
  const speed = figures?.tokens_per_second ?? -Infinity;
  return ttftMs <= ttftMaxMs && speed >= speedMin;
}

/** Parses milliseconds or tokens per second. Undefined if there is no valid filter. */
export function readFigure(text: string | undefined): number | undefined {
  return /^\d{1,6}$/.test(text ?? "") ? Number(text) : undefined;
}

export function hasSpeedFilter({ ttft, speed }: ModelSearch): boolean {
  return readFigure(ttft) !== undefined || readFigure(speed) !== undefined;
}

/** Parses tokens, such as `"128000"`, `"128k"` or `"1M"`. Undefined if there is no valid filter. */
export function readContext(text: string | undefined): number | undefined {
  const match = /^(\d{1,9})([km]?)$/i.exec((text ?? "").replaceAll(/[\s,_]/g, ""));
  if (match === null) return undefined;
  const [, digits = "0", unit = ""] = match;
  return Number(digits) * ({ k: 1_000, m: 1_000_000 }[unit.toLowerCase()] ?? 1);
}

/** Parses dollars per million tokens into micro-dollars. Undefined if there is no valid filter. */
export function readPrice(text: string | undefined): bigint | undefined {
  const price = bareUsd(text ?? "");
  return /^\d{1,7}(\.\d{1,6})?$/.test(price) ? parseUsd(price) : undefined;
}

export type ModelChoices = ReturnType<typeof listChoices>;

export function listChoices(models: readonly Model[]) {
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
