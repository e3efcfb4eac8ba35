import type { Deployment, InputModality, ListedModel, ModalityId } from "../catalog/index.ts";
import {
  invalidRequest,
  mapInTurns,
  parseUsd,
  refused,
  type Refused,
  type Result,
  unreachable,
} from "../core/index.ts";
import type { VerificationState } from "../verification/index.ts";
import type { Verdicts } from "./list-models.ts";
import { readInteger } from "./usage-query.ts";

const MODALITIES = ["text", "image", "video", "decisions"] as const satisfies ModalityId[];
const INPUTS = ["text", "image", "file", "audio", "video"] as const satisfies InputModality[];
const ORDERS = ["newest", "name", "context", "prompt_price", "completion_price"] as const;
const YES_OR_NO = ["true", "false"] as const;
const LOGGING = ["none", "retained"] as const;
/** Larger than any context; a number of nine digits is what a query may hold. */
const TOKENS_MAX = 999_999_999;
/** The most values that one list of a query may have. */
const VALUES_MAX = 16;

type Order = (typeof ORDERS)[number];

/** Which models `GET /v1/models` lists, and in which order; what is absent filters nothing. */
export interface ModelFilter {
  readonly modality?: ModalityId;
  /** Each has to be taken. */
  readonly inputModalities?: readonly InputModality[];
  /** Each has to be taken, all by one provider. */
  readonly supportedParameters?: readonly string[];
  readonly providerId?: string;
  readonly promptLogging?: "none" | "retained";
  /** Micro-USD per million tokens, which is pico-USD per token. */
  readonly promptPriceMax?: bigint;
  readonly completionPriceMax?: bigint;
  readonly contextMin?: number;
  readonly isVerified?: boolean;
  /** False: only models without an announced end. */
  readonly isLeaving?: boolean;
  readonly order: Order;
}

/** The filters of a query. Names it does not know are left alone: clients send names of their own. */
export function readModelFilter(query: URLSearchParams): Result<{ readonly filter: ModelFilter }> {
  const twice = SINGLE_NAMES.find((name) => query.getAll(name).length > 1);
  if (twice !== undefined) return invalid(`${twice} must be given once`);
  const modality = readWord(query, "modality", MODALITIES);
  if (!modality.ok) return modality;
  const inputs = readWords(query, "input_modality", (word) => INPUTS.find((each) => each === word));
  if (!inputs.ok) return inputs;
  const parameters = readWords(query, "supported_parameters", asParameter);
  if (!parameters.ok) return parameters;
  const provider = readText(query, "provider");
  if (!provider.ok) return provider;
  const logging = readWord(query, "prompt_logging", LOGGING);
  if (!logging.ok) return logging;
  const prompt = readPrice(query, "max_prompt_price");
  if (!prompt.ok) return prompt;
  const completion = readPrice(query, "max_completion_price");
  if (!completion.ok) return completion;
  const context = readInteger(query, "min_context", { min: 1, max: TOKENS_MAX });
  if (!context.ok) return context;
  const verified = readWord(query, "verified", YES_OR_NO);
  if (!verified.ok) return verified;
  const leaving = readWord(query, "deprecated", YES_OR_NO);
  if (!leaving.ok) return leaving;
  const order = readWord(query, "sort", ORDERS);
  if (!order.ok) return order;
  const filter: ModelFilter = {
    ...(modality.value !== undefined && { modality: modality.value }),
    ...(inputs.values !== undefined && { inputModalities: inputs.values }),
    ...(parameters.values !== undefined && { supportedParameters: parameters.values }),
    ...(provider.value !== undefined && { providerId: provider.value }),
    ...(logging.value !== undefined && { promptLogging: logging.value }),
    ...(prompt.value !== undefined && { promptPriceMax: prompt.value }),
    ...(completion.value !== undefined && { completionPriceMax: completion.value }),
    ...(context.value !== undefined && { contextMin: context.value }),
    ...(verified.value !== undefined && { isVerified: verified.value === "true" }),
    ...(leaving.value !== undefined && { isLeaving: leaving.value === "true" }),
    order: order.value ?? "newest",
  };
  return { ok: true, filter };
}

/**
 * The models that fit, in the order asked for; `newest` is the order of the catalog. What a
 * provider decides (price, context, logging, parameters, verdict) must hold for one and the same
 * provider: a cheap one that keeps prompts and a dear one that keeps none do not make a cheap model
 * that keeps none.
 */
export function filterModels(
  models: readonly ListedModel[],
  filter: ModelFilter,
  verdicts: Verdicts,
): readonly ListedModel[] {
  const found = models.flatMap((model) => {
    if (!fitsModel(model, filter)) return [];
    const fitting = model.deployments.filter((each) => fitsDeployment(each, filter, verdicts));
    return fitting.length === 0 ? [] : [{ model, fitting }];
  });
  return ordered(found, filter.order, models).map(({ model }) => model);
}

