/** One class of refusal of the gateway, as a programmer meets it. */
export interface ErrorRow {
  readonly name: string;
  /** The usual one; the text says when it is another. */
  readonly status: number;
  readonly mayRetry: boolean;
  readonly when: string;
  readonly todo: string;
}

/** Every class, in the order of the errors reference. */
export const ERROR_ROWS: readonly ErrorRow[] = [
  row("auth", 401, "the key is missing, wrong or disabled", "fix the header or the key"),
  row(
    "invalid_request",
    400,
    "no provider of the model can serve the request as it was sent",
    "change the field that the message names",
  ),
  row(
    "model_not_priced",
    400,
    "the model is listed but has no price",
    "report it with the request ID",
  ),
  row(
    "context_overflow",
    400,
    "the prompt is longer than the context window",
    "send a shorter prompt or a smaller output bound",
  ),
  row(
    "content_policy",
    400,
    "the provider refused the content; it is not billed",
    "change the content",
  ),
  row(
    "model_unavailable",
    404,
    "404: no such model; 502: no provider could be reached; 503: a provider has no capacity",
    "404: pick an id from the models page; 502: retry once after two seconds",
  ),
  retryable(
    "upstream_error",
    502,
    "the provider failed and no other could serve; 504: it took too long",
    "retry once after two seconds",
  ),
  row(
    "not_found",
    404,
    "no such route, or no such record of your organization",
    "check the path and the id",
  ),
  row("request_too_large", 413, "the body is larger than its route accepts", "send a smaller body"),
  retryable(
    "rate_limit",
    429,
    "a limit of requests, tokens or concurrency was reached",
    "wait for retry-after, then retry once",
  ),
  row(
    "email_not_verified",
    403,
    "your email is not verified",
    "verify it at your identity provider, then sign in again",
  ),
  row(
    "insufficient_quota",
    429,
    "the balance is too low, or a monthly cap would be exceeded",
    "add credit, lower max_tokens, or wait for the next month",
  ),
  retryable(
    "usage_limited",
    429,
    "unusual use on trial credit: requests of this kind are limited",
    "wait for retry-after; contact support when it persists",
  ),
  row(
    "usage_restricted",
    403,
    "unusual use: requests of this kind are refused until support has reviewed them",
    "contact support",
  ),
  retryable(
    "gateway_error",
    500,
    "400: the output bound was refused; 500: a fault here; 503: nothing was sent and nothing charged; 504: no provider in time",
    "503 and 504: wait for retry-after and resend; 500: report it with the request ID",
  ),
];

function row(name: string, status: number, when: string, todo: string): ErrorRow {
  return { name, status, mayRetry: false, when, todo };
}
function retryable(name: string, status: number, when: string, todo: string): ErrorRow {
  return { name, status, mayRetry: true, when, todo };
}
