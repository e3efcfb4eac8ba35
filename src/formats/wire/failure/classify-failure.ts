import { asObject, defined, tryParse } from "../../../kernel/index.ts";
import {
  accessWording,
  billingWording,
  contentPolicyWording,
  contextOverflowWording,
  OVERLONG_STRING_CODE,
  QUOTA_CODES,
  rateLimitWording,
  matchesWording,
  modelGoneWording,
  findStatus,
  type Wording,
} from "./wording.ts";
import {
  type FailedAnswer,
  FINAL,
  PASSED_ON,
  STRUCK,
  timeoutFailure,
  unusableFailure,
  type UpstreamFailure,
  upstreamFailure,
} from "./failures.ts";
import {
  cleanProviderMessage,
  isMarkup,
  type ProviderErrorText,
  quoteRequestMessage,
  readProviderErrorText,
  extractErrorText,
  withoutQuotes,
} from "./provider-message.ts";
import { readWaits, type Waits } from "./retry-after.ts";

/**
 * Dates in `retry-after` are compared with `nowMs`; if that is absent, with the answer's `date`.
 */
export function classifyFailure(answer: FailedAnswer, nowMs?: number): UpstreamFailure {
  if (answer.status >= 200 && answer.status < 300) return classifyPlainBody(answer);
  return classify({
    status: answer.status,
    upstreamStatus: answer.status,
    errorText: readProviderErrorText(answer.body),
    ...readWaits(answer.headers, nowMs),
  });
}

/** Classifies a 2xx that is not an answer: by its `error` if it has one, else as unusable. */
export function classifyPlainBody(answer: Pick<FailedAnswer, "status" | "body">): UpstreamFailure {
  const body = asObject(tryParse(answer.body.toString("utf8").trim())?.value);
  const isError = body !== undefined && body["error"] !== undefined && body["error"] !== null;
  return isError ? classifyEmbeddedError(body) : unusableFailure(answer.status);
}

/** Classifies the error in the body of a 200. */
export function classifyEmbeddedError(body: unknown): UpstreamFailure {
  const errorText = extractErrorText(body);
  // If no code gives a status, refused content or an overflow counts as 400, a faulty request.
  const isOfRequest = matchesWording(errorText, contentPolicyWording) || isOverflow(errorText);
  return classify({
    status: findStatus(errorText) ?? (isOfRequest ? 400 : 502),
    upstreamStatus: 200,
    errorText,
  });
}

export interface Failed extends Waits {
  /** The status that the error stands for. For an error inside a 200, `upstreamStatus` is 200. */
  readonly status: number;
  readonly upstreamStatus: number;
  readonly errorText: ProviderErrorText;
}

/** The steps of `classify` in which modalities differ. Their order is the same for all. */
export interface FailureRules {
  /** Classifies a failure that only this modality's providers report; else undefined. */
  readonly special: (failed: Failed) => UpstreamFailure | undefined;
  readonly throttled: (failed: Failed) => UpstreamFailure;
  readonly isOverflow: (failed: Failed) => boolean;
  readonly accountRefused: (failed: Failed, status: number) => UpstreamFailure;
  /** Classifies a rejected request that no other step recognizes. */
  readonly rejected: (failed: Failed) => UpstreamFailure;
}

const CHAT_RULES: FailureRules = {
  special: () => undefined,
  throttled: rateLimited,
  isOverflow: ({ errorText }) => isOverflow(errorText),
  accountRefused,
  rejected: quoteProvider,
};

/** For a 4xx other than 408 and 429, wording counts before the status, which providers mix up. */
export function classify(failed: Failed, rules: FailureRules = CHAT_RULES): UpstreamFailure {
  const { status } = failed;
  if (status === 408) return timeoutFailure(failed.upstreamStatus);
  const special = rules.special(failed);
  if (special !== undefined) return special;
  if (status < 400 || status >= 500) return providerFault(failed);
  if (status === 429) return rules.throttled(failed);
  const stated = withoutQuotedRequest(failed);
  const says = (wording: Wording): boolean => matchesWording(stated.errorText, wording);
  // Many providers blame the account with a 400, and Fireworks with a 412.
  const isUnclear = status === 400 || status === 412;
  if ((isUnclear || isOfAccount(status)) && says(accessWording)) {
    return rules.accountRefused(failed, isUnclear ? 401 : status);
  }
  if (isAboutContent(stated)) return contentRefused(failed);
  // A 401, 402 or 403 that mentions limits is still about the account.
  if (!isOfAccount(status) && says(rateLimitWording)) return limited(stated);
  // Groq's 498 has the wording of a rate limit; Cohere's refuses a token that it does not allow.
  if (status === 498) return contentRefused(failed);
  if (rules.isOverflow(failed)) return contextOverflow(failed);
  if (isOfAccount(status)) return rules.accountRefused(failed, status);
  if (isUnclear && says(billingWording)) return rules.accountRefused(failed, 402);
  // NVIDIA answers with 410 once a model has reached its end of life.
  if (status === 404 || status === 410 || says(modelGoneWording)) return modelGone(failed);
  return rules.rejected(failed);
}

