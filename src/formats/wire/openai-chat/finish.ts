import { type FinishReason, settledFinish } from "../neutral/chat-event.ts";

const REASONS: Readonly<Record<string, FinishReason>> = {
  stop: "stop",
  tool_calls: "tool_calls",
  function_call: "tool_calls",
  length: "length",
  content_filter: "refusal",
  // Of Z.ai.
  sensitive: "refusal",
  model_context_window_exceeded: "length",
  // Of Mistral.
  model_length: "length",
  // Words of the other wire, which gateways in between hand on.
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

/** Values that are not a reason but a failure: OpenRouter's, DeepSeek's and Z.ai's. */
const FAILURES: ReadonlySet<string> = new Set([
  "error",
  "insufficient_system_resource",
  "network_error",
]);

/**
 * The neutral reason of a wire_a value; vendor values that mean nothing to a client are a stop.
 * Some hosts write `MAX_TOKENS`, or `content_filter: SAFETY`.
 */
export function reasonOfWord(word: string): FinishReason {
  const plain = /^\w*/.exec(word)?.[0].toLowerCase() ?? "";
  return Object.hasOwn(REASONS, plain) ? (REASONS[plain] ?? "stop") : "stop";
}

/** `usesFunctions`: the caller knows calls in their older form, which has a word of its own. */
export function wordOfReason(reason: FinishReason, usesFunctions: boolean): string {
  return usesFunctions && reason === "tool_calls" ? "function_call" : WORDS[reason];
}

/** What the answer holds and the client knows, beside the provider's word for its end. */
interface WordUse {
  readonly hasCalls: boolean;
  readonly usesFunctions: boolean;
}

/** Strict clients know the five words of the wire: any other is told as it would be across the wires. */
export function clientWord(word: string, { hasCalls, usesFunctions }: WordUse): string {
  if (wireWords.has(word)) return word;
  return wordOfReason(settledFinish(reasonOfWord(word), hasCalls), usesFunctions);
}

/**
 * The finish reason of a complete answer: is it missing, or does it name a call that is not there?
 * Calls say why it ended, so xAI leaves it out beside them.
 */
export function isWrongWord(word: string, hasCalls: boolean): boolean {
  if (word === "") return !hasCalls;
  return !hasCalls && reasonOfWord(word) === "tool_calls";
}

export function isFailureWord(word: unknown): boolean {
  return typeof word === "string" && FAILURES.has(word);
}
