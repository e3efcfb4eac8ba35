import type { RefusalClass } from "../core/refusals.ts";

/** What a class of refusal or failure means to the person who meets it, and what to do about it. */
export function explainRefusal(errorClass: string): string {
  return Object.hasOwn(WORDS, errorClass)
    ? WORDS[errorClass as RefusalClass]
    : "The request was not served. Support can tell why from its id.";
}

const WORDS: Readonly<Record<RefusalClass, string>> = {
  auth: "The key was missing, wrong or disabled; or every provider of the model refused the marketplace's own account. Check the key on the keys page; when it is active, try again later or pick another model.",
  invalid_request:
    "No provider of the model could serve the request as it was sent. The message of the answer named the field: change it and send the request again.",
  model_not_priced:
    "The model is listed without a price, so it cannot be sold. Tell support the request id.",
  context_overflow:
    "The prompt was longer than the model can read together with its answer. Send a shorter prompt, or ask for fewer tokens.",
  content_policy:
    "The provider refused the content of the request. It was not billed and no other provider was asked. Change the content.",
  model_unavailable:
    "There is no such model, or no provider of it could be reached. Pick an id from the models page; if it is there, try again after a moment.",
  upstream_error:
    "Every provider of the model failed or took too long. One more try after a few seconds often succeeds; the request page shows who was asked.",
  not_found:
    "The path does not exist, or the record asked for is not one of your organization. Check the address and the id.",
  request_too_large: "The body was larger than the route takes. Send a smaller one.",
  rate_limit:
    "A limit was reached: requests or tokens a minute, or requests at the same time, of the key, a model, the organization or the provider. Wait as long as retry-after said. The limits page shows what is used; an organization that never held credit runs at a lower limit until it buys some.",
  email_not_verified:
    "The account's e-mail is not verified. Open the link in the verification e-mail and sign in again.",
  insufficient_quota:
    "The most that the request could cost was above what is available: the balance without what other requests hold, or what is left of a monthly cap. Buy credit, raise or remove the cap, or ask for fewer output tokens.",
  usage_limited:
    "The use of an organization that never bought credit looked unusual, so requests of this kind are limited for some minutes. Wait as long as retry-after said; write to support when it goes on.",
  usage_restricted:
    "The use of the organization looked unusual again, so requests of this kind are refused until support has looked at it. Write to support with the request id.",
  gateway_error:
    "The gateway could not serve the request: it was too busy, its limit or ledger store did not answer, or it failed. Nothing more than the settled cost was charged. Try again; if it goes on, tell support the request id.",
};
