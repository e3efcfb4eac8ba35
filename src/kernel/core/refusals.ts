import type { CapPeriod } from "./cap-period.ts";
import { JOURNAL_RETRY_AFTER_SECONDS, RETRY_AFTER_SECONDS_MAX } from "./constants.ts";
import { defined } from "./defined.ts";
import { instant } from "./json-values.ts";
import type { MicroUsd } from "./money.ts";

/**
 * The classes of refusals (see docs/reference/errors.md). Functions return a refusal as a value;
 * the HTTP layer writes it in the client's wire format.
 */
export type RefusalClass =
  | "auth"
  | "invalid_request"
  | "model_not_priced"
  | "context_overflow"
  | "content_policy"
  | "model_unavailable"
  | "upstream_error"
  | "not_found"
  | "request_too_large"
  | "rate_limit"
  | "email_not_verified"
  | "insufficient_quota"
  | "usage_limited"
  | "usage_restricted"
  | "gateway_error";

export type RefusalOrigin =
  "gateway_admission" | "upstream_quota" | "upstream" | "gateway_infrastructure" | "authorization";

export type LimitScope =
  "platform" | "org" | "workspace" | "principal" | "key" | "model" | "pool" | "endpoint";

export type LimitKind =
  | "rpm"
  | "rps"
  | "rps_queue"
  | "tpm"
  | "concurrency"
  | "spend"
  | "health"
  | "output_bound"
  | "capacity"
  | "models";

interface RefusalRow {
  /** The HTTP status, unless the refusal itself has another. */
  readonly status: number;
  /** `error.type` on wire_b. */
  readonly wireBType: string;
  /** `error.type` on wire_a. It is mostly generic, so clients should not branch on it. */
  readonly wireAType: string;
  /** The value of `metadata.retryable` in the error body, unless the refusal itself has another. */
  readonly retryable: boolean;
  readonly condition: string;
  readonly advice: string;
}

const INVALID = "invalid_request_error";
const DENIED = "permission_error";
const RATE = "rate_limit_error";
const BAD_REQUEST = { status: 400, wireBType: INVALID, wireAType: INVALID, retryable: false };
const FORBIDDEN = { status: 403, wireBType: DENIED, wireAType: DENIED, retryable: false };
const NOT_FOUND = { ...BAD_REQUEST, status: 404, wireBType: "not_found_error" };
const LIMITED = { status: 429, wireBType: RATE, wireAType: RATE, retryable: true };

/* The reference page of errors is generated from this table. */
export const REFUSALS: Readonly<Record<RefusalClass, RefusalRow>> = {
  auth: {
    status: 401,
    wireBType: "authentication_error",
    wireAType: "invalid_request_error",
    retryable: false,
    condition:
      "the key is missing, wrong, or disabled; or every provider rejected Token Market's account",
    advice: "fix the header or the key; if `x-tm-error-origin` is `upstream`, your key works",
  },
  invalid_request: {
    ...BAD_REQUEST,
    condition:
      "no provider of the model can serve the request as sent; 408: it did not arrive in time",
    advice: "change the field that the message names; 408: send it again",
  },
  model_not_priced: {
    ...BAD_REQUEST,
    condition: "the model is listed but has no price",
    advice: "report it with the `x-request-id`",
  },
  context_overflow: {
    ...BAD_REQUEST,
    condition: "the prompt exceeds the context window; the message includes the provider's message",
    advice: "send a shorter prompt, or lower `max_tokens`",
  },
  content_policy: {
    ...BAD_REQUEST,
    condition: "the provider rejected the content; never billed, never sent to another provider",
    advice: "change the content",
  },
  model_unavailable: {
    ...NOT_FOUND,
    condition:
      "404: no such model; 502: no provider could be reached; 503: a provider has no capacity for Token Market",
    advice: "404: choose an ID from `GET /v1/models`; 502: retry once after about two seconds",
  },
  upstream_error: {
    status: 502,
    wireBType: "api_error",
    wireAType: "api_error",
    retryable: true,
    condition: "the provider failed, and no other could serve the request; 504: it took too long",
    advice: "5xx: retry once after about two seconds; 4xx: change the request",
  },
  not_found: {
    ...NOT_FOUND,
    condition: "no such route, or no such record in this organization",
    advice: "check the path and the ID",
  },
  request_too_large: {
    status: 413,
    wireBType: "request_too_large",
    wireAType: "invalid_request_error",
    retryable: false,
    condition:
      "413: the body is larger than the route accepts; 431: the headers exceed 16 KB in total",
    advice: "send a smaller body, or fewer headers",
  },
  rate_limit: {
    ...LIMITED,
    condition:
      "a request, token, or concurrency limit of the key, model, organization, endpoint, pool, or provider was reached",
    advice: "wait for the time in `retry-after`, then retry once",
  },
  email_not_verified: {
    ...FORBIDDEN,
    condition: "the account's email address is not verified",
    advice: "open the link in the verification email",
  },
  insufficient_quota: {
    status: 429,
    wireBType: "billing_error",
    wireAType: "insufficient_quota",
    retryable: false,
    condition: "the balance is too low, or a spend cap would be exceeded",
    advice: "add credit, lower `max_tokens`, or wait until `x-tm-cap-reset`",
  },
  usage_limited: {
    ...LIMITED,
    condition:
      "unusual use by an organization that has only trial credit; requests of this type are limited",
    advice: "wait for the time in `retry-after`; contact support if it continues",
  },
  usage_restricted: {
    ...FORBIDDEN,
    condition: "unusual use; requests of this type are rejected until support has reviewed them",
    advice: "contact support",
  },
  gateway_error: {
    status: 500,
    wireBType: "api_error",
    wireAType: "api_error",
    retryable: true,
    condition:
      "400: the output limit was rejected; 500: a bug in the gateway; 502: an answer that cannot be translated; 503: nothing was sent and nothing charged; 504: the routing deadline has passed",
    advice:
      "503 and 504: wait for the time in `retry-after`, or two seconds without it, then resend; 500: report it with the `x-request-id`",
  },
};

