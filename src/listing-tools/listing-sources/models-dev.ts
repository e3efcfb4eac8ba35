import type { RawJson, RawObject } from "../../kernel/index.ts";
import {
  type Draft,
  type DraftCapacity,
  type ReaderInput,
  type Reading,
  type SkipCode,
  skipped,
} from "./draft.ts";
import {
  countAt,
  dayAt,
  flagAt,
  idFlaw,
  isNoChatName,
  isNothing,
  listAt,
  numberTextAt,
  objectAt,
  objectOf,
  outputBound,
  reasonsOfName,
  RETIRED,
  textAt,
  textsAt,
} from "./entry-rules.ts";
import { comparePriceTexts } from "./price-text.ts";
import { type RawSheet, type RawTier, readPrices } from "./sheet-builder.ts";

/** Reads `api.json`: provider to models, prices in USD per million tokens. */
export function readModelsDev(document: RawJson, input: ReaderInput): Reading[] {
  const provider = objectOf(objectOf(document)?.get(input.provider));
  const models = provider === undefined ? undefined : objectAt(provider, "models");
  return [...(models ?? [])].map(([key, value]): Reading => {
    const entry = objectOf(value);
    if (entry === undefined) return skipped(key, "not-a-model", "is not an object");
    return readEntry(key, entry);
  });
}

function readEntry(key: string, entry: RawObject): Reading {
  const cost = objectAt(entry, "cost");
  const unfit = whyUnfit(key, entry, cost);
  if (unfit !== undefined) return skipped(key, ...unfit);
  const flaw = idFlaw(key);
  if (flaw !== undefined) return skipped(key, "id-not-expressible", flaw);
  if (cost === undefined) return skipped(key, "no-price", "no price is stated");
  const priced = readPrices({ model: key, sheet: sheetOf(cost), tiers: tiersOf(cost), places: 0 });
  if (!priced.ok) return skipped(key, priced.code, priced.message);
  const limit = objectAt(entry, "limit");
  const context = limit === undefined ? undefined : countAt(limit, "context");
  const output = limit === undefined ? undefined : countAt(limit, "output");
  const bound = outputBound(key, output, context);
  const displayName = textAt(entry, "name");
  const released = dayAt(entry, "release_date");
  return {
    kind: "draft",
    draft: {
      name: key,
      upstreamId: key,
      prices: priced.prices,
      changes: [],
      inputs: inputsOf(entry, cost),
      abilities: abilitiesOf(entry),
      resolvesTo: [],
      stagedBecause: [
        ...reasonsOfName(key),
        ...(isPreview(key, entry) ? (["preview"] as const) : []),
      ],
      notes: [...priced.notes, ...bound.notes, ...otherUnits(key, entry, cost)],
      ...(displayName === undefined ? {} : { displayName }),
      ...(context === undefined ? {} : { contextLength: context }),
      ...(bound.maxOutputTokens === undefined ? {} : { maxOutputTokens: bound.maxOutputTokens }),
      ...(released === undefined ? {} : { released }),
      ...capacityOf(entry),
    },
  };
}

function whyUnfit(
  key: string,
  entry: RawObject,
  cost: RawObject | undefined,
): [SkipCode, string] | undefined {
  if (textAt(entry, "status") === "deprecated") return RETIRED;
  const modalities = objectAt(entry, "modalities");
  const outputs = modalities === undefined ? [] : textsAt(modalities, "output");
  const isStated = outputs.length > 0;
  if (isStated && !(outputs.length === 1 && outputs[0] === "text")) {
    return ["not-chat", `answers in ${outputs.join(", ")}`];
  }
  // Embeddings and music are said to answer in text.
  if (isNoChatName(key)) return ["not-chat", "its name is that of another kind of model"];
  const limit = objectAt(entry, "limit");
  const hasOutput = limit !== undefined && countAt(limit, "output") !== undefined;
  if (cost !== undefined && isNothing(numberTextAt(cost, "output")) && !hasOutput) {
    return ["not-chat", "has neither an output bound nor an output price"];
  }
  const provider = objectAt(entry, "provider");
  const shape = provider === undefined ? undefined : textAt(provider, "shape");
  return shape === "responses" || RESPONSES_ONLY.test(key)
    ? ["other-endpoint", "is not served by chat completions or messages"]
    : undefined;
}

