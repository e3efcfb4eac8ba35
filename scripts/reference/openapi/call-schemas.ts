import {
  OUTPUT_TOKENS_DEFAULT,
  OUTPUT_TOKENS_MAX,
  OUTPUT_TOKENS_MIN,
} from "../../../src/kernel/core/constants.ts";
import {
  anything,
  count,
  flag,
  list,
  object,
  oneOf,
  orNull,
  ref,
  said,
  text,
  usd,
  whole,
  type Schema,
} from "./kit.ts";

const bound: Schema = {
  type: "integer",
  minimum: OUTPUT_TOKENS_MIN,
  maximum: OUTPUT_TOKENS_MAX,
  default: OUTPUT_TOKENS_DEFAULT,
};
const model = said(text, "an id of `GET /v1/models`");
const askedModel = said(text, "the id of the model that was asked for");
const controls = {
  "provider?": said(ref("RoutingControls"), "which providers may serve this request"),
};
const stream = said(flag, "true: the answer comes as server-sent events");
const temperature: Schema = { type: "number", minimum: 0, maximum: 2 };
const seconds = said(whole, "Unix seconds");

const chatRequest = object({
  model,
  messages: list(
    object({
      role: oneOf("system", "developer", "user", "assistant", "tool"),
      "content?": { description: "text, or parts", type: ["string", "array", "null"] },
      "name?": text,
      "tool_calls?": list(anything),
      "tool_call_id?": text,
    }),
    { minItems: 1 },
  ),
  "max_tokens?": bound,
  "max_completion_tokens?": said(bound, "the same bound under its newer name"),
  "stream?": stream,
  "n?": { const: 1 },
  "temperature?": temperature,
  "top_p?": { type: "number", minimum: 0, maximum: 1 },
  "stop?": { anyOf: [text, list(text)] },
  "tools?": list(anything),
  "tool_choice?": anything,
  "response_format?": object({ type: oneOf("text", "json_object", "json_schema") }),
  ...controls,
});

const messagesRequest = object({
  model,
  "max_tokens?": bound,
  messages: list(
    object({
      role: oneOf("user", "assistant", "system"),
      content: { description: "text, or blocks", type: ["string", "array"] },
    }),
    { minItems: 1 },
  ),
  "system?": { description: "text, or blocks", type: ["string", "array"] },
  "stream?": stream,
  "temperature?": temperature,
  "stop_sequences?": list(text),
  "tools?": list(anything),
  "tool_choice?": anything,
  "thinking?": anything,
  ...controls,
});

const video = object({
  id: text,
  object: { const: "video" },
  model: askedModel,
  status: oneOf("queued", "in_progress", "completed", "failed"),
  progress: { type: "number", minimum: 0, maximum: 100 },
  created_at: seconds,
  completed_at: orNull(seconds),
  expires_at: orNull(seconds),
  seconds: said(text, "the length, as digits"),
  size: orNull(text),
  resolution: orNull(text),
  aspect_ratio: orNull(text),
  "generate_audio?": flag,
  error: orNull(object({ code: text, message: text })),
  usage: orNull(object({ cost: usd, "seconds?": whole })),
  request_id: text,
});

/** The bodies of calls and of their answers, without fields that only some providers know. */
export const CALL_SCHEMAS: Readonly<Record<string, Schema>> = {
  RoutingControls: object(
    {
      "only?": said(list(text), "no other provider"),
      "ignore?": said(list(text), "none of these"),
      "order?": said(list(text), "these first, in this order"),
      "upstream?": { type: "object" },
      "allow_fallbacks?": flag,
      "require_parameters?": said(flag, "only providers that take every parameter sent"),
      "connections?": oneOf("prefer", "only", "never"),
    },
    { description: "Which providers may serve. A field that is not known is refused." },
  ),
  ChatRequest: chatRequest,
  ChatCompletion: object({
    id: text,
    object: { const: "chat.completion" },
    created: seconds,
    model: askedModel,
    choices: list(
      object({ index: whole, message: object({ role: text }), finish_reason: orNull(text) }),
    ),
    usage: object({
      prompt_tokens: count,
      completion_tokens: count,
      total_tokens: count,
      cost: usd,
    }),
  }),
  MessagesRequest: messagesRequest,
  Message: object({
    id: text,
    type: { const: "message" },
    role: { const: "assistant" },
    model: askedModel,
    content: list(object({ type: text })),
    stop_reason: orNull(text),
    usage: object({ input_tokens: count, output_tokens: count, cost: usd }),
  }),
  CountRequest: object({ model, messages: list(anything, { minItems: 1 }), "system?": anything }),
  TokenCount: object({ input_tokens: count }),
  ImageRequest: object({
    model,
    prompt: text,
    "n?": { type: "integer", minimum: 1, maximum: 4 },
    "size?": text,
    "aspect_ratio?": text,
    "quality?": text,
    "resolution?": text,
    "response_format?": { const: "b64_json" },
    ...controls,
  }),
  Images: object({
    created: seconds,
    data: list(object({ b64_json: text })),
    usage: object({ cost: usd }),
  }),
  VideoRequest: object({
    model,
    prompt: text,
    "seconds?": { anyOf: [whole, said(text, "its digits")] },
    "size?": text,
    "resolution?": text,
    "aspect_ratio?": text,
    "generate_audio?": flag,
    ...controls,
  }),
  Video: video,
  DecisionRequest: object({
    model,
    state: said(anything, "a text, an object or an array"),
    questions: {
      description: "by name, in the format of the model's `decisions_wire`",
      type: ["object", "array"],
    },
    ...controls,
  }),
  Decision: object({
    id: text,
    object: { const: "decision" },
    created: seconds,
    model: askedModel,
    answers: said(object({}), "one for each question, by its name"),
    usage: object({ input_tokens: count, output_tokens: count, total_tokens: count, cost: usd }),
  }),
};
