import {
  contentText,
  isObject,
  wordSet,
  type JsonObject,
  pickObjects,
  pickStrings,
} from "./json.ts";
import { asObject, membersOf, textOf } from "../../kernel/index.ts";
import { createHash } from "node:crypto";

export interface SimTool {
  readonly name: string;
  readonly schema: JsonObject;
}

export type SimToolChoice =
  { readonly kind: "auto" | "none" | "any" } | { readonly kind: "tool"; readonly name: string };

/** A chat request in one format for both wires. */
export interface SimRequest {
  readonly model: string;
  readonly stream: boolean;
  /** True if a stream ends with the usage, as every stream on the messages wire does. */
  readonly includeUsage: boolean;
  readonly maxTokens: number | undefined;
  readonly stops: readonly string[];
  readonly tools: readonly SimTool[];
  readonly choice: SimToolChoice;
  readonly parallel: boolean;
  readonly userText: string;
  /** Results of tools that came after the model's last answer. */
  readonly toolResults: readonly string[];
  readonly media: readonly SimMedia[];
  /** The answer to a prompt that asks for facts; absent if the prompt asks for none. */
  readonly told?: string;
  /** JSON schema that the answer must match; absent if the client wants plain text. */
  readonly answerSchema?: JsonObject;
  readonly thinking: boolean;
  readonly promptTokens: number;
  readonly cacheMarkedTokens: number;
  /** Tokens of the parts with a one-hour cache mark. They are included in `cacheMarkedTokens`. */
  readonly hourMarkedTokens: number;
}

const CHARS_PER_TOKEN = 4;
const MEDIA_PART_TOKENS = 85;
const MEDIA_TYPES = wordSet("image image_url document file input_audio video_url");

export function estimateTokens(text: string): number {
  return Math.ceil(text.length / CHARS_PER_TOKEN);
}

/** Estimates the tokens of all texts in `value`, at any depth, and of each media part. */
export function estimatePromptTokens(value: unknown): number {
  if (isObject(value) && MEDIA_TYPES.has(textOf(value["type"]))) return MEDIA_PART_TOKENS;
  const inner = membersOf(value) ?? [];
  return inner.reduce(
    (sum, [, item]) => sum + estimatePromptTokens(item),
    estimateTokens(textOf(value)),
  );
}

/** Estimates the tokens of all parts with `cache_control`, or only of parts with this `ttl`. */
export function estimateMarkedTokens(value: unknown, ttl?: string): number {
  const { cache_control: mark, ...rest } = asObject(value) ?? {};
  if (isObject(mark)) {
    return ttl === undefined || mark["ttl"] === ttl ? estimatePromptTokens(rest) : 0;
  }
  const inner = membersOf(value) ?? [];
  return inner.reduce((sum, [, item]) => sum + estimateMarkedTokens(item, ttl), 0);
}

/** The last text of the user, even if a tool call and its result follow that text. */
export function findLastText(messages: readonly JsonObject[]): string {
  const texts = messages.map((each) =>
    each["role"] === "user" ? contentText(each["content"]) : "",
  );
  return texts.findLast((text) => text !== "") ?? "";
}

/** The text of the user's last message; empty if that message has no text. */
export function findUserText(messages: readonly JsonObject[]): string {
  const last = messages.findLast((message) => message["role"] === "user");
  return last === undefined ? "" : contentText(last["content"]);
}

const QUESTION = /What is the (code word|(?:number|word) of \p{L}+)\?/gu;
const FACT = /The (code word|(?:number|word) of \p{L}+) is ([^\s.][^.\n]{0,99})\./gu;

/** Answers the user's questions from facts in the prompt. A fact's last value there counts. */
export function toldIn(userText: string, prompt: unknown): string | undefined {
  const asked = [...userText.matchAll(QUESTION)].map(([, what = ""]) => what);
  if (asked.length === 0) return undefined;
  const facts = textsIn(prompt).flatMap((text) => [...text.matchAll(FACT)]);
  const known = new Map(facts.map(([, what = "", value = ""]) => [what, value]));
  const said = asked.map((what) => {
    const value = known.get(what);
    return value === undefined
      ? `The prompt does not name the ${what}.`
      : `The ${what} is ${value}.`;
  });
  return said.join(" ");
}

/** All texts in `value`, at any depth, in their order. */
export function textsIn(value: unknown): readonly string[] {
  return membersOf(value)?.flatMap(([, inner]) => textsIn(inner)) ?? pickStrings([value]);
}

export interface SimMedia {
  readonly kind: MediaKind;
  /** Eight hexadecimal digits, computed from the content alone. */
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

export function collectMedia(messages: readonly JsonObject[]): readonly SimMedia[] {
  return messages.flatMap(({ content }) => mediaIn(content));
}

function mediaIn(content: unknown): readonly SimMedia[] {
  return pickObjects(content).flatMap((part) => {
    const type = textOf(part["type"]);
    if (type === "tool_result") return mediaIn(part["content"]);
    const kind = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined;
    return kind === undefined ? [] : [{ kind, digest: digestMedia(part[type] ?? part["source"]) }];
  });
}

/* Hashes only the data of a data URL, so that a picture has the same digest on both wires. */
function digestMedia(held: unknown): string {
  const fields = isObject(held) ? held : { url: held };
  const [content] = pickStrings([fields["url"], fields["data"], fields["file_data"]]);
  const data = content?.replace(/^data:[^,]*,/, "") ?? JSON.stringify(held ?? null);
  return createHash("sha256").update(data).digest("hex").slice(0, DIGEST_CHARS);
}
