import type { JsonObject } from "./json.ts";

/** The error of a wire when a request or the provider is at fault. */
export interface SimError {
  readonly status: number;
  readonly message: string;
  readonly code?: string;
}

export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The troubles with the status, message and code of one host. */
export interface Troubles {
  readonly overloaded?: SimError;
  readonly context_overflow: SimError;
  readonly content_filter: SimError;
  readonly failed: SimError;
}

/** An error as a host of images or videos writes it. */
export type ErrorWriter = (error: SimError) => JsonObject;

/** A type in the error besides the code. */
export const referenceError: ErrorWriter = ({ status, message, code }) => {
  const isModeration = code === "moderation_blocked" || code === "content_policy_violation";
  const type = isModeration
    ? "image_generation_user_error"
    : status >= 500
      ? "server_error"
      : "invalid_request_error";
  return { error: { message, type, param: null, code: code ?? null } };
};

/** The status as the code; the code proper beside it. */
export const relayError: ErrorWriter = ({ status, message, code }) => ({
  error: {
    code: status,
    message,
    ...(code === undefined ? {} : { metadata: { error_type: code, provider_name: "Simulated" } }),
  },
});

/** Two texts side by side. */
export const plainError: ErrorWriter = ({ status, message, code }) => ({
  code: code ?? (status >= 500 ? "The service is currently unavailable" : "Invalid argument"),
  error: message,
});
