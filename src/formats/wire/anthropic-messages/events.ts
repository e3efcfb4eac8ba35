import { type Refusal, wireBErrorType } from "../../../kernel/index.ts";
import { errorMetadata, messageWith } from "../failure/failures.ts";
import { type FinishReason, settledFinish } from "../neutral/chat-event.ts";
import { sseEventText } from "../sse/sse.ts";

export function eventText(type: string, members: string): string {
  return `event: ${type}\ndata: {"type":"${type}"${members === "" ? "" : `,${members}`}}\n\n`;
}

export const pingText: string = eventText("ping", "");

/** No event may follow this event. */
export function errorEventText(refusal: Refusal): string {
  return sseEventText("error", JSON.stringify({ type: "error", error: describeError(refusal) }));
}

function describeError(refusal: Refusal): object {
  return {
    type: wireBErrorType(refusal),
    message: messageWith(refusal, "prompt is too long"),
    error_type: refusal.class,
  };
}

export function closingText(delta: string, usage: string): string {
  return (
    eventText("message_delta", `"delta":${delta},"usage":${usage}`) + eventText("message_stop", "")
  );
}

/** Defaults for members (not content or usage) that official clients read without a check. */
export function neededInMessage(idTail: string): Readonly<Record<string, string>> {
  return {
    id: `"msg_${idTail}"`,
    type: '"message"',
    role: '"assistant"',
    stop_reason: "null",
    stop_sequence: "null",
  };
}

/** Members that the official client's types declare, and that a translated answer never has. */
export const ABSENT_MEMBERS = '"container":null,"diagnostics":null,"stop_details":null';

const REASONS: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop_sequence",
  tool_use: "tool_calls",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "refusal",
  pause_turn: "stop",
  // Finish reasons of wire_a, which some gateways write in answers of wire_b.
  length: "length",
  content_filter: "refusal",
  tool_calls: "tool_calls",
};

const WORDS: Readonly<Record<FinishReason, string>> = {
  stop: "end_turn",
  stop_sequence: "stop_sequence",
  tool_calls: "tool_use",
  length: "max_tokens",
  refusal: "refusal",
};

const wireWords: ReadonlySet<string> = new Set([
  ...Object.values(WORDS),
  "compaction",
  "model_context_window_exceeded",
  "pause_turn",
]);

interface SeenCalls {
  /** Calls of any kind, also of tools that the provider runs. */
  readonly hasCalls: boolean;
  readonly hasClientCalls: boolean;
}

/**
 * Strict clients accept only the words of the wire. `end_turn` becomes `tool_use` if the client has
 * calls to run, because tool runners stop at `end_turn`; `tool_use` without any call becomes
 * `end_turn`, because they ask again and again.
 */
export function clientWord(word: string, { hasCalls, hasClientCalls }: SeenCalls): string {
  const isKept = word !== "end_turn" && wireWords.has(word) && !isWrongWord(word, hasCalls);
  return isKept ? word : toWord(settledFinish(toReason(word), hasClientCalls));
}

/** An unknown word counts as a plain stop. Some providers write words in upper case. */
export function toReason(word: string): FinishReason {
  const plain = word.toLowerCase();
  return Object.hasOwn(REASONS, plain) ? (REASONS[plain] ?? "stop") : "stop";
}

/** True if the stop reason is missing, or names a tool call that the answer does not have. */
export function isWrongWord(word: string, hasCalls: boolean): boolean {
  return word === "" || (!hasCalls && toReason(word) === "tool_calls");
}

/** True for a tool call, also of a tool that the provider runs (`server_tool_use`). */
export function isCall(block: Readonly<Record<string, unknown>> | undefined): boolean {
  const type = block?.["type"];
  return typeof type === "string" && type.endsWith("tool_use");
}

/** True for a call that the client runs. */
export function isClientCall(block: Readonly<Record<string, unknown>> | undefined): boolean {
  return block?.["type"] === "tool_use";
}

export function toWord(reason: FinishReason): string {
  return WORDS[reason];
}

export function errorBody(refusal: Refusal, requestId: string): string {
  const body = {
    type: "error",
    error: {
      ...describeError(refusal),
      ...(refusal.errorCode === undefined ? {} : { details: { error_code: refusal.errorCode } }),
      metadata: errorMetadata(refusal),
    },
    request_id: requestId,
  };
  return JSON.stringify(body);
}
