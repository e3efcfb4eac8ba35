import { ANSWER_HEADERS } from "../../kernel/index.ts";

/** One response header: its name, whether a browser's script may read it, and what it says. */
interface ResponseHeader {
  readonly name: string;
  /** Named in `access-control-expose-headers`. */
  readonly exposed: boolean;
  readonly on: "every answer" | "served answers" | "refusals";
  readonly doc: string;
}

type HeaderKey =
  | "requestId"
  | "requestIdB"
  | "provider"
  | "attempts"
  | "remainingRequests"
  | "remainingTokens"
  | "queueMs"
  | "droppedParams"
  | "estimate"
  | "errorCode"
  | "errorOrigin"
  | "upstreamStatus"
  | "limitScope"
  | "limitKind"
  | "limitId"
  | "capReset"
  | "retryAfter"
  | "shouldRetry";

/** Every header of our own, once: the writer, CORS and the reference page are made from it. */
export const HEADERS: Readonly<Record<HeaderKey, ResponseHeader>> = {
  requestId: header("x-request-id", "every answer", {
    exposed: true,
    doc: "the request's id, created by the gateway; use it with `GET /v1/generation?id=`",
  }),
  requestIdB: header("request-id", "every answer", {
    exposed: true,
    doc: "the same id, under the name that Messages clients read",
  }),
  provider: header(ANSWER_HEADERS.provider, "served answers", {
    exposed: true,
    doc: "id of the provider whose deployment served",
  }),
  attempts: header(ANSWER_HEADERS.attempts, "served answers", {
    exposed: true,
    doc: "requests sent to providers for this request; on refusals only when there was at least one",
  }),
  remainingRequests: header(ANSWER_HEADERS.remainingRequests, "served answers", {
    exposed: true,
    doc: "requests left in this minute: the smallest value of all limits that apply",
  }),
  remainingTokens: header(ANSWER_HEADERS.remainingTokens, "served answers", {
    exposed: true,
    doc: "tokens left in this minute: the smallest value of all limits that apply",
  }),
  queueMs: header(ANSWER_HEADERS.queueMs, "served answers", {
    exposed: true,
    doc: "milliseconds that pacing delayed the request; absent without a delay",
  }),
  droppedParams: header(ANSWER_HEADERS.droppedParams, "served answers", {
    exposed: true,
    doc: "fields that were not sent to the provider, separated by commas",
  }),
  estimate: header("x-tm-estimate", "served answers", {
    exposed: false,
    doc: "`local` when a token count is the gateway's estimate, not a provider's count",
  }),
  errorCode: header(ANSWER_HEADERS.errorCode, "refusals", {
    exposed: false,
    doc: "the error class, see `errors.md`; browsers read it in the body",
  }),
  errorOrigin: header(ANSWER_HEADERS.errorOrigin, "refusals", {
    exposed: false,
    doc: "who refused: `gateway_admission`, `upstream_quota`, `upstream`, `gateway_infrastructure` or `authorization`; absent when the request itself was not valid",
  }),
  upstreamStatus: header("x-tm-upstream-status", "refusals", {
    exposed: false,
    doc: "the provider's HTTP status, when a provider answered",
  }),
  limitScope: header(ANSWER_HEADERS.limitScope, "refusals", {
    exposed: false,
    doc: "scope of the limit that was reached: `key`, `org`, `model`, `pool`, …",
  }),
  limitKind: header(ANSWER_HEADERS.limitKind, "refusals", {
    exposed: false,
    doc: "`rpm`, `tpm`, `concurrency`, `spend`, `health`, `output_bound`, …",
  }),
  limitId: header(ANSWER_HEADERS.limitId, "refusals", {
    exposed: false,
    doc: "the limit that was reached, such as `key:<key id>`, where it has an id",
  }),
  capReset: header(ANSWER_HEADERS.capReset, "refusals", {
    exposed: false,
    doc: "start of the next UTC month; only when a spend cap was reached",
  }),
  retryAfter: header(ANSWER_HEADERS.retryAfter, "refusals", {
    exposed: true,
    doc: "seconds to wait, on every 429 and 503; 60 when waiting does not help",
  }),
  shouldRetry: header("x-should-retry", "refusals", {
    exposed: false,
    doc: "`false` when the automatic retry of the official clients cannot help",
  }),
};

/** What a browser's script may read of an answer. */
export const EXPOSED_HEADERS: string = Object.values(HEADERS)
  .filter((each) => each.exposed)
  .map((each) => each.name)
  .join(", ");

function header(
  name: string,
  on: ResponseHeader["on"],
  more: { readonly exposed: boolean; readonly doc: string },
): ResponseHeader {
  return { name, on, ...more };
}
