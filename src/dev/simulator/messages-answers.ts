import type { SimAnswer, SimFinish } from "./answer.ts";
import { pieces, type Envelope, type Frame, type FrameKind } from "./dialect.ts";
import type { JsonObject } from "./json.ts";

const PIECE_CHARS = 8;

const STOP_REASONS: Readonly<Record<SimFinish, string>> = {
  stop: "end_turn",
  stop_sequence: "stop_sequence",
  length: "max_tokens",
  tools: "tool_use",
  refusal: "refusal",
};

export function wholeMessage(answer: SimAnswer, envelope: Envelope): JsonObject {
  const blocks: JsonObject[] = [];
  if (answer.thinking !== "") {
    blocks.push({ type: "thinking", thinking: answer.thinking, signature: signature(envelope) });
  }
  if (answer.text !== "") blocks.push({ type: "text", text: answer.text });
  answer.calls.forEach((call, index) => {
    const input: unknown = JSON.parse(call.arguments);
    blocks.push({ type: "tool_use", id: toolId(envelope, index), name: call.name, input });
  });
  return {
    ...head(envelope),
    content: blocks,
    stop_reason: STOP_REASONS[answer.finish],
    stop_sequence: answer.stopSequence,
    ...toUsage(answer, envelope, answer.usage.output),
  };
}

export function messageEvents(answer: SimAnswer, envelope: Envelope): readonly Frame[] {
  const blocks = blockEvents(answer, envelope);
  const [opening, ...rest] = blocks;
  const delta = { stop_reason: STOP_REASONS[answer.finish], stop_sequence: answer.stopSequence };
  return [
    event("start", "message_start", { message: emptyMessage(answer, envelope) }),
    ...(opening === undefined ? [] : [opening]),
    event("ping", "ping", {}),
    ...rest,
    event("finish", "message_delta", {
      delta,
      ...toUsage(answer, envelope, answer.usage.output),
    }),
    event("end", "message_stop", {}),
  ];
}

function emptyMessage(answer: SimAnswer, envelope: Envelope): JsonObject {
  const unfinished = { content: [], stop_reason: null, stop_sequence: null };
  return { ...head(envelope), ...unfinished, ...toUsage(answer, envelope, 1) };
}

function blockEvents(answer: SimAnswer, envelope: Envelope): readonly Frame[] {
  const frames: Frame[] = [];
  let next = 0;
  const block = (start: JsonObject, deltas: readonly JsonObject[]) => {
    const index = next++;
    frames.push(event("content", "content_block_start", { index, content_block: start }));
    for (const delta of deltas) {
      frames.push(event("content", "content_block_delta", { index, delta }));
    }
    frames.push(event("content", "content_block_stop", { index }));
  };
  if (answer.thinking !== "") {
    block({ type: "thinking", thinking: "", signature: "" }, thinkingDeltas(answer, envelope));
  }
  if (answer.text !== "") {
    const parts = pieces(answer.text, PIECE_CHARS);
    const deltas = parts.map((text) => ({ type: "text_delta", text }));
    block({ type: "text", text: "" }, deltas);
  }
  answer.calls.forEach((call, index) => {
    const start = { type: "tool_use", id: toolId(envelope, index), name: call.name, input: {} };
    const parts = call.arguments === "{}" ? [] : pieces(call.arguments, PIECE_CHARS);
    const deltas = ["", ...parts].map((part) => ({ type: "input_json_delta", partial_json: part }));
    block(start, deltas);
  });
  return frames;
}

function thinkingDeltas(answer: SimAnswer, envelope: Envelope): readonly JsonObject[] {
  const parts = pieces(answer.thinking, PIECE_CHARS);
  return [
    ...parts.map((thinking) => ({ type: "thinking_delta", thinking })),
    { type: "signature_delta", signature: signature(envelope) },
  ];
}

function toUsage(answer: SimAnswer, envelope: Envelope, output: number): JsonObject {
  if (envelope.usage === null) return {};
  const { prompt, cached, cacheWrite, hourWrite, reasoning } = answer.usage;
  return {
    usage: {
      input_tokens: prompt - cached - cacheWrite,
      cache_creation_input_tokens: cacheWrite,
      cache_read_input_tokens: cached,
      cache_creation: {
        ephemeral_5m_input_tokens: cacheWrite - hourWrite,
        ephemeral_1h_input_tokens: hourWrite,
      },
      output_tokens: output,
      ...(reasoning > 0 ? { output_tokens_details: { thinking_tokens: reasoning } } : {}),
      service_tier: "standard",
      ...envelope.usage,
    },
  };
}

function head({ serial, model }: Envelope): JsonObject {
  return { id: `msg_${serial}`, type: "message", role: "assistant", model };
}

function toolId({ serial }: Envelope, index: number): string {
  return `toolu_${serial}${index}`;
}

function signature({ serial }: Envelope): string {
  return Buffer.from(`signature of ${serial}`).toString("base64");
}

function event(kind: FrameKind, type: string, fields: JsonObject): Frame {
  return { kind, event: type, data: JSON.stringify({ type, ...fields }) };
}
