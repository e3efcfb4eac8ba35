import {
  asObject,
  findMember,
  findPath,
  type Refusal,
  REFUSALS,
  type Span,
  textOf,
  withMember,
  withoutMember,
} from "../../../kernel/index.ts";
import { errorMetadata, hasError, messageWith } from "../failure/failures.ts";
import { type FinishReason, settledFinish } from "../neutral/chat-event.ts";
import { sseDataText } from "../sse/sse.ts";
import type { AnswerLabel, ChatAnswer, AnswerJson } from "../neutral/chat-answer.ts";
import type { Fields } from "../neutral/usage-report.ts";
import { findChoice } from "./usage.ts";

/** The member of a choice that has the answer, in a chunk or in a whole answer. */
export type Holder = "delta" | "message";

export interface ChunkLabel {
  readonly id: string;
  readonly createdSeconds: number;
  readonly modelId: string;
}

/** The start of a chunk that the gateway itself writes, up to `choices`. */
export function chunkHead(label: ChunkLabel): string {
  return (
    `{"id":${JSON.stringify(label.id)},"object":"chat.completion.chunk",` +
    `"created":${label.createdSeconds},"model":${JSON.stringify(label.modelId)},`
  );
}

export function withChoiceMember(text: string, key: string, json: string): string {
  const choice = findChoice(text);
  return choice === undefined ? text : withMember(text, choice, { key, json });
}

export function withoutChoiceMember(text: string, key: string): string {
  const choice = findChoice(text);
  return choice === undefined ? text : withoutMember(text, choice, key);
}

/**
 * Replaces a list of parts (Mistral) with their joined text, because official clients append text
 * to text. The thinking in the parts becomes `reasoning_content`.
 */
export function withPlainContent(text: string, holder: Holder, fields: Fields): string {
  const { content: parts } = fields;
  const isPlain = (part: unknown): boolean => PLAIN_PARTS.has(asObject(part)?.["type"]);
  if (!Array.isArray(parts) || !parts.every(isPlain)) return text;
  const { text: content, reasoning } = answerTexts(fields);
  const plain = withHeldMember(text, holder, "content", JSON.stringify(content));
  if (reasoning === "") return plain;
  return withHeldMember(plain, holder, "reasoning_content", JSON.stringify(reasoning));
}

/** Parts with text, and Mistral's references to the sources of a text, which are left out. */
const PLAIN_PARTS: ReadonlySet<unknown> = new Set(["text", "thinking", "reference"]);

export function withHeldMember(text: string, holder: Holder, key: string, json: string): string {
  const object = findHeld(text, holder);
  return object === undefined ? text : withMember(text, object, { key, json });
}

export function withoutHeldMember(text: string, holder: Holder, key: string): string {
  const object = findHeld(text, holder);
  return object === undefined ? text : withoutMember(text, object, key);
}

export function findHeld(text: string, holder: Holder): Span | undefined {
  const choice = findChoice(text);
  return choice && findMember(text, choice.start, holder);
}

/** Keeps only the first choice, because the service promises exactly one. */
export function withOneChoice(text: string, choices: unknown): string {
  if (!Array.isArray(choices) || choices.length < 2) return text;
  const array = findPath(text, "choices");
  const first = findChoice(text);
  if (array === undefined || first === undefined) return text;
  return `${text.slice(0, array.start)}[${text.slice(first.start, first.end)}]${text.slice(array.end)}`;
}

/** The chunk with usage and cost, for clients that sent `include_usage`. It has no choice. */
export function usageChunk(head: string, usage: string): string {
  return `${head}"choices":[],"usage":${usage}}`;
}

/** The chunk has a choice: clients that did not ask for usage read `choices[0]` of every chunk. */
export function lastChunk(head: string, finish: string | null, usage?: string): string {
  const choice = `{"index":0,"delta":{},"logprobs":null,"finish_reason":${JSON.stringify(finish)}}`;
  return `${head}"choices":[${choice}]${usage === undefined ? "" : `,"usage":${usage}`}}`;
}

/** True for a cost above 0. Earlier attempts can have a cost even if this one reported no usage. */
export function isSomeCost(costUsd: string): boolean {
  return /[1-9]/.test(costUsd);
}

/** No event may follow this event. */
export function errorChunkText(head: string, refusal: Refusal): string {
  const error = JSON.stringify({
    code: refusal.class,
    message: messageWith(refusal, OVERFLOW, OVERFLOW_SIGN),
    // The specification requires this `type` for every class of error.
    type: "gateway_error",
    metadata: { error_type: refusal.class },
  });
  const choice = `{"index":0,"delta":{"content":""},"finish_reason":"error"}`;
  return sseDataText(`${head}"choices":[${choice}],"error":${error}}`);
}

const SAID: ReadonlySet<string> = new Set(["content", "role"]);

/** True if a chunk has only text, so that similar chunks need no parsing. Usage must be parsed. */
export function isTextAlone({ value }: AnswerJson): boolean {
  const { choices, usage, x_groq: groq } = value;
  const isOne = Array.isArray(choices) && choices.length === 1;
  const choice = isOne ? asObject(choices[0]) : undefined;
  if (choice === undefined || !isSilent(usage) || groq !== undefined) return false;
  if (!isSilent(choice["finish_reason"]) || !isSilent(choice["usage"])) return false;
  const delta = asObject(choice["delta"]) ?? {};
  const isText = typeof delta["content"] === "string" && delta["content"] !== "";
  return isText && Object.keys(delta).every((key) => SAID.has(key) || isSilent(delta[key]));
}

