import type { Authenticator } from "../accounts/authenticate.ts";
import {
  type MicroUsd,
  createRequestId,
  type Refusal,
  ZERO_MICRO_USD,
} from "../../kernel/index.ts";
import { type CallRequest, isPieces, type Output, type WholeBody } from "../../formats/index.ts";
import type { CallKind } from "./call-kind.ts";
import { serveCall } from "./call.ts";
import { type ClientExchange, Exchange, type ServedHeaders } from "./client-exchange.ts";
import type { CallPorts } from "./ports.ts";
import type { Tracing } from "./trace.ts";
import { refuseBeforeBody, reportFault } from "./refuse.ts";
import { reportEnded, type RequestLog } from "./request-log.ts";

export interface InProcessDeps {
  readonly ports: CallPorts;
  readonly authenticator: Pick<Authenticator, "authenticate">;
  readonly log: Pick<RequestLog, "answered" | "storeFailed" | "crashed">;
  readonly tracing?: Tracing | undefined;
}

export interface InProcessRequest {
  /** The caller's virtual key in plain text, authenticated like the key of an HTTP request. */
  readonly key: string;
  readonly route: string;
  readonly body: Buffer;
  /** Aborted when the caller leaves. A running attempt is still settled by its reported usage. */
  readonly signal: AbortSignal;
  /** Receives the answer's bytes as they arrive; must not throw. */
  readonly onOutput: (output: Output) => void;
}

/**
 * `refusal` is undefined if an answer was begun, even if it then broke off, or if the caller left
 * after the call was admitted.
 */
export interface InProcessEnd {
  readonly refusal: Refusal | undefined;
  readonly debitMicroUsd: MicroUsd;
}

/**
 * Makes a call without a socket; its key, limits, log and settlement are those of a call over HTTP.
 * Resolves when the call is settled, even if the caller left earlier; never rejects.
 */
export async function callInProcess<R extends CallRequest>(
  { ports, authenticator, log, tracing }: InProcessDeps,
  kind: CallKind<R>,
  request: InProcessRequest,
): Promise<InProcessEnd> {
  const { clock, metrics } = ports;
  const startedMs = clock.monotonicMs();
  const requestId = createRequestId(clock.nowMs());
  const { route } = request;
  const trace = tracing?.begin({ requestId, method: "POST", route, startedMs });
  const exchange = new InProcessExchange({ requestId, route, trace }, request, startedMs);
  metrics.inFlight += 1;
  try {
    const caller = await authenticator.authenticate(`Bearer ${request.key}`, undefined);
    if (!caller.ok) exchange.refuse(caller.refusal);
    else {
      exchange.accept(caller.principal);
      try {
        if (!refuseBeforeBody(ports, exchange)) await serveCall(ports, exchange, kind);
      } finally {
        ports.refusals.leave(caller.principal, exchange);
      }
    }
  } catch (fault) {
    const value = reportFault(log, exchange.requestId, fault);
    if (!exchange.committed) exchange.refuse(value);
  }
  exchange.close();
  const { refusal, status, debitMicroUsd } = exchange;
  reportEnded({ clock, metrics, log }, exchange, { method: "POST", status, startedMs });
  return { refusal, debitMicroUsd };
}

class InProcessExchange extends Exchange implements ClientExchange {
  readonly body: Buffer;
  readonly clientAddress = undefined;
  readonly wantsBody = true;
  readonly ownTimeFromMs: number;
  /** The status that an HTTP client would have received; 0 until there is an answer. */
  status = 0;
  debitMicroUsd: MicroUsd = ZERO_MICRO_USD;
  readonly #request: InProcessRequest;
  #goneListener: (() => void) | undefined;
  readonly #leave = (): void => this.#goneListener?.();

  constructor(
    begun: Pick<Exchange, "requestId" | "route" | "trace">,
    request: InProcessRequest,
    startedMs: number,
  ) {
    super(begun);
    this.ownTimeFromMs = startedMs;
    this.body = request.body;
    this.#request = request;
    request.signal.addEventListener("abort", this.#leave, { once: true });
  }

  get gone(): boolean {
    return this.#request.signal.aborted;
  }

  get committed(): boolean {
    return this.status !== 0;
  }

  header(): undefined {
    return undefined;
  }

  onGone(listener: () => void): void {
    this.#goneListener = listener;
  }

  /** Does nothing, because `write` never returns false. */
  onWritable(): void {}

  begin(_contentType: string, served: ServedHeaders): void {
    this.isStream = true;
    this.status = 200;
    this.served = served;
  }

  relay(status: number, _headers: Readonly<Record<string, string>>, served: ServedHeaders): void {
    this.status = status;
    this.served = served;
  }

  write(output: Output): boolean {
    this.#request.onOutput(output);
    return true;
  }

  end(last: Output): void {
    this.write(last);
  }

  /** Does nothing, because the caller recognizes an answer without an end mark as incomplete. */
  cut(): void {}

  answer(contentType: string, served: ServedHeaders, body: WholeBody): void {
    this.begin(contentType, served);
    this.isStream = false;
    for (const piece of isPieces(body) ? body : [body]) this.write(piece);
  }

  refuse(refusal: Refusal, served: ServedHeaders = {}): void {
    this.refusal = refusal;
    this.served = served;
    if (!this.gone) this.status = refusal.status;
  }

  settled(debitMicroUsd: MicroUsd): void {
    this.debitMicroUsd = debitMicroUsd;
  }

  /** Removes the listener, because the caller may reuse its signal for other calls. */
  close(): void {
    this.#request.signal.removeEventListener("abort", this.#leave);
  }
}
