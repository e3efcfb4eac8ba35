import type { CallFamily, CallRequest } from "../../formats/index.ts";
import {
  CLIENT_LEFT,
  isStoreFault,
  JOURNAL_RETRY_AFTER_SECONDS,
  type Refusal,
  refusal,
  type RefusalOrigin,
  type Refused,
  refused,
  type RequestId,
  unavailable,
  ZERO_MICRO_USD,
} from "../../kernel/index.ts";
import { refusalReason } from "../../ledger/index.ts";
import type { ClientExchange } from "./client-exchange.ts";
import type { CallPorts } from "./ports.ts";
import type { RequestLog } from "./request-log.ts";

export interface RefusedCall {
  readonly refusal: Refusal;
  readonly request?: CallRequest;
  /** Absent if the refusal must not count as unusual use. */
  readonly family?: CallFamily;
}

/** Refuses a request before any dispatch and records the refusal under the request id. */
export function refuseCall(ports: CallPorts, client: ClientExchange, input: RefusedCall): void {
  recordRefused(ports, client, input);
  if (NOT_THE_CALLERS_DOING.has(input.refusal.origin)) {
    ports.refusals.leave(client.principal, client);
  } else {
    ports.refusals.note(client.principal, input.refusal, client);
  }
  noteRefused(ports, client, input);
  const droppedParams = input.request?.droppedParams ?? [];
  client.refuse(input.refusal, droppedParams.length === 0 ? {} : { droppedParams });
}

/**
 * Refuses a request that `RefusalWindows.enter` does not admit; the refusal is recorded, but not
 * counted in the window. If this returns false, call `ports.refusals.leave` when the request ends.
 */
export function refuseBeforeBody(ports: CallPorts, client: ClientExchange): boolean {
  const value = ports.refusals.enter(client.principal, client);
  if (value === undefined) return false;
  recordRefused(ports, client, { refusal: value });
  client.refuse(value);
  return true;
}

function recordRefused(ports: CallPorts, client: ClientExchange, input: RefusedCall): void {
  const { principal } = client;
  ports.ledger.recordRefused({
    requestId: client.requestId,
    orgId: principal.orgId,
    keyId: principal.keyId,
    modelId: input.request?.modelId ?? null,
    route: client.route,
    stream: input.request?.stream ?? false,
    createdAtMs: ports.clock.nowMs(),
    ...(input.refusal === CLIENT_HAS_LEFT
      ? { errorClass: CLIENT_LEFT }
      : {
          errorClass: input.refusal.class,
          reason: refusalReason(input.refusal, input.request?.droppedParams),
        }),
  });
}

const NOT_THE_CALLERS_DOING: ReadonlySet<RefusalOrigin | undefined> = new Set([
  "gateway_infrastructure",
  "upstream_quota",
] as const);

/** Reports a refusal to the detection of unusual use, if it is the caller's doing. */
function noteRefused(ports: CallPorts, client: ClientExchange, input: RefusedCall): void {
  const { family } = input;
  const { class: cls, origin } = input.refusal;
  if (family === undefined || client.gone || NOT_THE_CALLERS_DOING.has(origin)) return;
  if (cls === "usage_limited" || cls === "usage_restricted") return;
  const { principal, clientAddress } = client;
  ports.usage.note(
    { principal, family, clientAddress, outcome: "refused", debitMicroUsd: ZERO_MICRO_USD },
    ports.clock.nowMs(),
  );
}

/** Logs a fault and returns its refusal: 503 if a store did not answer, or else 500, for a bug. */
export function reportFault(
  log: Pick<RequestLog, "storeFailed" | "crashed">,
  requestId: RequestId,
  fault: unknown,
): Refusal {
  if (isStoreFault(fault)) {
    log.storeFailed(requestId, fault);
    return STORE_UNAVAILABLE;
  }
  log.crashed(requestId, fault);
  return CRASHED;
}

const CRASHED: Refusal = refusal(
  "gateway_error",
  "the gateway failed to handle this request; report it with the x-request-id",
  { retryable: false, origin: "gateway_infrastructure" },
);

const STORE_UNAVAILABLE: Refusal = unavailable(
  `the database does not answer at the moment; send the same request again in ${JOURNAL_RETRY_AFTER_SECONDS} seconds`,
);

export function bodyTooLarge(bytesMax: number): Refused {
  const message = `the request body exceeds the limit of ${bytesMax} bytes for this route; send a smaller body`;
  return refused(refusal("request_too_large", message));
}

export function routingDeadlinePassed(timeoutMs: number): Refusal {
  return refusal(
    "gateway_error",
    `no provider could be tried within the routing deadline of ${timeoutMs} ms; nothing was sent and nothing charged, resend`,
    { status: 504, origin: "gateway_infrastructure" },
  );
}

/** The refusal that is recorded for a client that left before dispatch; it is never sent. */
export const CLIENT_HAS_LEFT: Refusal = refusal(
  "gateway_error",
  "the client left before anything was sent",
);

/** For a request that waited for its pacing turn when this process began to shut down. */
export const SHUTTING_DOWN: Refusal = unavailable(
  `this gateway is shutting down; nothing was sent and nothing charged, resend in ${JOURNAL_RETRY_AFTER_SECONDS} seconds`,
);
