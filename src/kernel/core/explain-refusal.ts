import type { RefusalClass } from "./refusals.ts";

/** Response headers of the gateway that the console also shows on the page of the request. */
export const ANSWER_HEADERS = {
  provider: "x-tm-provider",
  attempts: "x-tm-attempts",
  remainingRequests: "x-tm-remaining-rpm",
  remainingTokens: "x-tm-remaining-tpm",
  queueMs: "x-tm-queue-ms",
  droppedParams: "x-tm-dropped-params",
  errorCode: "x-tm-error-code",
  errorOrigin: "x-tm-error-origin",
  limitScope: "x-tm-limit-scope",
  limitKind: "x-tm-limit-kind",
  limitId: "x-tm-limit-id",
  capReset: "x-tm-cap-reset",
  retryAfter: "retry-after",
} as const;

export function explainRefusal(errorClass: string): string {
  return Object.hasOwn(WORDS, errorClass)
    ? WORDS[errorClass as RefusalClass]
    : "The request was not served. Contact support with its ID to learn why.";
}

const WORDS: Readonly<Record<RefusalClass, string>> = {
  auth: "The key was missing, wrong, or disabled, or every provider of the model rejected Token Market's account. Check the key on the keys page. If it is active, try again later or choose another model.",
  invalid_request:
    "No provider of the model could serve the request as it was sent. The error message names the field. Change it and send the request again.",
  model_not_priced:
    "The model is listed without a price, so it cannot be used. Report it to support with the request ID.",
  context_overflow:
    "The prompt and the requested answer together exceed the model's context window. Send a shorter prompt, or ask for fewer tokens.",
  content_policy:
    "The provider rejected the content of the request. Nothing was charged, and no other provider was tried. Change the content.",
  model_unavailable:
    "There is no such model, or none of its providers could be reached. Choose a model ID from the models page. If the model is listed there, try again in a moment.",
  upstream_error:
    "Every provider of the model failed or took too long. Try again in a few seconds.",
  not_found:
    "The path does not exist, or the record does not belong to your organization. Check the path and the ID.",
  request_too_large: "The body was larger than the route accepts. Send a smaller body.",
  rate_limit:
    "A rate limit of the key, the model, the organization, or the provider was reached. Wait for the time in retry-after, then try again. The limits page shows current use. Limits are lower until your organization adds credit.",
  email_not_verified:
    "The account's email address is not verified. Open the link in the verification email, then sign in again.",
  insufficient_quota:
    "The maximum cost of the request is more than your available balance, or than what is left of a monthly cap. Add credit, raise or remove the cap, or ask for fewer output tokens.",
  usage_limited:
    "Unusual use was detected in an organization that has not bought credit, so requests of this type are limited for some minutes. Wait for the time in retry-after. Contact support if it continues.",
  usage_restricted:
    "Unusual use was detected again, so requests of this type are rejected until support has reviewed them. Contact support with the request ID.",
  gateway_error:
    "The gateway could not serve the request: it was too busy, or part of it did not answer. You were charged no more than the settled cost. Try again. If it keeps failing, contact support with the request ID.",
};
