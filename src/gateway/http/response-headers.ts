import type { ServedHeaders } from "../call/client-exchange.ts";
import { type Refusal, RETRY_AFTER_SECONDS_MAX } from "../../kernel/index.ts";
import { EXPOSED_HEADERS, HEADERS } from "./header-table.ts";

/** A flat list of names and values, as `writeHead` takes it. */
export type HeaderList = string[];

/** The headers of every answer: both forms of the request id, and CORS without credentials. */
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

/** The same for an answer inside a page of our own origin: no other origin may read or frame it. */
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

/** Official clients retry every 429 and 5xx unless a header forbids it. */
const NEVER_RETRY = new Set(["insufficient_quota", "auth"]);

/** The longest wait of a minute's window. That of an hour's or a day's is not for a client to sleep. */
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
  // Official clients would send it again at once or after `retry-after`, asleep for so long.
  const isLong = (refusal.retryAfterSeconds ?? 0) > SLEEP_SECONDS_MAX;
  const notSoon =
    (refusal.status === 429 || refusal.status === 503) && (!refusal.retryable || isLong);
  if (NEVER_RETRY.has(refusal.class) || bug || notSoon)
    list.push(HEADERS.shouldRetry.name, "false");
  return list;
}

/** Field names come from clients: anything but visible ASCII is replaced, and the length bounded. */
function headerSafe(text: string): string {
  return text.replace(/[^\x21-\x7e]/g, "?").slice(0, 2_048);
}
