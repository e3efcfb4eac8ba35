import type { RawJson, RawObject } from "../../kernel/index.ts";
import {
  type Draft,
  type ImportNote,
  type ReaderInput,
  type Reading,
  type SkipCode,
  skipped,
} from "./draft.ts";
import {
  RETIRED,
  abilitiesAt,
  toCapacity,
  countAt,
  dayAt,
  judgeEnd,
  flagAt,
  idFlaw,
  isNothing,
  isPromptPrice,
  listAt,
  numberTextAt,
  objectAt,
  otherUnitsNote,
  outputBound,
  listNameReasons,
  textAt,
  textsAt,
} from "./entry-rules.ts";
import { type RawSheet, type RawTier, readPrices, sheetOver } from "./sheet-builder.ts";

const NOT_MODELS = new Set(["sample_spec", "fallback_generalizations"]);

/** Reads `model_prices_and_context_window.json`: "prefix/id" to facts, with USD per token. */
export function readLitellm(document: RawJson, input: ReaderInput): Reading[] {
  return [...(objectAt(document) ?? [])].flatMap(([key, value]): Reading[] => {
    if (NOT_MODELS.has(key)) return [skipped(key, "not-a-model", "describes the file itself")];
    const entry = objectAt(value);
    if (entry === undefined) return [skipped(key, "not-a-model", "is not an object")];
    const provider = textAt(entry, "litellm_provider");
    if (provider === undefined) return [skipped(key, "not-a-model", "names no provider")];
    return provider === input.provider ? [readEntry(key, entry, input)] : [];
  });
}

function readEntry(key: string, entry: RawObject, input: ReaderInput): Reading {
  const unfit = whyUnfit(entry, input);
  const upstreamId = stripPrefix(key, input.provider);
  if (unfit !== undefined) return skipped(key, ...unfit, upstreamId);
  const flaw = idFlaw(upstreamId);
  if (flaw !== undefined) return skipped(key, "id-not-expressible", flaw);
  const priced = readPrices({ model: key, ...litellmPrices(entry), places: 6 });
  if (!priced.ok) return skipped(key, priced.code, priced.message);
  const context = countAt(entry, "max_input_tokens");
  // `max_tokens` is not read: some entries mean the input by it, and others the output.
  const bound = outputBound(key, countAt(entry, "max_output_tokens"), context);
  const units = otherUnits(key, entry);
  const facts: Draft = {
    name: key,
    upstreamId,
    prices: priced.prices,
    changes: [],
    inputs: readInputs(entry),
    abilities: readAbilities(entry),
    resolvesTo: [],
    stagedBecause: [
      ...listNameReasons(upstreamId),
      ...units.fee,
      ...(entry.has("off_peak_pricing") ? (["time-of-day"] as const) : []),
    ],
    notes: [...priced.notes, ...bound.notes, ...units.notes],
    contextLength: context,
    maxOutputTokens: bound.maxOutputTokens,
    deprecationDate: judgeEnd(dayAt(entry, "deprecation_date"), input.dated).day,
    ...toCapacity(countAt(entry, "rpm"), countAt(entry, "tpm")),
  };
  return { kind: "draft", draft: facts };
}

function whyUnfit(entry: RawObject, input: ReaderInput): [SkipCode, string] | undefined {
  const mode = textAt(entry, "mode");
  const endpoints = textsAt(entry, "supported_endpoints");
  if (mode === "responses" || (endpoints.length > 0 && !endpoints.some(isChat))) {
    return ["other-endpoint", "is not served by chat completions or messages"];
  }
  if (mode !== "chat") return ["not-chat", `is of the mode ${mode ?? "(none)"}`];
  if (textsAt(entry, "supported_output_modalities").includes("audio")) {
    return ["not-chat", "answers in sound, which tokens of text do not price"];
  }
  return judgeEnd(dayAt(entry, "deprecation_date"), input.dated).gone ? RETIRED : undefined;
}

function isChat(endpoint: string): boolean {
  return /\/chat\/completions$|\/messages$/.test(endpoint);
}

/**
 * Removes the provider's prefix from a name. Fireworks has a short and a long form of each id; the
 * result is always the long form.
 */
function stripPrefix(key: string, provider: string): string {
  const prefix = `${provider.replace(/_chat$/, "")}/`;
  const id = key.startsWith(prefix) ? key.slice(prefix.length) : key;
  const isShort = provider === "fireworks_ai" && !id.includes("/");
  return isShort ? `accounts/fireworks/models/${id}` : id;
}

