import { ANSWER_HEADERS, type Refusal, RETRY_AFTER_SECONDS_MAX } from "../../kernel/index.ts";
import type { ServedHeaders } from "../call/client-exchange.ts";

/** Alternating names and values, as `writeHead` takes them. */
export type HeaderList = string[];

/** First headers of the API's answers: the request id under two names, CORS without credentials. */
export function baseHeaders(requestId: string): HeaderList {
  return [
    HEADERS.requestId.name,
    requestId,
    HEADERS.requestIdB.name,
    requestId,
    "access-control-allow-origin",
    "*",
    "access-control-expose-headers",
    EXPOSED_HEADERS,
  ];
}

/** The first headers of answers to our own pages, which no other origin may read or frame. */
export function sameOriginHeaders(requestId: string): HeaderList {
  return [
    HEADERS.requestId.name,
    requestId,
    HEADERS.requestIdB.name,
    requestId,
    "x-content-type-options",
    "nosniff",
    "content-security-policy",
    "default-src 'none'; frame-ancestors 'none'; sandbox",
    "cross-origin-resource-policy",
    "same-origin",
    "referrer-policy",
    "no-referrer",
  ];
}

export function addServedHeaders(list: HeaderList, served: ServedHeaders): HeaderList {
  const { provider, attempts, remainingRequests, remainingTokens, queueMs, droppedParams } = served;
  if (provider !== undefined) list.push(HEADERS.provider.name, provider);
  if (attempts !== undefined) list.push(HEADERS.attempts.name, String(attempts));
  if (remainingRequests !== undefined)
    list.push(HEADERS.remainingRequests.name, String(remainingRequests));
  if (remainingTokens !== undefined)
    list.push(HEADERS.remainingTokens.name, String(remainingTokens));
  if (queueMs !== undefined) list.push(HEADERS.queueMs.name, String(queueMs));
  if (droppedParams !== undefined && droppedParams.length > 0) {
    list.push(HEADERS.droppedParams.name, headerSafe([...new Set(droppedParams)].join(",")));
  }
  if (served.estimate !== undefined) list.push(HEADERS.estimate.name, served.estimate);
  if (served.fileName !== undefined) {
    list.push("content-disposition", `attachment; filename="${headerSafe(served.fileName)}"`);
  }
  return list;
}

/** Classes with `x-should-retry: false`: without it, official clients retry each 429 and 5xx. */
const NEVER_RETRY = new Set(["insufficient_quota", "auth"]);

/** Statuses below 500 that official clients retry automatically. */
const RETRIED_STATUSES = new Set([408, 409, 429]);

/** The longest wait for a one-minute window. For longer waits, clients are told not to retry. */
const SLEEP_SECONDS_MAX = RETRY_AFTER_SECONDS_MAX + 1;

export function addRefusalHeaders(list: HeaderList, refusal: Refusal): HeaderList {
  list.push(HEADERS.errorCode.name, refusal.class);
  if (refusal.origin !== undefined) list.push(HEADERS.errorOrigin.name, refusal.origin);
  if (refusal.limit !== undefined) {
    list.push(
      HEADERS.limitScope.name,
      refusal.limit.scope,
      HEADERS.limitKind.name,
      refusal.limit.kind,
    );
    if (refusal.limit.id !== undefined)
      list.push(HEADERS.limitId.name, headerSafe(refusal.limit.id));
  }
  if (refusal.retryAfterSeconds !== undefined) {
    list.push(HEADERS.retryAfter.name, String(refusal.retryAfterSeconds));
  }
  if (refusal.capResetAtMs !== undefined) {
    list.push(HEADERS.capReset.name, new Date(refusal.capResetAtMs).toISOString());
  }
  if (refusal.upstreamStatus !== undefined) {
    list.push(HEADERS.upstreamStatus.name, String(refusal.upstreamStatus));
  }
  const bug = refusal.class === "gateway_error" && refusal.status === 500;
  // Official clients would otherwise retry at once, or sleep for the whole of `retry-after`.
  const isLong = (refusal.retryAfterSeconds ?? 0) > SLEEP_SECONDS_MAX;
  const isRetried = refusal.status >= 500 || RETRIED_STATUSES.has(refusal.status);
  const notSoon = isRetried && (!refusal.retryable || isLong);
  if (NEVER_RETRY.has(refusal.class) || bug || notSoon)
    list.push(HEADERS.shouldRetry.name, "false");
  return list;
}

