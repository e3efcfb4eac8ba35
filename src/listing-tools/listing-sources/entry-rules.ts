import type { ManifestInputModality } from "../../catalog/index.ts";
import { comparePriceTexts } from "./price-text.ts";
import {
  asText,
  decimalSize,
  defined,
  isDay,
  OUTPUT_TOKENS_MAX,
  parseDecimal,
  plainDecimal,
  type RawJson,
  RawNumber,
  type RawObject,
} from "../../kernel/index.ts";
import type { DraftCapacity, ImportNote, SkipCode, StageCode } from "./draft.ts";

/** Must equal the patterns of `upstream_id` and `id` in the manifest's schema. */
const UPSTREAM_ID = /^[a-zA-Z0-9][a-zA-Z0-9._/-]{0,127}(?::[a-z0-9][a-z0-9-]{0,31})?$/;
const MODEL_ID = /^[a-zA-Z0-9][a-zA-Z0-9._/-]{0,127}$/;
/** Suffixes under which other gateways sell variants of one model. */
const VARIANT = /:(?:free|thinking|extended|online|nitro|floor|exacto|beta)$/;

export type Unfit = readonly [code: SkipCode, message: string];

/** Why a manifest cannot contain this model id of a provider; undefined if it can. */
export function idProblem(upstreamId: string): Unfit | undefined {
  const flaw = idFlaw(upstreamId);
  return flaw === undefined ? undefined : ["id-not-expressible", flaw];
}

function idFlaw(upstreamId: string): string | undefined {
  if (upstreamId.startsWith("~")) return "names whatever model is newest, so its price can change";
  if (VARIANT.test(upstreamId)) return "is a variant of another listing, which ids cannot name";
  if (upstreamId.includes("@")) return "has an @, which ids cannot hold";
  return UPSTREAM_ID.test(upstreamId) ? undefined : "has characters that ids cannot hold";
}

export function isModelId(id: string): boolean {
  return MODEL_ID.test(id);
}

export function isUpstreamId(id: string): boolean {
  return UPSTREAM_ID.test(id);
}

const PREVIEW = /(?:^|[-_./])(?:preview|beta|alpha|exp|experimental)(?=$|[-_./\d])/i;
/** Models that search the web unasked, for a fee per search on top of the price of tokens. */
const SEARCHING = /(?:^|[-_./])(?:search|deep-research|compound|online|sonar)(?=$|[-_./\d])/i;

export function listNameReasons(upstreamId: string): StageCode[] {
  return [
    ...(PREVIEW.test(upstreamId) ? (["preview"] as const) : []),
    ...(SEARCHING.test(upstreamId) ? (["request-fee"] as const) : []),
  ];
}

/** Returns "claude-opus-4-6" for "claude-opus-4-6-20260205"; undefined for an undated name. */
export function undatedName(upstreamId: string): string | undefined {
  return /^(.+?)[-@](?:\d{8}|\d{4}-\d{2}-\d{2})(?:-v\d+)?$/.exec(upstreamId)?.[1];
}

export function isMovingName(upstreamId: string): boolean {
  return /[-_./]latest$/.test(upstreamId);
}

/** Models that give no chat answer although a source lists their output as text. */
const NO_CHAT =
  /embed|rerank|tts|whisper|transcri|speech|lyria|imagen|(?:^|[-/])veo|orpheus|prompt-guard|moderation|(?:^|[-/])asr|livetranslate|realtime|(?:^|[-/])ocr|-ocr$|(?:^|[-/])mt-|-mt-/i;

export function noChatProblem(upstreamId: string): Unfit | undefined {
  if (!NO_CHAT.test(upstreamId)) return undefined;
  return ["not-chat", "its name is that of another kind of model"];
}

/** An end ten or more years ahead is ignored: some lists write one for models without an end. */
export function judgeEnd(
  day: string | undefined,
  dated: string,
): { readonly gone: boolean; readonly day?: string } {
  if (day === undefined || Number(day.slice(0, 4)) >= Number(dated.slice(0, 4)) + 10) {
    return { gone: false };
  }
  return { gone: day <= dated, day };
}

/** An output bound not below the context is unknown; any other is cut at the gateway's bound. */
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

