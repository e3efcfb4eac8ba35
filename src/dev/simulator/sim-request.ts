import { contentText, isObject, wordSet, type JsonObject } from "./json.ts";
import type { SimMedia } from "./sim-media.ts";
import type { Told } from "./told-facts.ts";

export interface SimTool {
  readonly name: string;
  readonly schema: JsonObject;
}

export type SimToolChoice =
  { readonly kind: "auto" | "none" | "any" } | { readonly kind: "tool"; readonly name: string };

/** A request of either wire, in one form. */
export interface SimRequest extends Told {
  readonly model: string;
  readonly stream: boolean;
  /** Only one of the wires lets a client choose; the other always reports usage. */
  readonly includeUsage: boolean;
  readonly maxTokens: number | undefined;
  readonly stops: readonly string[];
  readonly tools: readonly SimTool[];
  readonly choice: SimToolChoice;
  readonly parallel: boolean;
  /** The user's last text. */
  readonly userText: string;
  /** Tool results since the last answer. */
  readonly toolResults: readonly string[];
  /** The media of the whole prompt. */
  readonly media: readonly SimMedia[];
  /** The JSON schema that the answer has to fit; absent when text is wanted. */
  readonly answerSchema?: JsonObject;
  readonly thinking: boolean;
  readonly promptTokens: number;
  /** Tokens of the parts that are marked for the prompt cache. */
  readonly cacheMarkedTokens: number;
  /** The marked tokens that are kept for an hour. */
  readonly hourMarkedTokens: number;
}

/** The part of a request that is there when its format has a schema. */
export function pickAnswerSchema(schema: unknown): Pick<SimRequest, "answerSchema"> {
  return isObject(schema) ? { answerSchema: schema } : {};
}

const CHARS_PER_TOKEN = 4;
const MEDIA_PART_TOKENS = 85;
const MEDIA_TYPES = wordSet("image image_url document file input_audio video_url");

/** One token for four characters, and at least one for any text. */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / CHARS_PER_TOKEN);
}

/** Tokens of everything under `value`; a media part counts a fixed amount. */
export function estimatePromptTokens(value: unknown): number {
  if (typeof value === "string") return estimateTokens(value);
  if (Array.isArray(value))
    return value.reduce<number>((sum, item) => sum + estimatePromptTokens(item), 0);
  if (!isObject(value)) return 0;
  if (typeof value["type"] === "string" && MEDIA_TYPES.has(value["type"])) return MEDIA_PART_TOKENS;
  return Object.values(value).reduce<number>((sum, item) => sum + estimatePromptTokens(item), 0);
}

/** Tokens of every part under `value` that carries `cache_control`, of this time if one is given. */
export function estimateMarkedTokens(value: unknown, ttl?: string): number {
  if (Array.isArray(value)) {
    return value.reduce<number>((sum, item) => sum + estimateMarkedTokens(item, ttl), 0);
  }
  if (!isObject(value)) return 0;
  const { cache_control: mark, ...rest } = value;
  if (isObject(mark)) {
    return ttl === undefined || mark["ttl"] === ttl ? estimatePromptTokens(rest) : 0;
  }
  return Object.values(rest).reduce<number>(
    (sum, item) => sum + estimateMarkedTokens(item, ttl),
    0,
  );
}

/** The user's last text, also before a call and its result. */
export function findLastText(messages: readonly JsonObject[]): string {
  const texts = messages.map((each) =>
    each["role"] === "user" ? contentText(each["content"]) : "",
  );
  return texts.findLast((text) => text !== "") ?? "";
}

/** The text of the user's last message; empty if that has none. */
export function findUserText(messages: readonly JsonObject[]): string {
  const last = messages.findLast((message) => message["role"] === "user");
  return last === undefined ? "" : contentText(last["content"]);
}
