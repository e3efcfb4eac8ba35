import type { Logger } from "pino";

import type { LoggedCall } from "../call/in-process.ts";
import type { Refusal, RequestId } from "../../kernel/index.ts";

export interface AnsweredRequest {
  readonly method: string;
  readonly status: number;
  readonly durationMs: number;
  /** Undefined: no trace of it was kept. */
  readonly traceId: string | undefined;
}

/** One line per request: ids and numbers, never headers, bodies or keys. */
export class RequestLog {
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  answered(exchange: LoggedCall, request: AnsweredRequest): void {
    const { unreachedProviders: unreached } = exchange;
    const failed = exchange.refusal !== undefined || exchange.gone || unreached.length > 0;
    // Served requests are logged at `debug`: their records are in the ledger already.
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

  /** Bytes that were not a request, or did not become one in time. */
  unreadable(requestId: RequestId, { class: error, status }: Refusal): void {
    this.#log.info({ request_id: requestId, route: "unknown", status, error }, "request");
  }

  crashed(requestId: RequestId, fault: unknown): void {
    this.#log.error({ request_id: requestId, err: fault }, "a request failed unexpectedly");
  }
}