export const RETIRED: Unfit = ["retired", "its provider has ended it"];
export const NO_PRICE: Unfit = ["no-price", "no price is stated"];

type InputKind = Exclude<ManifestInputModality, "text">;

export function listInputs(accepts: Readonly<Record<InputKind, boolean>>): Set<InputKind> {
  const kinds = Object.keys(accepts) as InputKind[];
  return new Set(kinds.filter((kind) => accepts[kind]));
}

type Value = RawJson | undefined;

/** Reads a nested value. All functions `…At` treat a value of an unexpected type as absent. */
function valueAt(value: Value, path: readonly string[]): Value {
  return path.reduce((found, key) => objectAt(found)?.get(key), value);
}

export function objectAt(value: Value, ...path: readonly string[]): RawObject | undefined {
  const found = valueAt(value, path);
  return found instanceof Map ? (found as RawObject) : undefined;
}

export function listAt(value: Value, ...path: readonly string[]): readonly RawJson[] {
  const found = valueAt(value, path);
  return Array.isArray(found) ? (found as readonly RawJson[]) : [];
}

export function textAt(value: Value, ...path: readonly string[]): string | undefined {
  return asText(valueAt(value, path));
}

export function textsAt(value: Value, ...path: readonly string[]): string[] {
  return listAt(value, ...path).flatMap((each) => asText(each) ?? []);
}

export function flagAt(value: Value, key: string): boolean | undefined {
  const found = valueAt(value, [key]);
  return typeof found === "boolean" ? found : undefined;
}

/** The digits of a number, or of a text that is a number; undefined for any other value. */
export function numberTextAt(value: Value, ...path: readonly string[]): string | undefined {
  const found = valueAt(value, path);
  if (found instanceof RawNumber) return found.raw;
  const text = asText(found);
  return text !== undefined && parseDecimal(text) !== undefined ? text : undefined;
}

/** A whole number above 0, even as "32000.0", with at most 15 digits: a float holds it exactly. */
export function countAt(value: Value, ...path: readonly string[]): number | undefined {
  const raw = numberTextAt(value, ...path);
  const decimal = raw === undefined ? undefined : parseDecimal(raw);
  if (decimal === undefined || decimal.negative || decimal.digits === "") return undefined;
  const { whole, fraction } = decimalSize(decimal);
  return fraction > 0 || whole > 15 ? undefined : Number(plainDecimal(decimal, 0));
}

/** Reads a calendar day; "2026-05" means the first day of that month. */
export function dayAt(value: Value, key: string): string | undefined {
  const text = textAt(value, key);
  const day = text !== undefined && /^\d{4}-\d{2}$/.test(text) ? `${text}-01` : text;
  return day !== undefined && isDay(day) ? day : undefined;
}

/** `flags` maps each ability to its field. Abilities that the entry does not state are left out. */
export function abilitiesAt(
  entry: RawObject,
  flags: Readonly<Record<string, string>>,
): Record<string, boolean> {
  const stated = Object.entries(flags).flatMap(([ability, key]) => {
    const value = flagAt(entry, key);
    return value === undefined ? [] : [[ability, value] as const];
  });
  return Object.fromEntries(stated);
}

export function isPromptPrice(entry: RawObject, field: string, prompt: string): boolean {
  const [price, own] = [numberTextAt(entry, field), numberTextAt(entry, prompt)];
  return price !== undefined && own !== undefined && comparePriceTexts(price, own) === 0;
}

export function otherUnitsNote(model: string, units: readonly string[]): ImportNote[] {
  if (units.length === 0) return [];
  return [{ model, code: "other-unit", message: `not offered: ${units.join(", ")}` }];
}

export function toCapacity(
  requests: number | undefined,
  tokens: number | undefined,
): { readonly capacity?: DraftCapacity } {
  if (requests === undefined && tokens === undefined) return {};
  return { capacity: defined({ requestsPerMinute: requests, promptTokensPerMinute: tokens }) };
}

/** True for 0 and for an absent price. */
export function isNothing(raw: string | undefined): boolean {
  return raw === undefined || parseDecimal(raw)?.digits === "";
}