function isOfAccount(status: number): boolean {
  return status === 401 || status === 402 || status === 403;
}

/**
 * Removes what a rejection may quote from the request. A client's own words, such as a tool
 * parameter named `rate_limits`, must not pause a model for all clients.
 */
function withoutQuotedRequest(failed: Failed): Failed {
  if (isOfAccount(failed.status)) return failed;
  const { errorText } = failed;
  return { ...failed, errorText: { ...errorText, all: withoutQuotes(errorText.all) } };
}

function quoteProvider(failed: Failed): UpstreamFailure {
  const failure = requestRejected(failed);
  const { upstreamStatus, errorText } = failed;
  const isBlamed = upstreamStatus === 400 || upstreamStatus === 422;
  const isQuoted = isBlamed && !isMarkup(errorText.message);
  const message = isQuoted ? quoteRequestMessage(errorText.message) : undefined;
  if (message === undefined) return failure;
  return { ...failure, refusal: { ...failure.refusal, message } };
}

function isAboutContent({ status, errorText }: Failed): boolean {
  if (status === 401 || status === 402) return false;
  // Some image providers answer refused content with 451 (unavailable for legal reasons).
  return status === 451 || errorText.flagged || matchesWording(errorText, contentPolicyWording);
}

export function isOverflow(errorText: ProviderErrorText): boolean {
  const overlong =
    errorText.codes.includes(OVERLONG_STRING_CODE) && /^(messages|input)/.test(errorText.param);
  return overlong || matchesWording(errorText, contextOverflowWording);
}

const COOL_SECONDS = 5;
const QUOTA_COOL_SECONDS = 60;

export function rateLimited(failed: Failed): UpstreamFailure {
  const isQuota =
    failed.errorText.codes.some((code) => QUOTA_CODES.includes(code)) ||
    matchesWording(failed.errorText, billingWording);
  const usualSeconds = isQuota ? QUOTA_COOL_SECONDS : COOL_SECONDS;
  const coolSeconds = failed.waitSeconds ?? failed.resetSeconds ?? usualSeconds;
  const message = `the providers of this model are at their rate limit; retry in ${coolSeconds} s`;
  const detail = { upstreamStatus: failed.upstreamStatus, retryAfterSeconds: coolSeconds };
  return upstreamFailure("rate_limit", message, detail, { ...PASSED_ON, coolSeconds });
}

/** A request above a limit of the whole minute is refused in every minute, and others are not. */
function limited(failed: Failed): UpstreamFailure {
  const failure = rateLimited(failed);
  const [, limit, requested] = REQUESTED.exec(failed.errorText.all) ?? [];
  if (failed.status !== 413 || !(Number(requested) > Number(limit))) return failure;
  const { coolSeconds: _coolSeconds, ...lasting } = failure;
  return lasting;
}

/** Groq's wording. Where a part of the limit is used, how much is said between the two. */
const REQUESTED = /limit (\d+), requested (\d+)/;

export function accountRefused(failed: Failed, status: number): UpstreamFailure {
  const message =
    "the provider refused the marketplace's own account; your key and your request are valid, " +
    "choose another model meanwhile";
  const { upstreamStatus } = failed;
  return upstreamFailure("auth", message, { upstreamStatus, status, retryable: false }, STRUCK);
}

export function contentRefused({ status, upstreamStatus }: Failed): UpstreamFailure {
  const message = "the provider refused the content of this request; change the content";
  return upstreamFailure("content_policy", message, { upstreamStatus, status }, FINAL);
}

export function contextOverflow({ status, upstreamStatus, errorText }: Failed): UpstreamFailure {
  const message = cleanProviderMessage(errorText.message);
  return upstreamFailure("context_overflow", message, { upstreamStatus, status }, FINAL);
}

function modelGone({ upstreamStatus }: Failed): UpstreamFailure {
  const message = "no provider serves this model at the moment; try again in about two seconds";
  const detail = { upstreamStatus, status: 502, retryable: true };
  return upstreamFailure("model_unavailable", message, detail, PASSED_ON);
}

export function requestRejected({ status, upstreamStatus }: Failed): UpstreamFailure {
  const message = `the provider rejected the request with status ${status}; change the request`;
  const detail = { upstreamStatus, status, retryable: false };
  return upstreamFailure("upstream_error", message, detail, FINAL);
}

const UNAVAILABLE_RETRY_SECONDS = 2;

function providerFault(failed: Failed): UpstreamFailure {
  const status = clientStatus(failed.status);
  const message = "the provider failed to answer; try again in about two seconds";
  const retryAfter = failed.waitSeconds ?? (status === 503 ? UNAVAILABLE_RETRY_SECONDS : undefined);
  const waits = defined({ retryAfterSeconds: retryAfter });
  const detail = { upstreamStatus: failed.upstreamStatus, status, ...waits };
  return upstreamFailure("upstream_error", message, detail, STRUCK);
}

/** Keeps 500, 502, 503 and 504. 529 becomes 503, and others, such as the 52x of proxies, 502. */
function clientStatus(status: number): number {
  if (status === 529) return 503;
  return status === 500 || status === 502 || status === 503 || status === 504 ? status : 502;
}
