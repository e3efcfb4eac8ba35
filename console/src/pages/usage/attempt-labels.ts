import type { Attempt, RequestRow } from "../../../../src/console-api/contract.ts";

/** Why the gateway continued with another provider after this attempt; undefined: it did not. */
export function failoverReason(attempt: Attempt, next: Attempt | undefined): string | undefined {
  if (next === undefined) return undefined;
  const reason = `${attempt.provider} ${whatHappened(attempt)}`;
  return next.provider === attempt.provider
    ? `${reason}, so the gateway tried again.`
    : `${reason}, so the gateway continued with ${next.provider}.`;
}

function whatHappened({ outcome, error_class, upstream_status }: Attempt): string {
  if (outcome === "lost_in_restore")
    return "was lost in a restore of the database, and cost nothing";
  if (outcome === "timeout") return "did not answer in time";
  if (outcome === "reset") return "broke the connection";
  if (outcome === "stream_died") return "ended its answer before it was complete";
  const words = error_class === null ? undefined : CLASSES[error_class];
  const status = upstream_status === null ? "" : ` (status ${upstream_status})`;
  return `${words ?? "could not serve the request"}${status}`;
}
const CLASSES: Readonly<Record<string, string>> = {
  rate_limit: "was at its rate limit",
  auth: "did not accept the marketplace's account",
  model_unavailable: "could not be reached or did not serve the model",
  upstream_error: "failed",
  gateway_error: "gave an answer that cannot be translated",
};

/** What a class of refusal or failure means for the caller, and the next step. */
export function errorAdvice(row: RequestRow): string | undefined {
  if (row.error_class === null) return undefined;
  return ADVICE[row.error_class];
}
const ADVICE: Readonly<Record<string, string>> = {
  auth: "The key was missing, wrong or disabled, or the marketplace's own account at the provider failed. Check the key.",
  invalid_request:
    "No provider can serve the request as it was sent. Change the field that the error's message names.",
  model_not_priced: "The model has no price. Report it with the request id.",
  context_overflow:
    "The prompt is longer than the model's context. Shorten it or choose a model with more context.",
  content_policy: "The provider refused the content. It was not tried elsewhere and cost nothing.",
  model_unavailable:
    "The model is not listed, or no provider could be reached. Try again in a few seconds.",
  upstream_error:
    "The provider failed or took too long, and no other provider could serve the request. Try again.",
  not_found: "There is no such route or record.",
  request_too_large: "The body was too large. Send less in one request.",
  rate_limit: "A limit was reached. Wait as long as the retry-after header says, then try again.",
  email_not_verified: "The account's e-mail address is not verified.",
  insufficient_quota:
    "The balance or a monthly cap did not cover the request. Add credit or raise the cap.",
  usage_limited:
    "Unusual use of trial credit was detected. Wait as long as the retry-after header says.",
  usage_restricted:
    "Unusual use of trial credit was detected. Support has to review it; contact support.",
  gateway_error: "The gateway could not serve the request. Nothing was charged; try again.",
};