/** Models of OpenAI that only `/responses` serves; this source does not say so. */
const RESPONSES_ONLY = /^(?:gpt-[\d.]+-(?:pro|codex.*)|o\d-pro|o\d(?:-mini)?-deep-research)$/;

function sheetOf(cost: RawObject): RawSheet {
  return {
    prompt: numberTextAt(cost, "input"),
    completion: numberTextAt(cost, "output"),
    // The name of one provider's file that the others do not use.
    cached_prompt: numberTextAt(cost, "cache_read") ?? numberTextAt(cost, "cached_input"),
    cache_write: numberTextAt(cost, "cache_write"),
    internal_reasoning: numberTextAt(cost, "reasoning"),
  };
}

/** `context_over_200k` is not read: a copy for old readers, of other bounds too. */
function tiersOf(cost: RawObject): RawTier[] {
  return listAt(cost, "tiers").flatMap((each): RawTier[] => {
    const prices = objectOf(each);
    const tier = prices === undefined ? undefined : objectAt(prices, "tier");
    const bound = tier === undefined ? undefined : countAt(tier, "size");
    if (prices === undefined || tier === undefined || bound === undefined) return [];
    const type = textAt(tier, "type") ?? "context";
    return type === "context" ? [{ abovePromptTokens: bound, sheet: sheetOf(prices) }] : [];
  });
}

function inputsOf(entry: RawObject, cost: RawObject): NonNullable<Draft["inputs"]> {
  const modalities = objectAt(entry, "modalities");
  const stated = new Set(modalities === undefined ? [] : textsAt(modalities, "input"));
  const prompt = numberTextAt(cost, "input");
  const audio = numberTextAt(cost, "input_audio");
  const audioIsText =
    audio !== undefined && prompt !== undefined && comparePriceTexts(audio, prompt) === 0;
  return new Set([
    ...(stated.has("image") ? (["image"] as const) : []),
    ...(stated.has("pdf") ? (["file"] as const) : []),
    ...(stated.has("audio") && audioIsText ? (["audio"] as const) : []),
    ...(stated.has("video") ? (["video"] as const) : []),
  ]);
}

function abilitiesOf(entry: RawObject): Draft["abilities"] {
  const stated = (name: string, field: string): Record<string, boolean> => {
    const value = flagAt(entry, field);
    return value === undefined ? {} : { [name]: value };
  };
  const efforts = listAt(entry, "reasoning_options")
    .map(objectOf)
    .filter((each) => each !== undefined && textAt(each, "type") === "effort")
    .flatMap((each) => (each === undefined ? [] : textsAt(each, "values")));
  return {
    ...stated("tools", "tool_call"),
    ...stated("structured", "structured_output"),
    ...(efforts.length > 0 ? { reasoning: true } : stated("reasoning", "reasoning")),
    ...stated("sampling", "temperature"),
    ...(efforts.length > 0 ? { efforts: [...new Set(efforts)] } : {}),
  };
}

function isPreview(key: string, entry: RawObject): boolean {
  const status = textAt(entry, "status");
  return (status === "beta" || status === "alpha") && !reasonsOfName(key).includes("preview");
}

function otherUnits(key: string, entry: RawObject, cost: RawObject): Draft["notes"] {
  const modes = objectAt(entry, "experimental")?.get("modes");
  const units = [
    ...[...cost.keys()].filter((field) => /audio/.test(field)),
    ...[...(objectOf(modes)?.keys() ?? [])].map((mode) => `mode ${mode}`),
  ];
  return units.length === 0
    ? []
    : [{ model: key, code: "other-unit", message: `not offered: ${units.join(", ")}` }];
}

/** The lowest tier: what a new account has. */
function capacityOf(entry: RawObject): { readonly capacity?: DraftCapacity } {
  const tiers = listAt(entry, "rate_limits").flatMap((each) => objectOf(each) ?? []);
  const lowest = (...fields: readonly string[]): number | undefined => {
    const all = tiers.flatMap((tier) => fields.flatMap((field) => countAt(tier, field) ?? []));
    return all.length === 0 ? undefined : Math.min(...all);
  };
  const requests = lowest("rpm");
  const tokens = lowest("input_tpm", "tpm");
  if (requests === undefined && tokens === undefined) return {};
  return {
    capacity: {
      ...(requests === undefined ? {} : { requestsPerMinute: requests }),
      ...(tokens === undefined ? {} : { promptTokensPerMinute: tokens }),
    },
  };
}
