import type { JsonObject } from "./json.ts";

/** An error of a provider, before it gets the format of a wire. */
export interface SimError {
  readonly status: number;
  readonly message: string;
  readonly code?: string;
}

export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface Troubles {
  readonly overloaded?: SimError;
  readonly context_overflow: SimError;
  readonly content_filter: SimError;
  readonly failed: SimError;
}

export type ErrorWriter = (error: SimError) => JsonObject;

/** Writes an error with a `type` in addition to its `code`. */
export const referenceError: ErrorWriter = ({ status, message, code }) => {
  const isModeration = code === "moderation_blocked" || code === "content_policy_violation";
  const type = isModeration
    ? "image_generation_user_error"
    : status >= 500
      ? "server_error"
      : "invalid_request_error";
  return { error: { message, type, param: null, code: code ?? null } };
};

/** Writes an error with its HTTP status as `code`, and its `code` as `metadata.error_type`. */
export const relayError: ErrorWriter = ({ status, message, code }) => ({
  error: {
    code: status,
    message,
    ...(code === undefined ? {} : { metadata: { error_type: code, provider_name: "Simulated" } }),
  },
});

/** Writes an error as two texts: a code and a message. */
export const plainError: ErrorWriter = ({ status, message, code }) => ({
  code: code ?? (status >= 500 ? "The service is currently unavailable" : "Invalid argument"),
  error: message,
});
