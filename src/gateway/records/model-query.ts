import type { Deployment, ListedModel } from "../../catalog/index.ts";
import {
  invalidRequest,
  mapInTurns,
  parseUsd,
  refused,
  type Result,
  unreachable,
} from "../../kernel/index.ts";
import type { VerificationState } from "../verification/verification.ts";
import { ModelFilters, type Verdicts } from "./contract/models.ts";
import { queryReader } from "./read-query.ts";

/** Reads the filters of `GET /v1/models`. Each may be given once, except for lists. */
export function readModelFilter(query: URLSearchParams): Result<{ readonly asked: ModelFilters }> {
  const twice = SINGLE_NAMES.find((name) => query.getAll(name).length > 1);
  return twice === undefined
    ? readFilters(query)
    : refused(invalidRequest(`${twice} must be given once`));
}

const readFilters = queryReader(ModelFilters);
const LISTS: ReadonlySet<string> = new Set(["input_modality", "supported_parameters"]);
const SINGLE_NAMES = Object.keys(ModelFilters.properties).filter((name) => !LISTS.has(name));

/**
 * Returns the models that fit, in the requested order; `newest` is the order of the catalog. All
 * filters of providers must fit the same provider: a cheap provider that keeps prompts and an
 * expensive one that keeps none do not match filters for a low price and no logging.
 */
export function filterModels(
  models: readonly ListedModel[],
  filter: ModelFilters,
  verdicts: Verdicts,
): readonly ListedModel[] {
  const fits = deploymentFilter(filter, verdicts);
  const found = models.flatMap((model) => {
    if (!fitsModel(model, filter)) return [];
    const fitting = model.deployments.filter(fits);
    return fitting.length === 0 ? [] : [{ model, fitting }];
  });
  return ordered(found, filter.sort, models).map(({ model }) => model);
}

/** Sorts the models by `order`; models with equal values keep the order of the catalog. */
function ordered(
  found: readonly Found[],
  order: ModelFilters["sort"],
  models: readonly ListedModel[],
): readonly Found[] {
  switch (order) {
    case undefined:
    case "newest":
      return found;
    case "name": {
      const ranks = nameRanks.get(models) ?? rankByName(models.toSorted(byName));
      nameRanks.set(models, ranks);
      return sortedBy(
        found,
        ({ model }) => ranks.get(model) ?? 0,
        (a, b) => a - b,
      );
    }
    case "context":
      return sortedBy(found, longestContext, (a, b) => b - a);
    case "prompt_price":
      return sortedBy(found, (each) => lowest(each, "prompt"), byPrice);
    case "completion_price":
      return sortedBy(found, (each) => lowest(each, "completion"), byPrice);
    default:
      return unreachable(order);
  }
}

function sortedBy<K>(
  found: readonly Found[],
  keyOf: (each: Found) => K,
  compare: (a: K, b: K) => number,
): readonly Found[] {
  const keyed = found.map((each) => ({ each, key: keyOf(each) }));
  return keyed.sort((a, b) => compare(a.key, b.key)).map(({ each }) => each);
}

type Ranks = ReadonlyMap<ListedModel, number>;

// A WeakMap, so that the ranks of a replaced catalog are freed with it.
const nameRanks = new WeakMap<readonly ListedModel[], Ranks>();
/** How many names are sorted in one slice, which takes milliseconds. */
const NAMES_AT_ONCE = 500;

/** Ranks the names of a catalog, once and without blocking other requests. */
export async function rankNames(models: readonly ListedModel[]): Promise<void> {
  if (nameRanks.has(models)) return;
  const starts = Array.from({ length: Math.ceil(models.length / NAMES_AT_ONCE) }, (_, at) => at);
  const slices = await mapInTurns(starts, (at) =>
    models.slice(at * NAMES_AT_ONCE, (at + 1) * NAMES_AT_ONCE).sort(byName),
  );
  // This sort is fast, because the slices are sorted already.
  nameRanks.set(models, rankByName(slices.flat().sort(byName)));
}

function byName(a: ListedModel, b: ListedModel): number {
  return NAMES.compare(a.displayName, b.displayName);
}

function rankByName(sorted: readonly ListedModel[]): Ranks {
  let rank = 0;
  return new Map(
    sorted.map((model, at) => {
      const before = sorted[at - 1];
      if (before !== undefined && byName(before, model) !== 0) rank += 1;
      return [model, rank];
    }),
  );
}

function fitsModel(model: ListedModel, { modality, deprecated }: ModelFilters): boolean {
  return (
    (modality === undefined || model.modality === modality) &&
    (deprecated === undefined || (model.deprecationDate !== undefined) === (deprecated === "true"))
  );
}

/** Returns the check of a deployment against the filters; an absent filter matches everything. */
function deploymentFilter(filter: ModelFilters, verdicts: Verdicts): (each: Deployment) => boolean {
  const { provider, prompt_logging: logging, min_context: contextMin = 0, verified } = filter;
  // Micro-USD per million tokens are the same number as pico-USD per token.
  const [promptMax, completionMax] = [filter.max_prompt_price, filter.max_completion_price].map(
    (max) => (max === undefined ? undefined : parseUsd(max)),
  );
  return (each) =>
    (provider === undefined || each.providerId === provider) &&
    (logging === undefined || each.promptLogging === logging) &&
    (each.contextLength ?? 0) >= contextMin &&
    (filter.input_modality ?? []).every((kind) => each.inputModalities.has(kind)) &&
    (filter.supported_parameters ?? []).every((name) => each.supportedParameters.has(name)) &&
    isAtMost(findPrice(each, "prompt"), promptMax) &&
    isAtMost(findPrice(each, "completion"), completionMax) &&
    (verified === undefined || (verdicts.of(each).state === VERIFIED) === (verified === "true"));
}

const VERIFIED: VerificationState = "verified";

/** A model without a price per token matches no price filter. */
function isAtMost(price: bigint | undefined, max: bigint | undefined): boolean {
  return max === undefined || (price !== undefined && price <= max);
}

function findPrice(each: Deployment, sku: "prompt" | "completion"): bigint | undefined {
  return each.billing === "token" ? each.prices?.[sku] : undefined;
}

interface Found {
  readonly model: ListedModel;
  readonly fitting: readonly Deployment[];
}

const NAMES = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

function longestContext({ fitting }: Found): number {
  return Math.max(...fitting.map(({ contextLength }) => contextLength ?? 0));
}

function lowest({ fitting }: Found, sku: "prompt" | "completion"): bigint | undefined {
  return fitting
    .flatMap((each) => findPrice(each, sku) ?? [])
    .reduce<bigint | undefined>(
      (low, price) => (low === undefined || price < low ? price : low),
      undefined,
    );
}

/** Models without a price per token come last. */
function byPrice(a: bigint | undefined, b: bigint | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return a < b ? -1 : a > b ? 1 : 0;
}