export interface LimitDetail {
  readonly scope: LimitScope;
  readonly kind: LimitKind;
  /** Names what has the limit: `key:<key id>`, `model:<model id>`, `pool:<id>`, … */
  readonly id?: string;
}

export interface RefusalFigures {
  /** `limit`, `used` and `asked` are in requests or in tokens. */
  readonly limit?: number;
  /** `used` is the use of the limit when the request came; `asked` is how much the request adds. */
  readonly used?: number;
  readonly asked?: number;
  readonly cap?: MicroUsd;
  readonly spent?: MicroUsd;
  /** Reserved by requests in flight that count against the cap, or against the balance. */
  readonly inFlight?: MicroUsd;
  readonly available?: MicroUsd;
  readonly needed?: MicroUsd;
}

export interface Refusal {
  readonly class: RefusalClass;
  readonly status: number;
  /** The problem, its place and the next step, or the provider's message. Contains no secret. */
  readonly message: string;
  readonly retryable: boolean;
  /** Absent if the request itself is at fault: its form, its size, or a name or id in it. */
  readonly origin?: RefusalOrigin;
  readonly limit?: LimitDetail;
  readonly figures?: RefusalFigures;
  /** The value of the `retry-after` header, in seconds, at most 60. */
  readonly retryAfterSeconds?: number;
  /** `metadata.retry_at` of the error body, in milliseconds since 1970. */
  readonly retryAtMs?: number;
  /** When the spend cap resets: the first instant of its next period. Absent for other limits. */
  readonly capResetAtMs?: number;
  /** Present only for a spend cap that is not monthly. */
  readonly capPeriod?: Exclude<CapPeriod, "month">;
  /** `error.details.error_code` on wire_b: with it, an official client resends the conversation. */
  readonly errorCode?: "thread_unsupported_request";
  readonly upstreamStatus?: number;
}

export type RefusalDetail = Partial<Omit<Refusal, "class" | "message">>;

/** Makes a 503 that tells the client to retry, because the gateway itself cannot serve it now. */
export function unavailable(message: string, limit?: RefusalDetail["limit"]): Refusal {
  return refusal("gateway_error", message, {
    status: 503,
    origin: "gateway_infrastructure",
    ...(limit !== undefined && { limit }),
    retryAfterSeconds: JOURNAL_RETRY_AFTER_SECONDS,
  });
}

/** Makes a refusal. Status and `retryable` come from the table unless `detail` has them. */
export function refusal(cls: RefusalClass, message: string, detail: RefusalDetail = {}): Refusal {
  const row = REFUSALS[cls];
  const { status = row.status, retryable = row.retryable } = detail;
  return { ...retryAfter(status, retryable), ...detail, status, retryable, class: cls, message };
}

export function refusalGround({ origin, limit }: Pick<Refusal, "origin" | "limit">): {
  readonly origin?: string;
  readonly limit_scope?: string;
  readonly limit_kind?: string;
  readonly limit_id?: string;
} {
  return defined({
    origin,
    limit_scope: limit?.scope,
    limit_kind: limit?.kind,
    limit_id: limit?.id,
  });
}

export function refusalTimes({
  retryAtMs,
  capResetAtMs,
}: Pick<Refusal, "retryAtMs" | "capResetAtMs">): {
  readonly retry_at?: string;
  readonly reset_at?: string;
} {
  return {
    ...(retryAtMs !== undefined && { retry_at: instant(retryAtMs) }),
    ...(capResetAtMs !== undefined && { reset_at: instant(capResetAtMs) }),
  };
}

/** Every 429 and 503 has a `retry-after`: the longest one allowed if a retry would not help. */
function retryAfter(status: number, retryable: boolean): { readonly retryAfterSeconds?: number } {
  if (status !== 429 && status !== 503) return {};
  return { retryAfterSeconds: retryable ? JOURNAL_RETRY_AFTER_SECONDS : RETRY_AFTER_SECONDS_MAX };
}

/** Makes a refusal without an origin, for a malformed request. */
export function invalidRequest(message: string): Refusal {
  return refusal("invalid_request", message);
}

/** Returns `error.type` on wire_b. If a provider answered 400 or 422, the request is to blame. */
export function wireBErrorType({ class: cls, status }: Refusal): string {
  const isBlamed = cls === "upstream_error" && (status === 400 || status === 422);
  return REFUSALS[isBlamed ? "invalid_request" : cls].wireBType;
}

export type Result<T extends object> = ({ readonly ok: true } & T) | Refused;

export interface Refused {
  readonly ok: false;
  readonly refusal: Refusal;
}

export function refused(value: Refusal): Refused {
  return { ok: false, refusal: value };
}
