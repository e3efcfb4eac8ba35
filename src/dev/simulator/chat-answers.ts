import type { SimAnswer, SimFinish } from "./answer.ts";
import { pieces, type Envelope, type Frame, type FrameKind } from "./dialect.ts";
import type { JsonObject } from "./json.ts";

const PIECE_CHARS = 8;

const FINISH_REASONS: Readonly<Record<SimFinish, string>> = {
  stop: "stop",
  stop_sequence: "stop",
  length: "length",
  tools: "tool_calls",
  refusal: "content_filter",
};

export function chatCompletion(answer: SimAnswer, envelope: Envelope): JsonObject {
  const message = {
    role: "assistant",
    content: answer.calls.length > 0 && answer.text === "" ? null : answer.text,
    ...(answer.thinking === "" ? {} : { reasoning_content: answer.thinking }),
    ...(answer.calls.length === 0 ? {} : { tool_calls: toolCalls(answer, envelope) }),
    refusal: null,
    annotations: [],
  };
  const choice = {
    index: 0,
    message,
    logprobs: null,
    finish_reason: FINISH_REASONS[answer.finish],
  };
  const usage = toUsage(answer, envelope);
  return {
    ...head(envelope, "chat.completion"),
    choices: [choice],
    ...(usage === undefined ? {} : { usage }),
    service_tier: "default",
    system_fingerprint: fingerprint(envelope),
  };
}

export function chatChunks(answer: SimAnswer, envelope: Envelope): readonly Frame[] {
  const chunk = (kind: FrameKind, delta: JsonObject, finish: string | null = null): Frame => {
    const choice = { index: 0, delta, logprobs: null, finish_reason: finish };
    return frame(kind, { ...chunkHead(envelope), choices: [choice], ...usageSlot(envelope) });
  };
  const content = answer.text === "" && answer.calls.length > 0 ? null : "";
  const frames = [chunk("start", { role: "assistant", content, refusal: null })];
  for (const piece of pieces(answer.thinking, PIECE_CHARS)) {
    frames.push(chunk("content", { reasoning_content: piece }));
  }
  for (const piece of pieces(answer.text, PIECE_CHARS)) {
    frames.push(chunk("content", { content: piece }));
  }
  for (const delta of toolDeltas(answer, envelope)) frames.push(chunk("content", delta));
  frames.push(chunk("finish", {}, FINISH_REASONS[answer.finish]));
  const usage = toUsage(answer, envelope);
  if (envelope.includeUsage && usage !== undefined) {
    frames.push(frame("usage", { ...chunkHead(envelope), choices: [], usage }));
  }
  return [...frames, { kind: "end", data: "[DONE]" }];
}

function toolDeltas(answer: SimAnswer, envelope: Envelope): readonly JsonObject[] {
  return toolCalls(answer, envelope).flatMap((call, index) => {
    const opening = { index, id: call.id, type: call.type };
    const named = { ...opening, function: { name: call.function.name, arguments: "" } };
    const parts = pieces(call.function.arguments, PIECE_CHARS);
    return [
      { tool_calls: [named] },
      ...parts.map((part) => ({ tool_calls: [{ index, function: { arguments: part } }] })),
    ];
  });
}

function toolCalls(answer: SimAnswer, { serial }: Envelope) {
  return answer.calls.map((call, index) => ({
    id: `call_${serial}${index}`,
    type: "function",
    function: { name: call.name, arguments: call.arguments },
  }));
}

function toUsage(answer: SimAnswer, envelope: Envelope): JsonObject | undefined {
  if (envelope.usage === null) return undefined;
  const { prompt, cached, cacheWrite, output, reasoning } = answer.usage;
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: {
      cached_tokens: cached,
      audio_tokens: 0,
      ...(cacheWrite > 0 ? { cache_write_tokens: cacheWrite } : {}),
    },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
    ...envelope.usage,
  };
}

function head({ serial, createdS, model }: Envelope, object: string): JsonObject {
  return { id: `chatcmpl-${serial}`, object, created: createdS, model };
}

function chunkHead(envelope: Envelope): JsonObject {
  return {
    ...head(envelope, "chat.completion.chunk"),
    service_tier: "default",
    system_fingerprint: fingerprint(envelope),
  };
}

/* If the last chunk will report usage, every chunk before it has `usage: null`. */
function usageSlot({ includeUsage, usage }: Envelope): JsonObject {
  return includeUsage && usage !== null ? { usage: null } : {};
}

function fingerprint({ model }: Envelope): string {
  return `fp_${Buffer.from(model).toString("hex").padEnd(10, "0").slice(0, 10)}`;
}

function frame(kind: FrameKind, data: JsonObject): Frame {
  return { kind, data: JSON.stringify(data) };
}
