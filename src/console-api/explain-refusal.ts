import type { RefusalClass } from "../core/index.ts";

/** What a class of refusal or failure means to the person who meets it, and what to do about it. */
export function explainRefusal(errorClass: string): string {
  return Object.hasOwn(WORDS, errorClass)
    ? WORDS[errorClass as RefusalClass]
    : "The request was not served. Support can find the reason by its id.";
}

const WORDS: Readonly<Record<RefusalClass, string>> = {
  auth: "The key was missing, wrong or disabled; or every provider of the model refused the marketplace's own account. Check the key on the keys page; if it is active, try again later or choose another model.",
  invalid_request:
    "No provider of the model could serve the request as it was sent. The error message named the field: change it and send the request again.",
  model_not_priced:
    "The model is listed without a price, so it cannot be used. Report it to support with the request id.",
  context_overflow:
    "The prompt and the requested answer together exceed the model's context window. Send a shorter prompt, or ask for fewer tokens.",
  content_policy:
    "The provider refused the content of the request. It was not billed, and no other provider was tried. Change the content.",
  model_unavailable:
    "There is no such model, or no provider of it could be reached. Choose an id from the models page; if the model is listed there, try again in a moment.",
  upstream_error:
    "Every provider of the model failed or took too long. Trying again after a few seconds often succeeds; the request page shows which providers were tried.",
  not_found:
    "The path does not exist, or the record does not belong to your organization. Check the path and the id.",
  request_too_large: "The body was larger than the route accepts. Send a smaller body.",
  rate_limit:
    "A limit was reached: requests per minute, tokens per minute or concurrent requests of the key, a model, the organization or the provider. Wait as long as retry-after says. The limits page shows current use. An organization that never had credit has lower limits until it buys some.",
  email_not_verified:
    "The account's e-mail is not verified. Open the link in the verification e-mail and sign in again.",
  insufficient_quota:
    "The highest possible cost of the request is above what is available: the balance minus what running requests hold, or what is left of a monthly cap. Add credit, raise or remove the cap, or ask for fewer output tokens.",
  usage_limited:
    "Unusual use was detected for an organization that never bought credit, so requests of this kind are limited for some minutes. Wait as long as retry-after says; contact support if it continues.",
  usage_restricted:
    "Unusual use of the organization was detected again, so requests of this kind are refused until support has reviewed them. Contact support with the request id.",
  gateway_error:
    "The gateway could not serve the request: it was too busy, its limit or ledger store did not answer, or it failed. No more than the settled cost was charged. Try again; if it continues, contact support with the request id.",
};