/** Replaces all but visible ASCII in text that a client may have sent, and bounds its length. */
function headerSafe(text: string): string {
  return text.replace(/[^\x21-\x7e]/g, "?").slice(0, 2_048);
}

interface ResponseHeader {
  readonly name: string;
  readonly exposed: boolean;
  readonly on: "every answer" | "served answers" | "refusals";
  readonly doc: string;
}

function header(on: ResponseHeader["on"], exposed: boolean) {
  return (name: string, doc: string): ResponseHeader => ({ name, exposed, on, doc });
}

const always = header("every answer", true);
const onServed = header("served answers", true);
const onRefusal = header("refusals", false);

/** The documented response headers. CORS and the reference page are generated from this table. */
export const HEADERS = {
  requestId: always(
    "x-request-id",
    "the request's id, created by the gateway; use it with `GET /v1/generation?id=`",
  ),
  requestIdB: always("request-id", "the same id, under the name that Messages clients read"),
  provider: onServed(ANSWER_HEADERS.provider, "id of the provider whose deployment served"),
  attempts: onServed(
    ANSWER_HEADERS.attempts,
    "requests sent to providers for this request; on refusals only when there was at least one",
  ),
  remainingRequests: onServed(
    ANSWER_HEADERS.remainingRequests,
    "requests left in this minute: the smallest value of all limits that apply",
  ),
  remainingTokens: onServed(
    ANSWER_HEADERS.remainingTokens,
    "tokens left in this minute: the smallest value of all limits that apply",
  ),
  queueMs: onServed(
    ANSWER_HEADERS.queueMs,
    "milliseconds that pacing delayed the request; absent without a delay",
  ),
  droppedParams: onServed(
    ANSWER_HEADERS.droppedParams,
    "fields that were not sent to the provider, separated by commas",
  ),
  estimate: {
    ...onServed(
      "x-tm-estimate",
      "`local` when a token count is the gateway's estimate, not a provider's count",
    ),
    exposed: false,
  },
  errorCode: onRefusal(
    ANSWER_HEADERS.errorCode,
    "the error class, see `errors.md`; browsers read it in the body",
  ),
  errorOrigin: onRefusal(
    ANSWER_HEADERS.errorOrigin,
    "who refused: `gateway_admission`, `upstream_quota`, `upstream`, `gateway_infrastructure` or `authorization`; absent when the request itself was not valid",
  ),
  upstreamStatus: onRefusal(
    "x-tm-upstream-status",
    "the provider's HTTP status, when a provider answered",
  ),
  limitScope: onRefusal(
    ANSWER_HEADERS.limitScope,
    "scope of the limit that was reached: `key`, `org`, `model`, `pool`, …",
  ),
  limitKind: onRefusal(
    ANSWER_HEADERS.limitKind,
    "`rpm`, `tpm`, `concurrency`, `spend`, `health`, `output_bound`, …",
  ),
  limitId: onRefusal(
    ANSWER_HEADERS.limitId,
    "the limit that was reached, such as `key:<key id>`, where it has an id",
  ),
  capReset: onRefusal(
    ANSWER_HEADERS.capReset,
    "when the cap resets: start of the next UTC day, week or month; only when a spend cap was reached",
  ),
  retryAfter: {
    ...onRefusal(
      ANSWER_HEADERS.retryAfter,
      "seconds to wait, on every 429 and 503; 60 when waiting does not help",
    ),
    exposed: true,
  },
  shouldRetry: onRefusal(
    "x-should-retry",
    "`false` when the automatic retry of the official clients cannot help",
  ),
};

const EXPOSED_HEADERS: string = Object.values(HEADERS)
  .filter((each) => each.exposed)
  .map((each) => each.name)
  .join(", ");
