import type { JsonText } from "../../../kernel/index.ts";

/**
 * What both chat wires can say, as one wire's decoder leaves it and the other's encoder takes it.
 * Texts of the caller stay JSON string tokens: they are moved, never decoded.
 */
export interface ChatCall {
  readonly system: readonly JsonText[];
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
  readonly toolChoice: ToolChoice | undefined;
  /** False when the caller wants at most one tool call an answer. */
  readonly parallelTools: boolean;
  readonly stops: readonly JsonText[];
  /** Number texts, as sent. */
  readonly temperature: JsonText | undefined;
  readonly topP: JsonText | undefined;
  readonly effort: Effort | undefined;
  /** The caller's own id for its end user, a string token. */
  readonly userId: JsonText | undefined;
}

export type Message = SystemMessage | UserMessage | AssistantMessage;

/** A system message in the middle of a conversation. */
export interface SystemMessage {
  readonly role: "system";
  readonly text: JsonText;
}

/** Tool results precede the user's own text. */
export interface UserMessage {
  readonly role: "user";
  readonly results: readonly ToolResult[];
  readonly texts: readonly JsonText[];
}

export interface AssistantMessage {
  readonly role: "assistant";
  readonly parts: readonly AssistantPart[];
}

export type AssistantPart =
  | { readonly kind: "text"; readonly text: JsonText }
  | { readonly kind: "call"; readonly call: ToolCall };

export interface ToolCall {
  /** The id as wire_a has it; see `tool-ids.ts`. */
  readonly id: string;
  readonly name: JsonText;
  /** A JSON object, as sent. */
  readonly input: JsonText;
  /** What its provider gave with it, to be brought back; absent: nothing. */
  readonly signature?: string;
}

export interface ToolResult {
  readonly callId: string;
  readonly texts: readonly JsonText[];
}

export interface ToolSpec {
  readonly name: JsonText;
  readonly description: JsonText | undefined;
  /** JSON Schema of the arguments: an object schema with `properties`. */
  readonly schema: JsonText;
}

export type ToolChoice =
  { readonly kind: "auto" | "any" | "none" } | { readonly kind: "tool"; readonly name: JsonText };
/** How hard a model shall think, as the caller's wire says it. */
export interface Effort {
  /** Where it was asked for: `reasoning_effort` or `output_config.effort`. */
  readonly field: string;
  readonly value: string;
}
