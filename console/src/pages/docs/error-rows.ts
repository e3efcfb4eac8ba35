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
  row("auth", 401, "The key is missing, wrong, or disabled.", "Fix the header or the key."),
  row(
    "invalid_request",
    400,
    "No provider of the model can serve the request as sent.",
    "Change the field named in the message.",
  ),
  row(
    "model_not_priced",
    400,
    "The model is listed but has no price.",
    "Report it with the request ID.",
  ),
  row(
    "context_overflow",
    400,
    "The prompt is longer than the context window.",
    "Send a shorter prompt, or lower max_tokens.",
  ),
  row(
    "content_policy",
    400,
    "The provider rejected the content. Nothing was charged.",
    "Change the content.",
  ),
  row(
    "model_unavailable",
    404,
    "404: there is no such model. 502: no provider could be reached. 503: a provider has no capacity.",
    "404: choose an ID from the models page. 502: retry once after two seconds.",
  ),
  retryable(
    "upstream_error",
    502,
    "The provider failed, and no other could serve the request. 504: it took too long.",
    "Retry once after two seconds.",
  ),
  row(
    "not_found",
    404,
    "There is no such route, or no such record in your organization.",
    "Check the path and the ID.",
  ),
  row(
    "request_too_large",
    413,
    "The body is larger than the route accepts.",
    "Send a smaller body.",
  ),
  retryable(
    "rate_limit",
    429,
    "A limit on requests, tokens, or concurrent requests was reached.",
    "Wait for the time in retry-after, then retry once.",
  ),
  row(
    "email_not_verified",
    403,
    "Your email is not verified.",
    "Verify it at your identity provider, then sign in again.",
  ),
  row(
    "insufficient_quota",
    429,
    "The balance is too low, or a monthly cap would be exceeded.",
    "Add credit, lower max_tokens, or wait until the cap resets.",
  ),
  retryable(
    "usage_limited",
    429,
    "Unusual use on trial credit: requests of this type are limited.",
    "Wait for the time in retry-after. Contact support if it continues.",
  ),
  row(
    "usage_restricted",
    403,
    "Unusual use: requests of this type are rejected until support has reviewed them.",
    "Contact support.",
  ),
  retryable(
    "gateway_error",
    500,
    "400: the output limit was rejected. 500: an error in the gateway. 503: nothing was sent and nothing charged. 504: no provider was reached in time.",
    "503 and 504: wait for the time in retry-after, then resend. 500: report it with the request ID.",
  ),
];

function row(name: string, status: number, when: string, todo: string): ErrorRow {
  return { name, status, mayRetry: false, when, todo };
}
function retryable(name: string, status: number, when: string, todo: string): ErrorRow {
  return { name, status, mayRetry: true, when, todo };
}
