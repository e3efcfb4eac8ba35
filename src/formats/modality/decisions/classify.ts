import type { Deployment } from "../../../catalog/index.ts";
import { asObject, RETRY_AFTER_SECONDS_MAX, tryParse } from "../../../kernel/index.ts";
import {
  accountRefused,
  classify,
  contextOverflow,
  type Failed,
  isOverflow,
  rateLimited,
  requestRejected,
} from "../../wire/failure/classify-failure.ts";
import { matchesWording, findStatus, type Wording } from "../../wire/failure/wording.ts";
import {
  type FailedAnswer,
  hasError,
  PASSED_ON,
  STRUCK,
  timeoutFailure,
  unusableFailure,
  type UpstreamFailure,
  upstreamFailure,
} from "../../wire/failure/failures.ts";
import type { ProviderErrorText } from "../../wire/failure/provider-message.ts";
import { readWaits } from "../../wire/failure/retry-after.ts";
import {
  envelopeWording,
  openEnvelope,
  readDecisionWording,
  findEnvelopeStatus,
} from "./envelope.ts";

/** A 2xx can be a failure too: some providers wrap answers in an envelope with a success flag. */
export function classifyDecision(
  failed: FailedAnswer,
  deployment: Deployment,
  nowMs: number,
): UpstreamFailure {
  const { status } = failed;
  if (status >= 200 && status < 300) return classifyPlainBody(failed, deployment);
  return classifyByRules(
    {
      status,
      upstreamStatus: status,
      errorText: readDecisionWording(failed.body),
      ...readWaits(failed.headers, nowMs),
    },
    deployment,
  );
}

export function classifyDecisionWording(
  errorText: ProviderErrorText,
  deployment: Deployment,
): UpstreamFailure {
  const status = findEnvelopeStatus(errorText) ?? findStatus(errorText) ?? 502;
  return classifyByRules({ status, upstreamStatus: 200, errorText }, deployment);
}

function classifyPlainBody(
  { body, status }: FailedAnswer,
  deployment: Deployment,
): UpstreamFailure {
  const value = asObject(tryParse(body.toString("utf8").trim())?.value);
  if (value === undefined) return unusableFailure(status);
  const opened = openEnvelope(value, deployment.decisions?.envelope);
  if (opened.kind === "refused") return classifyDecisionWording(opened.errorText, deployment);
  return isErrorBody(value, deployment)
    ? classifyDecisionWording(envelopeWording(value), deployment)
    : unusableFailure(status);
}

/** Always false if the listing declares an envelope: its flag says whether the call failed. */
export function isErrorBody(
  { error }: Readonly<Record<string, unknown>>,
  { decisions }: Deployment,
): boolean {
  return hasError(error) && decisions?.envelope === undefined;
}

function classifyByRules(failed: Failed, deployment: Deployment): UpstreamFailure {
  return classify(failed, {
    special,
    throttled,
    isOverflow: isTooLong,
    accountRefused: (refused, status) => accessRefused(refused, status, deployment),
    rejected: requestRejected,
  });
}

function special(failed: Failed): UpstreamFailure | undefined {
  const { status, errorText } = failed;
  // One provider gives up after a minute with a 504. That is a whole strike; a timeout is half.
  if (status === 504) return { ...timeoutFailure(failed.upstreamStatus), strike: "strike" };
  if (status === 425) return warmingUp(failed);
  const isRejected = status >= 400 && status < 500 && status !== 429;
  return isRejected && errorText.codes.includes(OVERFLOW_CODE)
    ? contextOverflow(failed)
    : undefined;
}

const OVERFLOW_CODE = "5021";

const tooLongWording: Wording = {
  codes: [],
  patterns: [/maximum context length/, /context window/],
};

function isTooLong({ status, errorText }: Failed): boolean {
  if (status === 413) return true;
  return (
    (status === 400 || status === 422) &&
    (isOverflow(errorText) || matchesWording(errorText, tooLongWording))
  );
}

/** A 429 with this wording reports an exhausted daily allowance, not too many requests. */
const allowanceWording: Wording = {
  codes: ["3036", "4006"],
  patterns: [/daily free allocation/],
};

/** Too many requests and an exhausted allowance both start a cooldown, and neither is a strike. */
function throttled(failed: Failed): UpstreamFailure {
  if (!matchesWording(failed.errorText, allowanceWording)) return rateLimited(failed);
  const coolSeconds = failed.waitSeconds ?? failed.resetSeconds ?? RETRY_AFTER_SECONDS_MAX;
  return { ...allowanceRefused(failed), strike: "neutral", coolSeconds };
}

/** If a customer's own key is refused, the client gets a 401, 402 or 403, without failover. */
function accessRefused(failed: Failed, status: number, deployment: Deployment): UpstreamFailure {
  const refused = accountRefused(failed, status);
  if (deployment.ownKey !== undefined) return { ...refused, failover: false, strike: "neutral" };
  const isAllowance =
    deployment.decisions?.wire === "systemone" || isAboutAllowance(failed.errorText);
  return isAllowance ? allowanceRefused(failed) : refused;
}

function isAboutAllowance({ all, codes }: ProviderErrorText): boolean {
  const said = [all, ...codes].join(" ").replaceAll("_", " ");
  return /\b(credits?|plans?|billing|tokens?|capacity)\b/.test(said);
}

/** Refuses with the longest `retry-after`: an exhausted allowance lasts more than a minute. */
function allowanceRefused(failed: Failed): UpstreamFailure {
  const message =
    "no provider serves this model at the moment: its quota or credit at the provider is " +
    "exhausted or refused; your request is valid, choose another model meanwhile";
  const detail = {
    upstreamStatus: failed.upstreamStatus,
    status: 503,
    retryable: false,
    retryAfterSeconds: RETRY_AFTER_SECONDS_MAX,
  };
  return upstreamFailure("model_unavailable", message, detail, STRUCK);
}

const WARMING_RETRY_SECONDS = 5;

/**
 * The provider is still loading the model. A retry can succeed after a few seconds, so there is no
 * strike, and the class is not `model_unavailable`, after which clients wait longer.
 */
function warmingUp(failed: Failed): UpstreamFailure {
  const retryAfter = failed.waitSeconds ?? WARMING_RETRY_SECONDS;
  const message = `the provider is loading this model; try again in ${retryAfter} s`;
  const { upstreamStatus } = failed;
  const detail = { upstreamStatus, status: 503, retryable: true, retryAfterSeconds: retryAfter };
  return upstreamFailure("upstream_error", message, detail, PASSED_ON);
}
