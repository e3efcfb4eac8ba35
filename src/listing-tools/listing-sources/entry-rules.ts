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

/** What a model's name says about its price. */
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
