import type { RawJson, RawObject } from "../../kernel/index.ts";
import { type Draft, type ReaderInput, type Reading, skipped, type StageCode } from "./draft.ts";
import {
  RETIRED,
  abilitiesAt,
  toCapacity,
  countAt,
  dayAt,
  judgeEnd,
  flagAt,
  idProblem,
  isNothing,
  isPromptPrice,
  listAt,
  listInputs,
  numberTextAt,
  objectAt,
  textAt,
  textsAt,
  type Unfit,
} from "./entry-rules.ts";
import { fireworksName } from "./ids.ts";
import { type RawSheet, type RawTier, sheetOver, toReading } from "./sheet-builder.ts";

const NOT_MODELS = new Set(["sample_spec", "fallback_generalizations"]);

/** Reads `model_prices_and_context_window.json`: facts by "prefix/id", prices in USD per token. */
export function readLitellm(document: RawJson, input: ReaderInput): Reading[] {
  const entries: RawObject = objectAt(document) ?? new Map();
  return [...entries].flatMap(([key, value]): Reading[] => {
    if (NOT_MODELS.has(key)) return [skipped(key, "not-a-model", "describes the file itself")];
    const entry = objectAt(value);
    if (entry === undefined) return [skipped(key, "not-a-model", "is not an object")];
    const provider = textAt(entry, "litellm_provider");
    if (provider === undefined) return [skipped(key, "not-a-model", "names no provider")];
    if (provider !== input.provider) return [];
    return [readEntry(key, stripPrefix(key, provider, entries), entry, input)];
  });
}

function readEntry(key: string, upstreamId: string, entry: RawObject, input: ReaderInput): Reading {
  const unfit = whyUnfit(entry, input) ?? idProblem(upstreamId);
  if (unfit !== undefined) return skipped(key, ...unfit, upstreamId);
  return toReading({
    model: key,
    upstreamId,
    ...litellmPrices(entry),
    places: 6,
    inputs: readInputs(entry),
    abilities: readAbilities(entry),
    resolvesTo: [],
    stagedBecause: listReasons(entry),
    otherUnits: listOtherUnits(entry),
    contextLength: countAt(entry, "max_input_tokens"),
    // `max_tokens` is not read: some entries mean the input by it, and others the output.
    outputTokens: countAt(entry, "max_output_tokens"),
    deprecationDate: judgeEnd(dayAt(entry, "deprecation_date"), input.dated).day,
    ...toCapacity(countAt(entry, "rpm"), countAt(entry, "tpm")),
  });
}

function whyUnfit(entry: RawObject, input: ReaderInput): Unfit | undefined {
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

/** Removes the provider's prefix. Of Fireworks' two forms of an id, returns the long one. */
function stripPrefix(key: string, provider: string, entries: RawObject): string {
  const prefix = `${provider.replace(/_chat$/, "")}/`;
  const id = key.startsWith(prefix) ? key.slice(prefix.length) : key;
  if (provider !== "fireworks_ai") return id;
  const router = `routers/${id}`;
  return fireworksName(entries.has(`${prefix}accounts/fireworks/${router}`) ? router : id);
}

function readInputs(entry: RawObject): NonNullable<Draft["inputs"]> {
  const has = (flag: string): boolean => flagAt(entry, flag) === true;
  const same = (field: string): boolean => isPromptPrice(entry, field, "input_cost_per_token");
  const unpriced = (field: string): boolean => isNothing(numberTextAt(entry, field));
  const hasImagePrice = numberTextAt(entry, "input_cost_per_image_token") !== undefined;
  return listInputs({
    image:
      has("supports_vision") &&
      unpriced("input_cost_per_image") &&
      (!hasImagePrice || same("input_cost_per_image_token")),
    file: has("supports_pdf_input"),
    audio: has("supports_audio_input") && same("input_cost_per_audio_token"),
    video: has("supports_video_input") && unpriced("input_cost_per_video_per_second"),
  });
}

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

function readAbilities(entry: RawObject): Draft["abilities"] {
  const extra = EFFORTS.filter((each) => flagAt(entry, `supports_${each}_reasoning_effort`));
  const known = new Set<string>([...extra, "low", "medium", "high"]);
  // Claude models take their effort in `output_config`.
  const hasConfig = flagAt(entry, "supports_output_config");
  return {
    ...abilitiesAt(entry, {
      tools: "supports_function_calling",
      structured: "supports_response_schema",
      reasoning: "supports_reasoning",
      sampling: "supports_sampling_params",
    }),
    ...(extra.length > 0 || hasConfig
      ? { efforts: EFFORTS.filter((each) => known.has(each)) }
      : {}),
  };
}

function listOtherUnits(entry: RawObject): readonly string[] {
  const units = [...entry.keys()].filter(
    (field) => OTHER_UNIT.test(field) && !isNothing(numberTextAt(entry, field)),
  );
  const searched = "search_context_cost_per_query";
  return entry.has(searched) ? [...units, searched] : units;
}

const PER_REQUEST = ["input_cost_per_request", "citation_cost_per_token"];

function listReasons(entry: RawObject): readonly StageCode[] {
  const hasFee = PER_REQUEST.some((field) => !isNothing(numberTextAt(entry, field)));
  return [
    ...(hasFee ? (["request-fee"] as const) : []),
    ...(entry.has("off_peak_pricing") ? (["time-of-day"] as const) : []),
  ];
}

const OTHER_UNIT =
  /_audio_|_audio$|_per_(?:image|second|character|query|request|page|session)|_(?:batches|flex|priority|ultrafast|decisions)$|^regional_|^citation_/;

/** The base prices, or those of a tier by its suffix, such as "_above_200k_tokens". */
function litellmSheet(entry: RawObject, suffix: string): RawSheet {
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

/** Tiers are ranges with all prices, or fields with a suffix, whose gaps the base prices fill. */
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
