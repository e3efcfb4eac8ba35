import type { Wire } from "../support/ask.ts";

/** Tokens that an answer reports. */
export interface AnswerTokens {
  readonly prompt: number;
  readonly completion: number;
  /** Is the whole prompt written into the cache, for an hour? */
  readonly isForHour?: boolean;
}

const WORDS = ["The ", "books ", "are ", "in ", "order."];

/** A whole answer; without `tokens` it reports no usage. */
export function jsonAnswer(wire: Wire, model: string, tokens: AnswerTokens | undefined): string {
  return JSON.stringify(wire === "wire_a" ? completion(model, tokens) : message(model, tokens));
}

/** The events of the same answer as a stream; the last one carries the end mark. */
export function streamAnswer(
  wire: Wire,
  model: string,
  tokens: AnswerTokens | undefined,
): readonly string[] {
  return wire === "wire_a" ? chunks(model, tokens) : events(model, tokens);
}

function completion(model: string, tokens: AnswerTokens | undefined): object {
  const text = { role: "assistant", content: WORDS.join("") };
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model,
    choices: [{ index: 0, message: text, finish_reason: "stop" }],
    ...(tokens === undefined ? {} : { usage: usageOfA(tokens) }),
  };
}

function chunks(model: string, tokens: AnswerTokens | undefined): readonly string[] {
  const chunk = (more: object): string =>
    data({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model, ...more });
  const choice = (delta: object, finish: string | null = null): string =>
    chunk({ choices: [{ index: 0, delta, finish_reason: finish }] });
  return [
    choice({ role: "assistant", content: "" }),
    ...WORDS.map((content) => choice({ content })),
    choice({}, "stop") +
      (tokens === undefined ? "" : chunk({ choices: [], usage: usageOfA(tokens) })) +
      "data: [DONE]\n\n",
  ];
}

function usageOfA({ prompt, completion: out }: AnswerTokens): object {
  return { prompt_tokens: prompt, completion_tokens: out, total_tokens: prompt + out };
}

function message(model: string, tokens: AnswerTokens | undefined): object {
  return {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model,
    content: [{ type: "text", text: WORDS.join("") }],
    stop_reason: "end_turn",
    stop_sequence: null,
    ...(tokens === undefined ? {} : { usage: usageOfB(tokens) }),
  };
}

function events(model: string, tokens: AnswerTokens | undefined): readonly string[] {
  const opening = {
    ...message(model, tokens === undefined ? undefined : { ...tokens, completion: 1 }),
    content: [],
    stop_reason: null,
  };
  const usage = tokens === undefined ? {} : { usage: { output_tokens: tokens.completion } };
  const delta = { stop_reason: "end_turn", stop_sequence: null };
  return [
    event("message_start", { message: opening }) +
      event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    ...WORDS.map((text) =>
      event("content_block_delta", { index: 0, delta: { type: "text_delta", text } }),
    ),
    event("content_block_stop", { index: 0 }) +
      event("message_delta", { delta, ...usage }) +
      event("message_stop", {}),
  ];
}

function usageOfB({ prompt, completion: out, isForHour }: AnswerTokens): object {
  if (isForHour !== true) return { input_tokens: prompt, output_tokens: out };
  return {
    input_tokens: 0,
    cache_creation_input_tokens: prompt,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: prompt },
    output_tokens: out,
  };
}

function event(type: string, more: object): string {
  return `event: ${type}\n${data({ type, ...more })}`;
}

function data(json: object): string {
  return `data: ${JSON.stringify(json)}\n\n`;
}
