import {
  assert,
  type Deadline,
  type MicroUsd,
  type Refusal,
  usdJsonNumber,
} from "../../kernel/index.ts";
import type { OutputSink } from "../../upstream/index.ts";
import { type AnswerBridge, isPieces, type Output, type WholeBody } from "../../formats/index.ts";
import type { EndedAttempt } from "./hold.ts";
import type { ClientExchange, ServedHeaders } from "./client-exchange.ts";
import type { CallPorts } from "./ports.ts";

type DeliveryPorts = Pick<CallPorts, "clock" | "deadlines" | "timeouts">;

/** Writes one answer: 200 and headers before the first output, keep-alives during silence. */
export class Delivery implements OutputSink, Deadline {
  dueMs = Infinity;
  watchedAt = -1;
  /** Monotonic time at which a stream's 200 is written even without content. */
  readonly commitDueMs: number;
  /** The headers of the answer if the current attempt serves. Set before the attempt is sent. */
  headers: ServedHeaders = {};
  readonly #ports: DeliveryPorts;
  readonly #client: ClientExchange;
  #bridge: AnswerBridge | undefined;
  #silent = false;
  #writable = true;

  constructor(ports: DeliveryPorts, client: ClientExchange) {
    this.#ports = ports;
    this.#client = client;
    const { commitSilenceMs } = ports.timeouts;
    this.commitDueMs =
      commitSilenceMs === 0 ? Infinity : ports.clock.monotonicMs() + commitSilenceMs;
  }

  carry(bridge: AnswerBridge): AnswerBridge {
    this.#bridge = bridge;
    return bridge;
  }

  get committed(): boolean {
    return this.#client.committed;
  }

  write(output: Output): boolean {
    this.#begin();
    this.#silent = false;
    this.#writable = this.#client.write(output);
    return this.#writable;
  }

  commit(): void {
    this.#begin();
    // Node sends the headers only with the first bytes of the body, so a keep-alive follows.
    const bytes = this.#bridge?.keepAlive();
    if (bytes !== undefined) this.#writable = this.#client.write(bytes);
  }

  becameWritable(): void {
    this.#writable = true;
  }

  /** `last` is the end of a stream, or else the whole body. */
  finish(stream: boolean, last: WholeBody): void {
    if (this.#client.gone) return this.stop();
    if (stream) {
      this.#begin();
      assert(!isPieces(last), "a stream's last bytes are one piece");
      this.#client.end(last);
    } else {
      const contentType = this.#bridge?.contentType ?? "application/json";
      this.#client.answer(contentType, this.headers, last);
    }
    this.stop();
  }

  stop(): void {
    this.#ports.deadlines.unwatch(this);
  }

  onDue(nowMs: number): void {
    if (this.#client.gone) return this.stop();
    const bytes = this.#silent && this.#writable ? this.#bridge?.keepAlive() : undefined;
    if (bytes !== undefined) this.#client.write(bytes);
    this.#silent = true;
    // Runs twice per keep-alive interval, so that no silence lasts longer than the interval.
    this.dueMs = nowMs + this.#ports.timeouts.keepaliveMs / 2;
  }

  #begin(): void {
    if (this.committed || this.#client.gone) return;
    const { clock, deadlines, timeouts } = this.#ports;
    this.#client.begin(this.#bridge?.contentType ?? "text/event-stream", this.headers);
    this.dueMs = clock.monotonicMs() + timeouts.keepaliveMs / 2;
    deadlines.watch(this);
  }
}

export interface EndedCall {
  readonly delivery: Delivery;
  readonly ended: readonly EndedAttempt[];
  readonly stream: boolean;
  readonly debited: MicroUsd;
}

/** Ends the answer. Called after settlement, because the end contains the final cost. */
export function answerClient(client: ClientExchange, call: EndedCall): void {
  const { delivery, ended, stream, debited } = call;
  const last = ended.at(-1);
  assert(last !== undefined, "an admitted call has at least one attempt");
  const { bridge, failure } = last.result;
  const cost = usdJsonNumber(debited);
  if (client.gone) return delivery.stop();
  if (failure === undefined) {
    assert(bridge !== undefined, "a complete answer was carried by a bridge");
    delivery.finish(stream, bridge.finish(cost));
  } else if (client.committed) {
    assert(bridge !== undefined, "what was written came from a bridge");
    client.brokeOff?.();
    delivery.finish(true, bridge.fail(failure.refusal, cost));
  } else {
    delivery.stop();
    const { attempts = 1, droppedParams = [] } = delivery.headers;
    client.refuse(chooseRefusal(ended) ?? failure.refusal, { attempts, droppedParams });
  }
}

/** Returns the last refusal that is not a rate limit, because it explains more, else the last. */
function chooseRefusal(ended: readonly EndedAttempt[]): Refusal | undefined {
  const refusals = ended.flatMap(({ result }) => result.failure?.refusal ?? []);
  return refusals.findLast((each) => each.class !== "rate_limit") ?? refusals.at(-1);
}
