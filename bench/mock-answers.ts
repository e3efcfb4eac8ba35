import type { Wire } from "./chat-bodies.ts";

/** Model ids for requests to the mock provider, which names them in its answers, by wire. */
export const UPSTREAM_MODEL_ID: Readonly<Record<Wire, string>> = {
  wire_a: "upstream-a",
  wire_b: "upstream-b",
};

/** Prepared HTTP/1.1 bytes of one wire, which the mock provider only copies to a socket. */
export interface CannedAnswers {
  readonly json: Buffer;
  readonly streamOpening: Buffer;
  readonly streamEvent: Buffer;
  readonly streamClosing: Buffer;
}

const STREAM_EVENT_BYTES = 290;
const SENTENCE = "The tide turns twice a day, so plan both ways. ";

export const CANNED_ANSWERS: Readonly<Record<Wire, CannedAnswers>> = {
  wire_a: canned({
    json: wireAJson(),
    opening: [wireAChunk({ role: "assistant", content: "" }, null)],
    event: (padding) => wireAChunk({ content: padding }, null),
    closing: [wireAChunk({}, "stop"), wireAUsageChunk(), "data: [DONE]\n\n"],
  }),
  wire_b: canned({
    json: wireBJson(),
    opening: [wireBEvent("message_start", { message: wireBMessage([], null) }), wireBBlockStart()],
    event: wireBDelta,
    closing: [
      wireBEvent("content_block_stop", { index: 0 }),
      wireBEvent("message_delta", {
        delta: { stop_reason: "end_turn", stop_sequence: null },
        usage: { output_tokens: 400 },
      }),
      wireBEvent("message_stop", {}),
    ],
  }),
};

interface AnswerTexts {
  readonly json: string;
  readonly opening: readonly string[];
  readonly event: (padding: string) => string;
  readonly closing: readonly string[];
}

function canned(texts: AnswerTexts): CannedAnswers {
  const paddingBytes = STREAM_EVENT_BYTES - Buffer.byteLength(texts.event(""));
  const event = texts.event(SENTENCE.repeat(10).slice(0, paddingBytes));
  const jsonHead =
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${Buffer.byteLength(texts.json)}\r\n\r\n`;
  const streamHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n" +
    "Transfer-Encoding: chunked\r\n\r\n";
  return {
    json: Buffer.from(jsonHead + texts.json),
    streamOpening: Buffer.from(streamHead + texts.opening.map(framed).join("")),
    streamEvent: Buffer.from(framed(event)),
    streamClosing: Buffer.from(`${texts.closing.map(framed).join("")}0\r\n\r\n`),
  };
}

function framed(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

function wireAJson(): string {
  const message = { role: "assistant", content: SENTENCE.repeat(4), refusal: null };
  return JSON.stringify({
    id: "chatcmpl-bench-0000000000000001",
    object: "chat.completion",
    created: 1_760_000_000,
    model: UPSTREAM_MODEL_ID.wire_a,
    choices: [{ index: 0, message, logprobs: null, finish_reason: "stop" }],
    usage: wireAUsage(),
  });
}

function wireAUsage(): object {
  return {
    prompt_tokens: 210,
    completion_tokens: 44,
    total_tokens: 254,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
}

function wireAChunk(delta: object, finishReason: string | null): string {
  return wireAData({ choices: [{ index: 0, delta, finish_reason: finishReason }] });
}

function wireAUsageChunk(): string {
  return wireAData({ choices: [], usage: wireAUsage() });
}

function wireAData(fields: object): string {
  const chunk = {
    id: "chatcmpl-bench-0000000000000001",
    object: "chat.completion.chunk",
    created: 1_760_000_000,
    model: UPSTREAM_MODEL_ID.wire_a,
    ...fields,
  };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

function wireBJson(): string {
  return JSON.stringify(wireBMessage([{ type: "text", text: SENTENCE.repeat(4) }], "end_turn"));
}

function wireBMessage(content: readonly object[], stopReason: string | null): object {
  return {
    id: "msg_bench_0000000000000001",
    type: "message",
    role: "assistant",
    model: UPSTREAM_MODEL_ID.wire_b,
    content,
    stop_reason: stopReason,
    stop_sequence: null,
    usage: {
      input_tokens: 210,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: stopReason === null ? 1 : 44,
    },
  };
}

function wireBBlockStart(): string {
  return wireBEvent("content_block_start", { index: 0, content_block: { type: "text", text: "" } });
}

function wireBDelta(text: string): string {
  return wireBEvent("content_block_delta", { index: 0, delta: { type: "text_delta", text } });
}

function wireBEvent(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}
