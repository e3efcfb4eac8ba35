import { chatChunks, chatCompletion } from "./chat-answers.ts";
import { chatProblem } from "./chat-checks.ts";
import { readChatRequest } from "./chat-request.ts";
import type { Dialect } from "./dialect.ts";
import type { JsonObject } from "./json.ts";
import { messageEvents, wholeMessage } from "./messages-answers.ts";
import { messagesProblem } from "./messages-checks.ts";
import { readMessagesRequest } from "./messages-request.ts";
import type { SimError } from "./sim-error.ts";

export const chatDialect: Dialect = {
  findProblem: (body) => chatProblem(body),
  read: readChatRequest,
  json: chatCompletion,
  models: chatModels,
  frames: chatChunks,
  error: chatError,
  errorFrame: (error) => ({ kind: "content", data: JSON.stringify(chatError(error)) }),
  troubles: {
    overloaded: { status: 503, message: "The engine is currently overloaded, try again later" },
    context_overflow: {
      status: 400,
      code: "context_length_exceeded",
      message:
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 200000 tokens. Please reduce the length of the messages.",
    },
    content_filter: {
      status: 400,
      code: "content_filter",
      message: "The response was filtered due to the prompt triggering the content policy.",
    },
    failed: { status: 500, message: "The server had an error while processing your request." },
  },
  requestIdHeader: "x-request-id",
};

export const messagesDialect: Dialect = {
  findProblem: messagesProblem,
  read: readMessagesRequest,
  json: wholeMessage,
  models: messagesModels,
  frames: messageEvents,
  error: messagesError,
  errorFrame: (error) => ({
    kind: "content",
    event: "error",
    data: JSON.stringify(messagesError(error)),
  }),
  troubles: {
    overloaded: { status: 529, message: "Overloaded" },
    context_overflow: {
      status: 400,
      message: "prompt is too long: 210000 tokens > 200000 maximum",
    },
    content_filter: {
      status: 400,
      message: "Output blocked by content filtering policy",
    },
    failed: { status: 500, message: "Internal server error" },
  },
  requestIdHeader: "request-id",
};

function chatModels(ids: readonly string[], created: number): JsonObject {
  const owner = { object: "model", created, owned_by: "simulator" };
  return { object: "list", data: ids.map((id) => ({ id, ...owner })) };
}

function messagesModels(ids: readonly string[], createdS: number): JsonObject {
  const created_at = new Date(createdS * 1000).toISOString();
  return {
    data: ids.map((id) => ({ type: "model", id, display_name: id, created_at })),
    has_more: false,
    first_id: ids[0] ?? null,
    last_id: ids.at(-1) ?? null,
  };
}

const CHAT_ERROR_TYPES: Readonly<Record<number, string>> = {
  429: "rate_limit_exceeded",
  500: "server_error",
  502: "server_error",
  503: "server_error",
  504: "server_error",
};

function chatError({ status, message, code }: SimError): JsonObject {
  const type = CHAT_ERROR_TYPES[status] ?? "invalid_request_error";
  return { error: { message, type, param: null, code: code ?? null } };
}

const MESSAGES_ERROR_TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
  529: "overloaded_error",
};

function messagesError({ status, message }: SimError): JsonObject {
  const type = MESSAGES_ERROR_TYPES[status] ?? "api_error";
  return { type: "error", error: { type, message }, request_id: "req_simulated" };
}
