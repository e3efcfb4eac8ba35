import {
  decimalSize,
  isDay,
  parseDecimal,
  plainDecimal,
  type RawJson,
  RawNumber,
  type RawObject,
} from "../../kernel/index.ts";
import type { ImportNote, SkipCode, StageCode } from "./draft.ts";

/** Ids that a manifest takes as `upstream_id` and as `id`; its schema has the same. */
const UPSTREAM_ID = /^[a-zA-Z0-9][a-zA-Z0-9._/-]{0,127}(?::[a-z0-9][a-z0-9-]{0,31})?$/;
const MODEL_ID = /^[a-zA-Z0-9][a-zA-Z0-9._/-]{0,127}$/;
/** Variants of one model that other gateways sell beside it. */
const VARIANT = /:(?:free|thinking|extended|online|nitro|floor|exacto|beta)$/;

/** Undefined when a manifest can hold this provider's id. */
export function idFlaw(upstreamId: string): string | undefined {
  if (upstreamId.startsWith("~")) return "names whatever model is newest, so its price can change";
  if (VARIANT.test(upstreamId)) return "is a variant of another listing, which ids cannot name";
  if (upstreamId.includes("@")) return "has an @, which ids cannot hold";
  return UPSTREAM_ID.test(upstreamId) ? undefined : "has characters that ids cannot hold";
}

export function isModelId(id: string): boolean {
  return MODEL_ID.test(id);
}

const PREVIEW = /(?:^|[-_./])(?:preview|beta|alpha|exp|experimental)(?=$|[-_./\d])/i;
/** Models that search on their own, each time for a fee beside their tokens. */
const SEARCHING = /(?:^|[-_./])(?:search|deep-research|compound|online|sonar)(?=$|[-_./\d])/i;

/** The reasons to stage a model that its name gives. */
export function reasonsOfName(upstreamId: string): StageCode[] {
  return [
    ...(PREVIEW.test(upstreamId) ? (["preview"] as const) : []),
    ...(SEARCHING.test(upstreamId) ? (["request-fee"] as const) : []),
  ];
}

/** "claude-opus-4-6" of "claude-opus-4-6-20260205": the same model under its date. */
export function undatedName(upstreamId: string): string | undefined {
  return /^(.+?)[-@](?:\d{8}|\d{4}-\d{2}-\d{2})(?:-v\d+)?$/.exec(upstreamId)?.[1];
}

/** A name that moves from model to model. */
export function isMovingName(upstreamId: string): boolean {
  return /[-_./]latest$/.test(upstreamId);
}

/** Names of models that give no chat answer although a source lists their output as text. */
const NO_CHAT =
  /embed|rerank|tts|whisper|transcri|speech|lyria|imagen|(?:^|[-/])veo|orpheus|prompt-guard|moderation|(?:^|[-/])asr|livetranslate|realtime|(?:^|[-/])ocr|-ocr$|(?:^|[-/])mt-|-mt-/i;

export function isNoChatName(upstreamId: string): boolean {
  return NO_CHAT.test(upstreamId);
}

/** Ten years ahead is not a date: some lists write one to say that there is none. */
export function endOf(
  day: string | undefined,
  dated: string,
): { readonly gone: boolean; readonly day?: string } {
  if (day === undefined || Number(day.slice(0, 4)) >= Number(dated.slice(0, 4)) + 10) {
    return { gone: false };
  }
  return { gone: day <= dated, day };
}

/**
 * The output bound of a listing: a bound as large as the input's is a copy of it, so it is not
 * known. The gateway takes 32,768 at most, so nothing above is worth saying.
 */
export function outputBound(
  model: string,
  output: number | undefined,
  context: number | undefined,
): { readonly maxOutputTokens?: number; readonly notes: readonly ImportNote[] } {
  if (output === undefined) return { notes: [] };
  if (context !== undefined && output >= context) {
    const message = `the output bound ${output} is that of the input: it is not known`;
    return { notes: [{ model, code: "output-bound-unknown", message }] };
  }
  return { maxOutputTokens: Math.min(output, OUTPUT_TOKENS_MAX), notes: [] };
}

const OUTPUT_TOKENS_MAX = 32_768;

export const RETIRED: [SkipCode, string] = ["retired", "its provider has ended it"];

/** Readers of fields of a source; what has another type than expected counts as not there. */

export function objectOf(value: RawJson | undefined): RawObject | undefined {
  return value instanceof Map ? (value as RawObject) : undefined;
}

export function objectAt(object: RawObject, key: string): RawObject | undefined {
  return objectOf(object.get(key));
}

export function listAt(object: RawObject, key: string): readonly RawJson[] {
  const value = object.get(key);
  return Array.isArray(value) ? (value as readonly RawJson[]) : [];
}

export function textAt(object: RawObject, key: string): string | undefined {
  const value = object.get(key);
  return typeof value === "string" ? value : undefined;
}

export function textsAt(object: RawObject, key: string): string[] {
  return listAt(object, key).filter((each) => typeof each === "string");
}

export function flagAt(object: RawObject, key: string): boolean | undefined {
  const value = object.get(key);
  return typeof value === "boolean" ? value : undefined;
}

/** The number as it is written: a number, or a text that is one. */
export function numberTextAt(object: RawObject, key: string): string | undefined {
  return numberTextOf(object.get(key));
}

export function numberTextOf(value: RawJson | undefined): string | undefined {
  if (value instanceof RawNumber) return value.raw;
  return typeof value === "string" && parseDecimal(value) !== undefined ? value : undefined;
}

/** A whole number above 0 ("32000.0" too) that every reader of JSON carries exactly. */
export function countAt(object: RawObject, key: string): number | undefined {
  return countOf(object.get(key));
}

export function countOf(value: RawJson | undefined): number | undefined {
  const raw = numberTextOf(value);
  const decimal = raw === undefined ? undefined : parseDecimal(raw);
  if (decimal === undefined || decimal.negative || decimal.digits === "") return undefined;
  const { whole, fraction } = decimalSize(decimal);
  return fraction > 0 || whole > 15 ? undefined : Number(plainDecimal(decimal, 0));
}

/** A calendar day; "2026-05" is its first. */
export function dayAt(object: RawObject, key: string): string | undefined {
  const text = textAt(object, key);
  const day = text !== undefined && /^\d{4}-\d{2}$/.test(text) ? `${text}-01` : text;
  return day !== undefined && isDay(day) ? day : undefined;
}

/** True for 0 and for a price that is not there. */
export function isNothing(raw: string | undefined): boolean {
  return raw === undefined || parseDecimal(raw)?.digits === "";
}
