import { BODY_BYTES_MAX, SMALL_BODY_BYTES_MAX } from "../../../src/core/constants.ts";
import { headersOn, refusalsOf } from "./errors.ts";
import { flag, oneOf, ref, text, whole, type Schema } from "./kit.ts";

interface Operation {
  readonly summary: string;
  readonly description?: string;
  readonly tag: "Chat" | "Media" | "Decisions" | "Models" | "Records";
  /** It sends to a provider, or only reads. */
  readonly kind: "call" | "read";
  readonly body?: string;
  /** A smaller bound of the body. */
  readonly isSmall?: boolean;
  /** By media type: the name of a schema, or a schema. */
  readonly answers: Readonly<Record<string, string | Schema>>;
  readonly parameters?: readonly object[];
  readonly errors?: "Error" | "MessagesError";
}

const JSON_TYPE = "application/json";
const STREAM: Schema = { type: "string", description: "events, where `stream` was true" };

function query(name: string, schema: Schema, description: string, required = false): object {
  return { name, in: "query", required, description, schema };
}
function inPath(name: string, description: string): object {
  return {
    name,
    in: "path",
    required: true,
    description,
    schema: { type: "string", minLength: 1 },
  };
}
const MESSAGES_VERSION = {
  name: "anthropic-version",
  in: "header",
  required: false,
  description: "with it, the answer has the shape of the Messages interface",
  schema: text,
};

const images: Operation = {
  summary: "Create images",
  description: "All that were asked for, or none: then nothing is charged.",
  tag: "Media",
  kind: "call",
  body: "ImageRequest",
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
    answers: { [JSON_TYPE]: "ChatCompletion", "text/event-stream": STREAM },
  },
  "POST /v1/messages": {
    summary: "Chat, in the messages format",
    description: "Fields that are not listed are passed to a provider of the same format.",
    tag: "Chat",
    kind: "call",
    body: "MessagesRequest",
    answers: { [JSON_TYPE]: "Message", "text/event-stream": STREAM },
    errors: "MessagesError",
  },
  "POST /v1/messages/count_tokens": {
    summary: "Count the tokens of a messages request",
    description: "Free. `x-tm-estimate: local` marks the gateway's own estimate.",
    tag: "Chat",
    kind: "call",
    body: "CountRequest",
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
    isSmall: true,
    answers: { [JSON_TYPE]: "Decision" },
  },
  "POST /v1/route": {
    summary: "Dry run: which provider would serve, and what would be held",
    description: "The body is that of the route that `for` names. Nothing is sent or charged.",
    tag: "Records",
    kind: "call",
    body: "AnyRequest",
    answers: { [JSON_TYPE]: "Route" },
    parameters: [
      query(
        "for",
        oneOf("chat", "messages", "images", "videos", "decisions"),
        "the kind of request",
        true,
      ),
    ],
  },
  "GET /v1/models": {
    summary: "List models",
    description: "A model fits if one of its providers fits all filters of providers.",
    tag: "Models",
    kind: "read",
    answers: { [JSON_TYPE]: { anyOf: [ref("ModelList"), ref("MessagesModelList")] } },
    parameters: [
      query("modality", oneOf("text", "image", "video", "decisions"), "what it produces"),
      query("input_modality", text, "comma-separated; each has to be accepted"),
      query("supported_parameters", text, "comma-separated; each has to be supported"),
      query("provider", text, "id of a provider"),
      query("prompt_logging", oneOf("none", "retained"), "what the provider does with prompts"),
      query("max_prompt_price", text, "dollars per million tokens"),
      query("max_completion_price", text, "dollars per million tokens"),
      query("min_context", { ...whole, minimum: 1 }, "tokens"),
      query("verified", flag, "passed conformance checks"),
      query("deprecated", flag, "has an announced end"),
      query(
        "sort",
        oneOf("newest", "name", "context", "prompt_price", "completion_price"),
        "default `newest`",
      ),
      query("limit", { ...whole, minimum: 1, maximum: 1000 }, "with `anthropic-version` only"),
      query("after_id", text, "with `anthropic-version` only"),
      query("before_id", text, "with `anthropic-version` only"),
      MESSAGES_VERSION,
    ],
  },
  "GET /v1/models/{id}": {
    summary: "One model",
    tag: "Models",
    kind: "read",
    answers: { [JSON_TYPE]: { anyOf: [ref("Model"), ref("MessagesModel")] } },
    parameters: [inPath("id", "the model's id, slashes included"), MESSAGES_VERSION],
  },
  "GET /v1/usage": {
    summary: "Balance, this month, and what was charged",
    tag: "Records",
    kind: "read",
    answers: { [JSON_TYPE]: "Usage", "text/csv": text },
    parameters: [
      query("from", text, "Unix seconds, or an ISO date or instant"),
      query("to", text, "the same; exclusive"),
      query("group_by", oneOf("day", "model", "key", "provider"), "sums instead of rows"),
      query("limit", { ...whole, minimum: 1, maximum: 1000 }, "default 50"),
      query("cursor", text, "`next_cursor` of the page before"),
      query("format", oneOf("json", "csv"), "default `json`"),
    ],
  },
  "GET /v1/generation": {
    summary: "One request: every attempt with tokens and cost",
    tag: "Records",
    kind: "read",
    answers: { [JSON_TYPE]: "Generation" },
    parameters: [query("id", text, "the `x-request-id` of an earlier answer", true)],
  },
  "GET /v1/limits": {
    summary: "The limits of the key, and what is left of them",
    tag: "Records",
    kind: "read",
    answers: { [JSON_TYPE]: "Limits" },
    parameters: [query("model", text, "with the limits of this model")],
  },
  "POST /api/admission-limits": {
    summary: "Lower a limit, or remove what was set",
    description: "Limits can be lowered, never raised above their ceiling.",
    tag: "Records",
    kind: "read",
    body: "LimitChange",
    answers: { [JSON_TYPE]: "ChangedLimit" },
  },
};

/** An operation as OpenAPI has it. */
export function operationObject(name: string, operation: Operation): object {
  const {
    summary,
    description,
    tag,
    kind,
    body,
    answers,
    parameters,
    errors = "Error",
  } = operation;
  const bytesMax = operation.isSmall === true ? SMALL_BODY_BYTES_MAX : BODY_BYTES_MAX;
  const content = Object.fromEntries(
    Object.entries(answers).map(([type, schema]) => [
      type,
      { schema: typeof schema === "string" ? ref(schema) : schema },
    ]),
  );
  return {
    operationId: name
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, "_")
      .replace(/_$/, ""),
    summary,
    ...(description === undefined ? {} : { description }),
    tags: [tag],
    ...(parameters === undefined ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            description: `At most ${bytesMax} bytes.`,
            content: { [JSON_TYPE]: { schema: ref(body) } },
          },
        }),
    responses: {
      "200": {
        description: "Served",
        headers: headersOn("every answer", "served answers"),
        content,
      },
      ...refusalsOf(kind, errors),
    },
  };
}