function readInputs(entry: RawObject): NonNullable<Draft["inputs"]> {
  const has = (flag: string): boolean => flagAt(entry, flag) === true;
  const same = (field: string): boolean => isPromptPrice(entry, field, "input_cost_per_token");
  const unpriced = (field: string): boolean => isNothing(numberTextAt(entry, field));
  return new Set([
    ...(has("supports_vision") &&
    unpriced("input_cost_per_image") &&
    (numberTextAt(entry, "input_cost_per_image_token") === undefined ||
      same("input_cost_per_image_token"))
      ? (["image"] as const)
      : []),
    ...(has("supports_pdf_input") ? (["file"] as const) : []),
    ...(has("supports_audio_input") && same("input_cost_per_audio_token")
      ? (["audio"] as const)
      : []),
    ...(has("supports_video_input") && unpriced("input_cost_per_video_per_second")
      ? (["video"] as const)
      : []),
  ]);
}

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

function readAbilities(entry: RawObject): Draft["abilities"] {
  const extra = EFFORTS.filter((each) => flagAt(entry, `supports_${each}_reasoning_effort`));
  const known = new Set<string>([...extra, "low", "medium", "high"]);
  return {
    ...abilitiesAt(entry, {
      tools: "supports_function_calling",
      structured: "supports_response_schema",
      reasoning: "supports_reasoning",
      sampling: "supports_sampling_params",
    }),
    ...(extra.length > 0 ? { efforts: EFFORTS.filter((each) => known.has(each)) } : {}),
  };
}

/**
 * Finds prices per unit other than tokens. A feature with such a price is not offered, and a fee
 * per request makes the listing staged.
 */
function otherUnits(
  key: string,
  entry: RawObject,
): { readonly notes: ImportNote[]; readonly fee: "request-fee"[] } {
  const units = [...entry.keys()].filter(
    (field) => OTHER_UNIT.test(field) && !isNothing(numberTextAt(entry, field)),
  );
  const isSearched = entry.has("search_context_cost_per_query");
  const all = isSearched ? [...units, "search_context_cost_per_query"] : units;
  const perRequest = ["input_cost_per_request", "citation_cost_per_token"];
  return {
    notes: otherUnitsNote(key, all),
    fee: perRequest.some((field) => !isNothing(numberTextAt(entry, field))) ? ["request-fee"] : [],
  };
}

const OTHER_UNIT =
  /_audio_|_audio$|_per_(?:image|second|character|query|request|page|session)|_(?:batches|flex|priority|ultrafast|decisions)$|^regional_|^citation_/;

/**
 * Reads the base prices if `suffix` is "". With a suffix of the field names, such as
 * "_above_200k_tokens", reads the prices of that tier.
 */
export function litellmSheet(entry: RawObject, suffix: string): RawSheet {
  const at = (field: string): string | undefined => numberTextAt(entry, `${field}${suffix}`);
  return {
    prompt: at("input_cost_per_token"),
    completion: at("output_cost_per_token"),
    cached_prompt: at("cache_read_input_token_cost") ?? at("input_cost_per_token_cache_hit"),
    cache_write: at("cache_creation_input_token_cost"),
    // `above_1hr` is how long a written token is kept, not how long a prompt is.
    cache_write_1h: at("cache_creation_input_token_cost_above_1hr"),
    internal_reasoning: at("output_cost_per_reasoning_token"),
  };
}

const TIER = /^(?:in|out)put_cost_per_token(_above_(\d+)k_tokens)$/;

/**
 * Reads prices by prompt size, which LiteLLM writes as suffixes of field names or as ranges. A
 * price that a suffix leaves out is the base price; a range states all of its prices.
 */
function litellmPrices(entry: RawObject): {
  readonly sheet: RawSheet;
  readonly tiers: readonly RawTier[];
} {
  const ranges = listAt(entry, "tiered_pricing").flatMap((each): RawTier[] => {
    const range = objectAt(each);
    if (range === undefined) return [];
    const from = countAt(listAt(range, "range")[0]) ?? 0;
    return [{ abovePromptTokens: from, sheet: litellmSheet(range, "") }];
  });
  const [first, ...others] = ranges.toSorted((a, b) => a.abovePromptTokens - b.abovePromptTokens);
  if (first !== undefined) return { sheet: first.sheet, tiers: others };
  const base = litellmSheet(entry, "");
  const suffixes = new Map(
    [...entry.keys()].flatMap((key) => {
      const [, suffix, thousands] = TIER.exec(key) ?? [];
      return suffix === undefined ? [] : [[Number(thousands) * 1000, suffix] as const];
    }),
  );
  const tiers = [...suffixes].map(([abovePromptTokens, suffix]): RawTier => {
    return { abovePromptTokens, sheet: sheetOver(base, litellmSheet(entry, suffix)) };
  });
  return { sheet: base, tiers };
}
