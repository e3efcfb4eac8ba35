import { createHash } from "node:crypto";

import type { Deployment } from "../../../catalog/index.ts";
import {
  ABSENT,
  type JsonDocument,
  type JsonNode,
  type JsonText,
  NUMBER_KIND,
  textToken,
  tokenText,
} from "../../../kernel/index.ts";
import { word } from "../fields/chat-vocabulary.ts";
import { isEmptyArray } from "../fields/check-shape.ts";

/** A chat request in terms that both wires share. A `JsonText` is a JSON token, not decoded. */
export interface ChatCall {
  readonly system: readonly JsonText[];
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
  readonly toolChoice: ToolChoice | undefined;
  /** False if the client wants at most one tool call in an answer. */
  readonly parallelTools: boolean;
  readonly stops: readonly JsonText[];
  /** `temperature` and `topP` are numbers as the client wrote them. */
  readonly temperature: JsonText | undefined;
  readonly topP: JsonText | undefined;
  readonly effort: Effort | undefined;
  readonly userId: JsonText | undefined;
}

const PORTABLE_ID = /^"[A-Za-z0-9_-]{1,64}"$/;

/** Undefined for an empty id. A long or odd id, which some servers refuse, becomes its SHA-256. */
export function portableUserId(id: JsonText | undefined): JsonText | undefined {
  if (id === undefined || id === '""') return undefined;
  if (PORTABLE_ID.test(id)) return id;
  return textToken(createHash("sha256").update(tokenText(id)).digest("hex"));
}

export type Message =
  | { readonly role: "system"; readonly text: JsonText }
  /** Tool results precede the user's own texts. */
  | {
      readonly role: "user";
      readonly results: readonly ToolResult[];
      readonly texts: readonly JsonText[];
    }
  | AssistantMessage;

export interface AssistantMessage {
  readonly role: "assistant";
  readonly parts: readonly AssistantPart[];
}

/** Messages that a decoder still adds to. */
export interface OpenUserMessage {
  readonly role: "user";
  readonly results: ToolResult[];
  readonly texts: JsonText[];
}

export interface OpenAssistantMessage {
  readonly role: "assistant";
  readonly parts: AssistantPart[];
}

export type AssistantPart =
  | { readonly kind: "text"; readonly text: JsonText }
  | { readonly kind: "call"; readonly call: ToolCall };

export interface ToolCall {
  /** The call's id as wire_a writes it; `toMessagesToolId` converts it for wire_b. */
  readonly id: string;
  readonly name: JsonText;
  readonly input: JsonText;
  /** The provider's signature of the call, which the next request must send back; absent: none. */
  readonly signature?: string;
}

export interface ToolResult {
  readonly callId: string;
  readonly texts: readonly JsonText[];
}

export interface ToolSpec {
  readonly name: JsonText;
  readonly description: JsonText | undefined;
  /** A JSON Schema that has a `type` and `properties`. */
  readonly schema: JsonText;
}

export type ToolChoice =
  { readonly kind: "auto" | "any" | "none" } | { readonly kind: "tool"; readonly name: JsonText };

export interface Effort {
  readonly field: string;
  readonly value: string;
}

/** The system texts, followed by those of later messages. */
export function allSystemTexts({ system, messages }: ChatCall): readonly JsonText[] {
  const later = messages.flatMap((each) => (each.role === "system" ? [each.text] : []));
  return [...system, ...later];
}

export const NO_EFFORT = '"none"' as JsonText;

/** The effort values of both wires, from least to most. */
const WORDS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/**
 * The nearest declared effort, or the lesser of two equally near ones. Undefined if the listing
 * declares no efforts, because servers without efforts refuse the field. The effort `none` beside
 * tools, if the deployment refuses any other there.
 */
export function effortFor(call: ChatCall, deployment: Deployment): JsonText | undefined {
  const { effort, tools } = call;
  if (tools.length > 0 && deployment.wireProfile?.history.has("no-effort-with-tools") === true) {
    return NO_EFFORT;
  }
  if (effort === undefined) return undefined;
  const { supportedParameters: declared } = deployment;
  const descriptor = declared.get("reasoning_effort") ?? declared.get("effort");
  if (descriptor?.type !== "enum") return undefined;
  const nearest = nearestWord(effort.value, descriptor.values);
  return nearest === undefined ? undefined : textToken(nearest);
}

/** The name of the client's effort field, if the deployment does not get an effort. */
export function lostEffort(call: ChatCall, deployment: Deployment): readonly string[] {
  if (call.effort === undefined) return [];
  const sent = effortFor(call, deployment);
  const isLost = sent === undefined || (sent === NO_EFFORT && call.effort.value !== "none");
  return isLost ? [call.effort.field] : [];
}

function nearestWord(asked: string, taken: readonly string[]): string | undefined {
  if (taken.includes(asked)) return asked;
  const rank = WORDS.indexOf(asked);
  if (rank === -1) return undefined;
  // A client that requests some effort must not get the effort `none`.
  const known = WORDS.filter((each) => taken.includes(each) && each !== "none");
  const distance = (each: string): number => Math.abs(WORDS.indexOf(each) - rank);
  return known.toSorted((a, b) => distance(a) - distance(b))[0];
}

/** For each field, the `type` that requests nothing. A translation omits such a field. */
const NO_OPS: Readonly<Record<string, string>> = { response_format: "text", thinking: "disabled" };

/** True if the top-level field `name` is an object whose `type` requests nothing. */
function isNoOp(doc: JsonDocument, name: string, value: JsonNode): boolean {
  if (!Object.hasOwn(NO_OPS, name)) return false;
  const type = doc.present(value, word.type);
  return type !== ABSENT && doc.isString(type) && doc.text(type) === NO_OPS[name];
}

/** Values, as JSON text, that mean the same as an absent parameter. */
const USUAL: Readonly<Record<string, string>> = {
  n: "1",
  service_tier: '"default"',
  store: "false",
  logprobs: "false",
  top_logprobs: "0",
  frequency_penalty: "0",
  presence_penalty: "0",
  top_p: "1",
  parallel_tool_calls: "true",
  tool_choice: '"auto"',
  function_call: '"auto"',
};

/** True if the top-level field `name` with this value means the same as without it. */
export function isUsual(doc: JsonDocument, name: string, value: JsonNode): boolean {
  if (doc.isNull(value) || isNoOp(doc, name, value)) return true;
  const usual = Object.hasOwn(USUAL, name) ? USUAL[name] : undefined;
  if (usual === undefined) return isEmptyArray(doc, value);
  if (doc.kind(value) === NUMBER_KIND) return doc.number(value) === Number(usual);
  if (doc.isObject(value)) return isPlainAuto(doc, value);
  return doc.end(value) - doc.start(value) <= USUAL_CHARS_MAX && doc.raw(value) === usual;
}

const USUAL_CHARS_MAX = 9;

function isPlainAuto(doc: JsonDocument, value: JsonNode): boolean {
  const type = doc.present(value, word.type);
  return type !== ABSENT && doc.word(type) === word.auto && doc.keys(value).length === 1;
}