export function textSpan(chunk: string): Span | undefined {
  const delta = findHeld(chunk, "delta");
  return delta && findMember(chunk, delta.start, "content");
}

export function isSilent(value: unknown): boolean {
  return value === undefined || value === null || value === "";
}

const DONE = "[DONE]";
const OPEN_OBJECT = 123;

/** Allows blanks around `[DONE]`. An event that begins with `{` is rejected without decoding it. */
export function isDone(data: Buffer): boolean {
  if (data[0] === OPEN_OBJECT || data.length > 64) return false;
  return data.toString("latin1").trim() === DONE;
}

const REASONS: Readonly<Record<string, FinishReason>> = {
  stop: "stop",
  tool_calls: "tool_calls",
  function_call: "tool_calls",
  length: "length",
  content_filter: "refusal",
  // Z.ai's word for refused content.
  sensitive: "refusal",
  model_context_window_exceeded: "length",
  // Mistral's word for an answer that reached the model's maximum length.
  model_length: "length",
  // Stop reasons of wire_b, which some gateways write in answers of wire_a.
  max_tokens: "length",
  refusal: "refusal",
  tool_use: "tool_calls",
};

const WORDS: Readonly<Record<FinishReason, string>> = {
  stop: "stop",
  stop_sequence: "stop",
  tool_calls: "tool_calls",
  length: "length",
  refusal: "content_filter",
};

const wireWords: ReadonlySet<string> = new Set([...Object.values(WORDS), "function_call"]);

/** Finish reasons that report a failure: OpenRouter's, DeepSeek's and Z.ai's. */
const FAILURES: ReadonlySet<string> = new Set([
  "error",
  "insufficient_system_resource",
  "network_error",
]);

/** Unknown words mean `stop`. Some providers write `MAX_TOKENS` or `content_filter: SAFETY`. */
export function toReason(word: string): FinishReason {
  const plain = /^\w*/.exec(word)?.[0].toLowerCase() ?? "";
  return Object.hasOwn(REASONS, plain) ? (REASONS[plain] ?? "stop") : "stop";
}

export function toWord(reason: FinishReason, usesFunctions: boolean): string {
  return usesFunctions && reason === "tool_calls" ? "function_call" : WORDS[reason];
}

/**
 * Strict clients accept no other word than the five of wire_a. Agents ask again and again if the
 * word names a call that the answer does not have, and run no call if the word is `stop`. But
 * OpenAI itself says `stop` if the client named the function to call.
 */
export function clientWord(
  word: string,
  hasCalls: boolean,
  { usesFunctions, namesTool }: Pick<AnswerLabel, "usesFunctions" | "namesTool">,
): string {
  const isWrong = hasCalls ? word === "stop" && !namesTool : isWrongWord(word, hasCalls);
  if (wireWords.has(word) && !isWrong) return word;
  return toWord(settledFinish(toReason(word), hasCalls), usesFunctions);
}

/** An answer with calls may lack the finish reason, because xAI omits it. */
export function isWrongWord(word: string, hasCalls: boolean): boolean {
  return !hasCalls && (word === "" || toReason(word) === "tool_calls");
}

/** True if the last call of an answer with this finish reason may be incomplete. */
export function isCutWord(word: string): boolean {
  return settledFinish(toReason(word), true) !== "tool_calls";
}

export function isFailureWord(word: unknown): boolean {
  return typeof word === "string" && FAILURES.has(word);
}

export function isErrorChunk(chunk: Fields, choice: Fields | undefined): boolean {
  // In `x_groq`, Groq reports why it stopped a stream early.
  if (hasError(chunk["error"]) || !!asObject(chunk["x_groq"])?.["error"]) return true;
  return choice !== undefined && (isFailureWord(choice["finish_reason"]) || !!choice["error"]);
}

export function containsCalls(message: Fields): boolean {
  const { tool_calls: calls, function_call: call } = message;
  return (Array.isArray(calls) && calls.length > 0) || asObject(call) !== undefined;
}

/** Reads `content`, which some servers send as parts, and the reasoning under any of its names. */
export function answerTexts(message: Fields): Pick<ChatAnswer, "text" | "reasoning"> {
  const content = message["content"];
  const parts = Array.isArray(content) ? content.map(asObject) : [];
  const texts = parts.map((part) => (part?.["type"] === "text" ? textOf(part["text"]) : ""));
  const reasoning =
    textOf(message["reasoning_content"]) ||
    textOf(message["reasoning"]) ||
    detailTexts(message["reasoning_details"]);
  return {
    text: textOf(content) + texts.join(""),
    reasoning: reasoning + parts.map(partReasoning).join(""),
  };
}

/** Reads the text of a thinking part. Mistral's thinking parts contain further parts. */
function partReasoning(part: Fields | undefined): string {
  return part?.["type"] === "thinking"
    ? textOf(part["thinking"]) + detailTexts(part["thinking"])
    : "";
}

function detailTexts(details: unknown): string {
  if (!Array.isArray(details)) return "";
  return details.map((detail) => textOf(asObject(detail)?.["text"])).join("");
}

export function errorBody(refusal: Refusal, requestId: string): string {
  const body = {
    error: {
      code: refusal.class,
      message: messageWith(refusal, OVERFLOW, OVERFLOW_SIGN),
      type: REFUSALS[refusal.class].wireAType,
      metadata: { error_type: refusal.class, ...errorMetadata(refusal) },
    },
    request_id: requestId,
  };
  return JSON.stringify(body);
}

const OVERFLOW_SIGN = "context_length_exceeded";
const OVERFLOW = `${OVERFLOW_SIGN}: the request is above the model's maximum context length`;
