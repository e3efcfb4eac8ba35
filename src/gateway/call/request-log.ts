import type { Logger } from "pino";

import { assert, type Clock, type Refusal, type RequestId } from "../../kernel/index.ts";
import type { Principal } from "../accounts/principal.ts";
import type { ServedHeaders } from "./client-exchange.ts";
import type { GatewayMetrics } from "./metrics.ts";
import type { RequestTrace } from "./trace.ts";

/** One request of a client, over a socket or inside this process, and how it ended. */
export abstract class Exchange {
  readonly requestId: RequestId;
  readonly route: string;
  readonly trace: RequestTrace | undefined;
  served: ServedHeaders = {};
  refusal: Refusal | undefined;
  isStream = false;
  hasBroken = false;
  /** `provider: reason` for each provider that could not be reached. */
  readonly unreachedProviders: string[] = [];
  #principal: Principal | undefined;

  constructor({ requestId, route, trace }: Pick<Exchange, "requestId" | "route" | "trace">) {
    this.requestId = requestId;
    this.route = route;
    this.trace = trace;
  }

  abstract get gone(): boolean;

  abstract header(name: string): string | undefined;

  get principal(): Principal {
    assert(this.#principal !== undefined, "the key was accepted before a call is served");
    return this.#principal;
  }

  accept(principal: Principal): void {
    this.#principal = principal;
    this.trace?.accepted(principal, this.header("traceparent"));
  }

  unreached(provider: string, reason: string): void {
    this.unreachedProviders.push(`${provider}: ${reason}`);
  }

  brokeOff(): void {
    this.hasBroken = true;
  }
}

/** Counts, logs and traces the end of a request, and takes it out of those in flight. */
export function reportEnded(
  reports: {
    readonly clock: Clock;
    readonly metrics: GatewayMetrics;
    readonly log: Pick<RequestLog, "answered">;
  },
  exchange: Exchange,
  ended: { readonly method: string; readonly status: number; readonly startedMs: number },
): void {
  const { clock, metrics, log } = reports;
  const { route, refusal, isStream, gone, hasBroken, trace } = exchange;
  const { method, status, startedMs } = ended;
  metrics.inFlight -= 1;
  const nowMs = clock.monotonicMs();
  const durationMs = nowMs - startedMs;
  const traceId = trace?.closed({ status, refusal, isGone: gone, nowMs });
  const kept = traceId === undefined ? {} : { trace: { traceId, atMs: clock.nowMs() } };
  metrics.ended({ route, status, refusal, isStream, gone, hasBroken, durationMs, ...kept });
  log.answered(exchange, { method, status, durationMs: Math.round(durationMs), traceId });
}

export interface AnsweredRequest {
  readonly method: string;
  readonly status: number;
  readonly durationMs: number;
  readonly traceId: string | undefined;
}

/** Writes one line per request: ids and numbers, never headers, bodies or keys. */
export class RequestLog {
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  answered(exchange: Exchange, request: AnsweredRequest): void {
    const { unreachedProviders: unreached } = exchange;
    const failed = exchange.refusal !== undefined || exchange.gone || unreached.length > 0;
    // Served requests are logged at `debug` only, because the ledger records them already.
    if (!this.#log.isLevelEnabled(failed ? "info" : "debug")) return;
    const line = {
      request_id: exchange.requestId,
      trace_id: request.traceId,
      method: request.method,
      route: exchange.route,
      status: request.status,
      ms: request.durationMs,
      provider: exchange.served.provider,
      attempts: exchange.served.attempts,
      error: exchange.refusal?.class,
      origin: exchange.refusal?.origin,
      unreached: unreached.length > 0 ? unreached : undefined,
      client_gone: exchange.gone ? true : undefined,
    };
    if (failed) this.#log.info(line, "request");
    else this.#log.debug(line, "request");
  }

  storeFailed(requestId: RequestId, fault: unknown): void {
    this.#log.warn({ request_id: requestId, err: fault }, "the database did not answer a request");
  }

  /** Logs bytes that were no valid request, or did not become one in time. */
  unreadable(requestId: RequestId, { class: error, status }: Refusal): void {
    this.#log.info({ request_id: requestId, route: "unknown", status, error }, "request");
  }

  crashed(requestId: RequestId, fault: unknown): void {
    this.#log.error({ request_id: requestId, err: fault }, "a request failed unexpectedly");
  }
}