/** Each model is judged once, and compared by that; equal ones stay in the order of the catalog. */
function ordered(
  found: readonly Found[],
  order: Order,
  models: readonly ListedModel[],
): readonly Found[] {
  switch (order) {
    case "newest":
      return found;
    case "name": {
      const ranks = nameRanks.get(models) ?? ranksOf(models.toSorted(byName));
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

// Weak: a swapped catalog takes the order of its names with it.
const nameRanks = new WeakMap<readonly ListedModel[], Ranks>();
/** So many names are compared in a few milliseconds. */
const NAMES_AT_ONCE = 500;

/** Puts the names of a catalog in order, once and without holding up other requests. */
export async function rankNames(models: readonly ListedModel[]): Promise<void> {
  if (nameRanks.has(models)) return;
  const starts = Array.from({ length: Math.ceil(models.length / NAMES_AT_ONCE) }, (_, at) => at);
  const slices = await mapInTurns(starts, (at) =>
    models.slice(at * NAMES_AT_ONCE, (at + 1) * NAMES_AT_ONCE).sort(byName),
  );
  // What is in order by parts is quickly in order as a whole.
  nameRanks.set(models, ranksOf(slices.flat().sort(byName)));
}

function byName(a: ListedModel, b: ListedModel): number {
  return NAMES.compare(a.displayName, b.displayName);
}

/** Equal names have one rank. */
function ranksOf(sorted: readonly ListedModel[]): Ranks {
  let rank = 0;
  return new Map(
    sorted.map((model, at) => {
      const before = sorted[at - 1];
      if (before !== undefined && byName(before, model) !== 0) rank += 1;
      return [model, rank];
    }),
  );
}

function fitsModel(model: ListedModel, filter: ModelFilter): boolean {
  const { modality, isLeaving } = filter;
  return (
    (modality === undefined || model.modality === modality) &&
    (isLeaving === undefined || (model.deprecationDate !== undefined) === isLeaving)
  );
}

function fitsDeployment(each: Deployment, filter: ModelFilter, verdicts: Verdicts): boolean {
  const { providerId, promptLogging, contextMin, isVerified } = filter;
  return (
    (providerId === undefined || each.providerId === providerId) &&
    (promptLogging === undefined || each.promptLogging === promptLogging) &&
    (contextMin === undefined || (each.contextLength ?? 0) >= contextMin) &&
    (filter.inputModalities ?? []).every((kind) => each.inputModalities.has(kind)) &&
    (filter.supportedParameters ?? []).every((name) => each.supportedParameters.has(name)) &&
    isAtMost(priceOf(each, "prompt"), filter.promptPriceMax) &&
    isAtMost(priceOf(each, "completion"), filter.completionPriceMax) &&
    (isVerified === undefined || (verdicts.of(each).state === VERIFIED) === isVerified)
  );
}

const VERIFIED: VerificationState = "verified";

/** Without a price by the token nothing can be said to cost at most so much. */
function isAtMost(price: bigint | undefined, max: bigint | undefined): boolean {
  return max === undefined || (price !== undefined && price <= max);
}

function priceOf(each: Deployment, sku: "prompt" | "completion"): bigint | undefined {
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
    .flatMap((each) => priceOf(each, sku) ?? [])
    .reduce<bigint | undefined>(
      (low, price) => (low === undefined || price < low ? price : low),
      undefined,
    );
}

/** Those without a price by the token come last. */
function byPrice(a: bigint | undefined, b: bigint | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return a < b ? -1 : a > b ? 1 : 0;
}

const SINGLE_NAMES = [
  "modality",
  "provider",
  "prompt_logging",
  "max_prompt_price",
  "max_completion_price",
  "min_context",
  "verified",
  "deprecated",
  "sort",
] as const;

type Read<T> = Result<{ readonly value: T | undefined }>;

function readText(query: URLSearchParams, name: string): Read<string> {
  const text = query.get(name);
  if (text === null) return { ok: true, value: undefined };
  return text === "" ? invalid(`${name} must not be empty`) : { ok: true, value: text };
}

function readWord<T extends string>(
  query: URLSearchParams,
  name: string,
  words: readonly T[],
): Read<T> {
  const text = query.get(name);
  if (text === null) return { ok: true, value: undefined };
  const value = words.find((word) => word === text);
  if (value !== undefined) return { ok: true, value };
  return invalid(`${name} must be one of ${words.join(", ")}, not ${quoted(text)}`);
}

/** Values with commas between them, or the name several times. */
function readWords<T extends string>(
  query: URLSearchParams,
  name: string,
  asWord: (text: string) => T | undefined,
): Result<{ readonly values: readonly T[] | undefined }> {
  const texts = query.getAll(name).flatMap((text) => text.split(","));
  if (texts.length > VALUES_MAX) return invalid(`${name} may have ${VALUES_MAX} values at most`);
  const values: T[] = [];
  for (const text of texts) {
    const word = asWord(text.trim());
    if (word === undefined)
      return invalid(`${name} cannot be ${quoted(text)}${CHOICES[name] ?? ""}`);
    values.push(word);
  }
  return { ok: true, values: values.length === 0 ? undefined : values };
}

const CHOICES: Readonly<Record<string, string>> = {
  input_modality: `; it is one or more of ${INPUTS.join(", ")}`,
  supported_parameters: "; it is names of parameters with commas between them",
};

function asParameter(text: string): string | undefined {
  return /^[\w.-]{1,64}$/.test(text) ? text : undefined;
}

function readPrice(query: URLSearchParams, name: string): Read<bigint> {
  const text = query.get(name);
  if (text === null) return { ok: true, value: undefined };
  const value = /^\d{1,7}(\.\d{1,6})?$/.test(text) ? parseUsd(text) : undefined;
  if (value !== undefined) return { ok: true, value };
  return invalid(`${name} must be US dollars per million tokens such as 0.50, not ${quoted(text)}`);
}

function invalid(message: string): Refused {
  return refused(invalidRequest(message));
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 64));
}
