import { createHash } from "node:crypto";

import { isObject, type JsonObject, objectsOf, textOf, wordSet } from "./json.ts";

export interface SimTool {
  readonly name: string;
  readonly schema: JsonObject;
}

export type SimToolChoice =
  { readonly kind: "auto" | "none" | "any" } | { readonly kind: "tool"; readonly name: string };

/** What a request of either wire asks for, in one form. */
export interface SimRequest extends CodeWord {
  readonly model: string;
  readonly stream: boolean;
  /** Only one of the wires lets a client choose; the other always reports usage. */
  readonly includeUsage: boolean;
  readonly maxTokens: number | undefined;
  readonly stops: readonly string[];
  readonly tools: readonly SimTool[];
  readonly choice: SimToolChoice;
  readonly parallel: boolean;
  /** What the user said last. */
  readonly userText: string;
  /** Tool results since the last answer. */
  readonly toolResults: readonly string[];
  /** Of the whole prompt. */
  readonly media: readonly SimMedia[];
  /** The JSON schema that the answer has to fit; absent when text is wanted. */
  readonly answerSchema?: JsonObject;
  /** Are reasoning blocks asked for? */
  readonly thinking: boolean;
  readonly promptTokens: number;
  /** Tokens of the parts that are marked for the prompt cache. */
  readonly cacheMarkedTokens: number;
  /** Those of them that are marked for an hour. */
  readonly hourMarkedTokens: number;
}

/** What a request adds when its format has a schema. */
export function answerSchemaOf(schema: unknown): Pick<SimRequest, "answerSchema"> {
  return isObject(schema) ? { answerSchema: schema } : {};
}

const CHARS_PER_TOKEN = 4;
const MEDIA_PART_TOKENS = 85;
const MEDIA_TYPES = wordSet("image image_url document file input_audio video_url");

/** One token for four characters, and at least one for any text. */
export function tokensOf(text: string): number {
  return Math.ceil(text.length / CHARS_PER_TOKEN);
}

/** Tokens of everything under `value`; a media part counts a fixed amount. */
export function promptTokensOf(value: unknown): number {
  if (typeof value === "string") return tokensOf(value);
  if (Array.isArray(value))
    return value.reduce<number>((sum, item) => sum + promptTokensOf(item), 0);
  if (!isObject(value)) return 0;
  if (typeof value["type"] === "string" && MEDIA_TYPES.has(value["type"])) return MEDIA_PART_TOKENS;
  return Object.values(value).reduce<number>((sum, item) => sum + promptTokensOf(item), 0);
}

/** Tokens of every part under `value` that carries `cache_control`, of this time if one is given. */
export function cacheMarkedTokensOf(value: unknown, ttl?: string): number {
  if (Array.isArray(value)) {
    return value.reduce<number>((sum, item) => sum + cacheMarkedTokensOf(item, ttl), 0);
  }
  if (!isObject(value)) return 0;
  const { cache_control: mark, ...rest } = value;
  if (isObject(mark)) {
    return ttl === undefined || mark["ttl"] === ttl ? promptTokensOf(rest) : 0;
  }
  return Object.values(rest).reduce<number>((sum, item) => sum + cacheMarkedTokensOf(item, ttl), 0);
}

/** A part of a prompt that is not text. */
interface SimMedia {
  readonly kind: MediaKind;
  /** Eight hexadecimal digits that depend on nothing but its content. */
  readonly digest: string;
}

type MediaKind = "image" | "file" | "audio" | "video";

const KINDS: Readonly<Record<string, MediaKind>> = {
  image: "image",
  image_url: "image",
  document: "file",
  file: "file",
  input_audio: "audio",
  video_url: "video",
};
const DIGEST_CHARS = 8;

/** The media parts of all messages of either wire, those inside tool results included. */
export function mediaOf(messages: readonly JsonObject[]): readonly SimMedia[] {
  return messages.flatMap(({ content }) => mediaIn(content));
}

function mediaIn(content: unknown): readonly SimMedia[] {
  return objectsOf(content).flatMap((part) => {
    const type = textOf(part["type"]);
    if (type === "tool_result") return mediaIn(part["content"]);
    const kind = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined;
    return kind === undefined ? [] : [{ kind, digest: digestOf(part[type] ?? part["source"]) }];
  });
}

/* The same picture has one digest on both wires: a data URL counts as the data in it. */
function digestOf(held: unknown): string {
  const fields = isObject(held) ? held : { url: held };
  const content = [fields["url"], fields["data"], fields["file_data"]].find(isText);
  const data = content?.replace(/^data:[^,]*,/, "") ?? JSON.stringify(held ?? null);
  return createHash("sha256").update(data).digest("hex").slice(0, DIGEST_CHARS);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

const QUESTION = "What is the code word?";
const FACT = /The code word is ([^\s.][^.\n]{0,99})\./g;

/** The code word of a prompt: absent when it is not asked for, null when it is not known. */
interface CodeWord {
  readonly codeWord?: string | null;
}

/** What a prompt that asks for the code word says of it; where it says several, the last one. */
export function codeWordOf(userText: string, prompt: unknown): CodeWord {
  if (!userText.includes(QUESTION)) return {};
  const facts = textsIn(prompt).flatMap((text) => [...text.matchAll(FACT)]);
  return { codeWord: facts.at(-1)?.[1] ?? null };
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  const inner = Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [];
  return inner.flatMap(textsIn);
}
