import { dryRunRoute } from "../../../src/gateway/call/route-contract.ts";
import { BODY_BYTES_MAX, SMALL_BODY_BYTES_MAX } from "../../../src/kernel/core/constants.ts";
import { defined } from "../../../src/kernel/core/defined.ts";
import { RECORD_ROUTES } from "../../../src/gateway/records/contract/routes.ts";
import { headersOn, refusalsOf } from "./errors.ts";
import { text, type Schema } from "./kit.ts";
import { JSON_TYPE, type Operation, readOperation, toSchema } from "./read-operations.ts";

const STREAM: Schema = { type: "string", description: "events, where `stream` was true" };

function inPath(name: string, description: string): object {
  return {
    name,
    in: "path",
    required: true,
    description,
    schema: { type: "string", minLength: 1 },
    example: `$${name.toUpperCase()}`,
  };
}
const MESSAGES_VERSION = {
  name: "anthropic-version",
  in: "header",
  required: false,
  description: "with it, the answer has the shape of the Messages interface",
  schema: text,
};

const HELLO = [{ role: "user", content: "Say hello" }];
const CHAT_EXAMPLE = { model: "sim/both", max_tokens: 64, messages: HELLO };

const images: Operation = {
  summary: "Create images",
  description: "All that were asked for, or none: then nothing is charged.",
  tag: "Media",
  kind: "call",
  body: "ImageRequest",
  example: { model: "sim/image", prompt: "A red bicycle on a white wall", n: 1 },
  answers: { [JSON_TYPE]: "Images" },
};

/** Every route of the gateway; a test compares the names with the table of routes. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  "POST /v1/chat/completions": {
    summary: "Chat, in the chat completions format",
    description: "Fields that are not listed are passed to a provider of the same format.",
    tag: "Chat",
    kind: "call",
    body: "ChatRequest",
    example: CHAT_EXAMPLE,
    answers: { [JSON_TYPE]: "ChatCompletion", "text/event-stream": STREAM },
  },
  "POST /v1/messages": {
    summary: "Chat, in the messages format",
    description: "Fields that are not listed are passed to a provider of the same format.",
    tag: "Chat",
    kind: "call",
    body: "MessagesRequest",
    example: CHAT_EXAMPLE,
    answers: { [JSON_TYPE]: "Message", "text/event-stream": STREAM },
    errors: "MessagesError",
  },
  "POST /v1/messages/count_tokens": {
    summary: "Count the tokens of a messages request",
    description: "Free. `x-tm-estimate: local` marks the gateway's own estimate.",
    tag: "Chat",
    kind: "call",
    body: "CountRequest",
    example: { model: "sim/both", messages: HELLO },
    answers: { [JSON_TYPE]: "TokenCount" },
    errors: "MessagesError",
  },
  "POST /v1/images/generations": images,
  "POST /images/generations": { ...images, summary: "Create images (the same, unversioned)" },
  "POST /v1/videos": {
    summary: "Start a video",
    description: "The answer comes as soon as a provider has accepted the job.",
    tag: "Media",
    kind: "call",
    body: "VideoRequest",
    example: { model: "sim/video", prompt: "Waves at dawn", seconds: 4, size: "1280x720" },
    isSmall: true,
    answers: { [JSON_TYPE]: "Video" },
  },
  "GET /v1/videos/{id}": {
    summary: "Read a video's status",
    tag: "Media",
    kind: "read",
    answers: { [JSON_TYPE]: "Video" },
    parameters: [inPath("id", "the `id` of the job")],
  },
  "GET /v1/videos/{id}/content": {
    summary: "Download a video",
    description: "The file as the provider sends it; `Range` and `HEAD` work.",
    tag: "Media",
    kind: "call",
    answers: { "video/*": { type: "string", format: "binary" } },
    parameters: [inPath("id", "the `id` of the job")],
  },
  "POST /v1/decisions": {
    summary: "Typed answers to questions about a state",
    tag: "Decisions",
    kind: "call",
    body: "DecisionRequest",
    example: {
      model: "sim/decide",
      state: { subject: "Checkout is down" },
      questions: { urgent: { schema: { type: "boolean" }, instructions: "Is this urgent?" } },
    },
    isSmall: true,
    answers: { [JSON_TYPE]: "Decision" },
  },
  "POST /v1/route": {
    ...readOperation(dryRunRoute),
    kind: "call",
    body: "AnyRequest",
    example: CHAT_EXAMPLE,
  },
  "GET /v1/models": readOperation(RECORD_ROUTES["GET /v1/models"], [MESSAGES_VERSION]),
  "GET /v1/models/{id}": readOperation(RECORD_ROUTES["GET /v1/models/{id}"], [
    inPath("id", "the model's id, slashes included"),
    MESSAGES_VERSION,
  ]),
  "GET /v1/usage": readOperation(RECORD_ROUTES["GET /v1/usage"]),
  "GET /v1/generation": readOperation(RECORD_ROUTES["GET /v1/generation"]),
  "GET /v1/limits": readOperation(RECORD_ROUTES["GET /v1/limits"]),
  "POST /api/admission-limits": {
    ...readOperation(RECORD_ROUTES["POST /api/admission-limits"]),
    example: { scope: "key", rpm: 60 },
  },
};

export function operationObject(name: string, operation: Operation): object {
  const { summary, description, tag, body, example, answers, parameters } = operation;
  const { kind, errors = "Error", isSmall = false } = operation;
  const bytesMax = isSmall ? SMALL_BODY_BYTES_MAX : BODY_BYTES_MAX;
  const requestBody = body && {
    required: true,
    description: `At most ${bytesMax} bytes.`,
    content: { [JSON_TYPE]: defined({ schema: toSchema(body), example }) },
  };
  const content = Object.fromEntries(
    Object.entries(answers).map(([type, schema]) => [type, { schema: toSchema(schema) }]),
  );
  const headers = headersOn("every answer", "served answers");
  const served = { "200": { description: "Served", headers, content } };
  return defined({
    operationId: name
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, "_")
      .replace(/_$/, ""),
    summary,
    description,
    tags: [tag],
    parameters,
    requestBody,
    responses: { ...served, ...refusalsOf(kind, errors) },
  });
}
