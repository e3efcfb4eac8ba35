import type { Logger } from "pino";

import type { Clock, Refusal, RequestId } from "../../kernel/index.ts";
import type { Exchange } from "./client-exchange.ts";
import type { GatewayMetrics } from "./metrics.ts";

/** Counts, logs and traces the end of a request, which is then no longer in flight. */
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

/** Writes a line for each request, without headers, bodies and keys, and one for each fault. */
export class RequestLog {
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  answered(exchange: Exchange, request: AnsweredRequest): void {
    const { unreachedProviders: unreached, hasBroken, gone } = exchange;
    const failed = exchange.refusal !== undefined || gone || hasBroken || unreached.length > 0;
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
      client_gone: gone ? true : undefined,
      broke_off: hasBroken ? true : undefined,
    };
    if (failed) this.#log.info(line, "request");
    else this.#log.debug(line, "request");
  }

  storeFailed(requestId: RequestId, fault: unknown): void {
    this.#log.warn({ request_id: requestId, err: fault }, "the database did not answer a request");
  }

  /** Logs received bytes that were not a valid request, or not a complete one in time. */
  unreadable(requestId: RequestId, { class: error, status }: Refusal): void {
    this.#log.info({ request_id: requestId, route: "unknown", status, error }, "request");
  }

  crashed(requestId: RequestId, fault: unknown): void {
    this.#log.error({ request_id: requestId, err: fault }, "a request failed unexpectedly");
  }
}
