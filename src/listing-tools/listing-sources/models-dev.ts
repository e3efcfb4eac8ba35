import type { RawJson, RawObject } from "../../kernel/index.ts";
import { type Draft, type ReaderInput, type Reading, skipped } from "./draft.ts";
import {
  NO_PRICE,
  RETIRED,
  abilitiesAt,
  toCapacity,
  countAt,
  dayAt,
  idProblem,
  isNothing,
  isPromptPrice,
  listAt,
  listInputs,
  noChatProblem,
  numberTextAt,
  objectAt,
  textAt,
  textsAt,
  type Unfit,
} from "./entry-rules.ts";
import { type RawSheet, type RawTier, toReading } from "./sheet-builder.ts";

/** Reads `api.json`: a map from provider to models, with prices in USD per million tokens. */
export function readModelsDev(document: RawJson, input: ReaderInput): Reading[] {
  const models = objectAt(document, input.provider, "models");
  return [...(models ?? [])].map(([key, value]): Reading => {
    const entry = objectAt(value);
    if (entry === undefined) return skipped(key, "not-a-model", "is not an object");
    return readEntry(key, entry);
  });
}

function readEntry(key: string, entry: RawObject): Reading {
  const cost = objectAt(entry, "cost");
  const unfit = whyUnfit(key, entry, cost) ?? idProblem(key);
  if (unfit !== undefined) return skipped(key, ...unfit);
  if (cost === undefined) return skipped(key, ...NO_PRICE);
  return toReading({
    model: key,
    upstreamId: key,
    sheet: readSheet(cost),
    tiers: readTiers(cost),
    places: 0,
    inputs: readInputs(entry, cost),
    abilities: readAbilities(entry),
    resolvesTo: [],
    stagedBecause: PREVIEW_STATUS.has(textAt(entry, "status") ?? "") ? ["preview"] : [],
    otherUnits: listOtherUnits(entry, cost),
    displayName: textAt(entry, "name"),
    contextLength: countAt(entry, "limit", "context"),
    outputTokens: countAt(entry, "limit", "output"),
    released: dayAt(entry, "release_date"),
    ...lowestCapacity(entry),
  });
}

const PREVIEW_STATUS: ReadonlySet<string> = new Set(["alpha", "beta"]);

function whyUnfit(key: string, entry: RawObject, cost: RawObject | undefined): Unfit | undefined {
  if (textAt(entry, "status") === "deprecated") return RETIRED;
  const outputs = textsAt(entry, "modalities", "output");
  const isStated = outputs.length > 0;
  if (isStated && !(outputs.length === 1 && outputs[0] === "text")) {
    return ["not-chat", `answers in ${outputs.join(", ")}`];
  }
  // models.dev lists text as the output of embedding and music models, too.
  const other = noChatProblem(key);
  if (other !== undefined) return other;
  const hasOutput = countAt(entry, "limit", "output") !== undefined;
  if (cost !== undefined && isNothing(numberTextAt(cost, "output")) && !hasOutput) {
    return ["not-chat", "has neither an output bound nor an output price"];
  }
  return textAt(entry, "provider", "shape") === "responses" || RESPONSES_ONLY.test(key)
    ? ["other-endpoint", "is not served by chat completions or messages"]
    : undefined;
}

/** OpenAI's models that only `/responses` serves, not chat. models.dev does not say which. */
const RESPONSES_ONLY = /^(?:gpt-[\d.]+-(?:pro|codex.*)|o\d-pro|o\d(?:-mini)?-deep-research)$/;

function readSheet(cost: RawObject): RawSheet {
  return {
    prompt: numberTextAt(cost, "input"),
    completion: numberTextAt(cost, "output"),
    // Only one provider's file has `cached_input`.
    cached_prompt: numberTextAt(cost, "cache_read") ?? numberTextAt(cost, "cached_input"),
    cache_write: numberTextAt(cost, "cache_write"),
    internal_reasoning: numberTextAt(cost, "reasoning"),
  };
}

/** Reads the tiers. Ignores `context_over_200k`, an imprecise copy of them for old readers. */
function readTiers(cost: RawObject): RawTier[] {
  return listAt(cost, "tiers").flatMap((each): RawTier[] => {
    const prices = objectAt(each);
    const bound = countAt(each, "tier", "size");
    if (prices === undefined || bound === undefined) return [];
    const type = textAt(each, "tier", "type") ?? "context";
    return type === "context" ? [{ abovePromptTokens: bound, sheet: readSheet(prices) }] : [];
  });
}

function readInputs(entry: RawObject, cost: RawObject): NonNullable<Draft["inputs"]> {
  const stated = new Set(textsAt(entry, "modalities", "input"));
  return listInputs({
    image: stated.has("image"),
    file: stated.has("pdf"),
    audio: stated.has("audio") && isPromptPrice(cost, "input_audio", "input"),
    video: stated.has("video"),
  });
}

function readAbilities(entry: RawObject): Draft["abilities"] {
  const efforts = listAt(entry, "reasoning_options")
    .filter((each) => textAt(each, "type") === "effort")
    .flatMap((each) => textsAt(each, "values"));
  return {
    ...abilitiesAt(entry, {
      tools: "tool_call",
      structured: "structured_output",
      reasoning: "reasoning",
      sampling: "temperature",
    }),
    ...(efforts.length > 0 && { reasoning: true, efforts: [...new Set(efforts)] }),
  };
}

function listOtherUnits(entry: RawObject, cost: RawObject): readonly string[] {
  const modes = objectAt(entry, "experimental", "modes");
  return [
    ...[...cost.keys()].filter((field) => /audio/.test(field)),
    ...[...(modes?.keys() ?? [])].map((mode) => `mode ${mode}`),
  ];
}

/** The limits of the lowest usage tier, because a new account has that tier. */
function lowestCapacity(entry: RawObject): Pick<Draft, "capacity"> {
  const tiers = listAt(entry, "rate_limits");
  const lowest = (...fields: readonly string[]): number | undefined => {
    const all = tiers.flatMap((tier) => fields.flatMap((field) => countAt(tier, field) ?? []));
    return all.length === 0 ? undefined : Math.min(...all);
  };
  return toCapacity(lowest("rpm"), lowest("input_tpm", "tpm"));
}
