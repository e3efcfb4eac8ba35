import type { RawJson, RawObject } from "../../kernel/index.ts";
import { type Draft, type ReaderInput, type Reading, skipped } from "./draft.ts";
import {
  NO_PRICE,
  RETIRED,
  countAt,
  dayAt,
  judgeEnd,
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
import { type RawSheet, type RawTier, sheetOver, toReading } from "./sheet-builder.ts";

/** As `input.provider`: selects all entries. An author's name selects only that author's. */
export const EVERY_AUTHOR = "*";

/** Reads the answer of `GET /api/v1/models`: `data[]`, with prices as texts in USD per token. */
export function readOpenRouter(document: RawJson, input: ReaderInput): Reading[] {
  return listAt(document, "data").flatMap((each, at): Reading[] => {
    const entry = objectAt(each);
    const id = textAt(each, "id");
    if (entry === undefined || id === undefined) {
      return [skipped(`data[${at}]`, "not-a-model", "has no id")];
    }
    const author = id.split("/")[0] ?? "";
    const isWanted = input.provider === EVERY_AUTHOR || author === input.provider;
    return isWanted ? [readEntry(id, entry, input)] : [];
  });
}

function readEntry(id: string, entry: RawObject, input: ReaderInput): Reading {
  const unfit = whyUnfit(id, entry, input);
  if (unfit !== undefined) return skipped(id, ...unfit);
  const pricing = objectAt(entry, "pricing");
  if (pricing === undefined) return skipped(id, ...NO_PRICE);
  const sheet = readSheet(pricing);
  return toReading({
    model: id,
    upstreamId: id,
    sheet,
    tiers: readTiers(pricing, sheet),
    places: 6,
    inputs: readInputs(entry, pricing),
    abilities: readAbilities(entry),
    resolvesTo: resolvesTo(id, entry),
    stagedBecause: isNothing(numberTextAt(pricing, "request")) ? [] : ["request-fee"],
    otherUnits: [...pricing.keys()].filter((key) => OTHER_UNITS.has(key)),
    displayName: textAt(entry, "name")?.replace(/^[^:]{1,40}: /, ""),
    contextLength: countAt(entry, "context_length"),
    outputTokens: countAt(entry, "top_provider", "max_completion_tokens"),
    released: createdDay(entry),
    deprecationDate: judgeEnd(dayAt(entry, "expiration_date"), input.dated).day,
  });
}

const OTHER_UNITS: ReadonlySet<string> = new Set([
  "audio",
  "input_audio_cache",
  "image_output",
  "audio_output",
  "web_search",
  "request",
]);

function whyUnfit(id: string, entry: RawObject, input: ReaderInput): Unfit | undefined {
  if (id.startsWith("~") || entry.has("alias_target")) {
    const slug = textAt(entry, "alias_target", "slug");
    return ["alias", `names ${slug ?? "another model"}, and another one later`];
  }
  const unnameable = idProblem(id);
  if (unnameable !== undefined) return unnameable;
  const outputs = textsAt(entry, "architecture", "output_modalities");
  if (!(outputs.length === 1 && outputs[0] === "text")) {
    return ["not-chat", `answers in ${outputs.join(", ") || "nothing that is stated"}`];
  }
  return judgeEnd(dayAt(entry, "expiration_date"), input.dated).gone ? RETIRED : undefined;
}

function readSheet(pricing: RawObject): RawSheet {
  return {
    prompt: numberTextAt(pricing, "prompt"),
    completion: numberTextAt(pricing, "completion"),
    cached_prompt: numberTextAt(pricing, "input_cache_read"),
    cache_write: numberTextAt(pricing, "input_cache_write"),
    cache_write_1h: numberTextAt(pricing, "input_cache_write_1h"),
    internal_reasoning: numberTextAt(pricing, "internal_reasoning"),
  };
}

/** Reads the price tiers. A price that an override leaves out is the base price. */
function readTiers(pricing: RawObject, base: RawSheet): RawTier[] {
  return listAt(pricing, "overrides").flatMap((each): RawTier[] => {
    const override = objectAt(each);
    const bound = countAt(each, "min_prompt_tokens");
    if (override === undefined || bound === undefined) return [];
    return [{ abovePromptTokens: bound, sheet: sheetOver(base, readSheet(override)) }];
  });
}

function readInputs(entry: RawObject, pricing: RawObject): NonNullable<Draft["inputs"]> {
  const stated = new Set(textsAt(entry, "architecture", "input_modalities"));
  const same = (field: string): boolean => isPromptPrice(pricing, field, "prompt");
  const image = numberTextAt(pricing, "image");
  return listInputs({
    image: stated.has("image") && (image === undefined || same("image")),
    file: stated.has("file"),
    audio: stated.has("audio") && same("audio"),
    video: stated.has("video"),
  });
}

function readAbilities(entry: RawObject): Draft["abilities"] {
  const parameters = new Set(textsAt(entry, "supported_parameters"));
  if (parameters.size === 0) return {};
  const efforts = textsAt(entry, "reasoning", "supported_efforts");
  return {
    tools: parameters.has("tools"),
    structured: parameters.has("structured_outputs") || parameters.has("response_format"),
    reasoning: parameters.has("reasoning"),
    sampling: parameters.has("temperature"),
    ...(efforts.length > 0 && parameters.has("reasoning_effort") ? { efforts } : {}),
  };
}

function createdDay(entry: RawObject): string | undefined {
  const seconds = countAt(entry, "created");
  if (seconds === undefined || seconds > 4_102_444_800) return undefined;
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

/** The canonical name, unless it is `id` with a date, which the gateway accepts anyway. */
function resolvesTo(id: string, entry: RawObject): string[] {
  const slug = textAt(entry, "canonical_slug");
  if (slug === undefined || slug === id || idProblem(slug) !== undefined) return [];
  return /^-\d{8}$/.test(slug.slice(id.length)) && slug.startsWith(id) ? [] : [slug];
}
