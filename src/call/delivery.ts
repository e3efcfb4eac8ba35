import { assert } from "../core/assert.ts";
import type { Deadline, Deadlines } from "../core/deadlines.ts";
import type { Clock } from "../core/time.ts";
import type { OutputSink } from "../dispatch/run-attempt.ts";
import {
  isPieces,
  type AnswerBridge,
  type Output,
  type WholeBody,
} from "../wire/answer/answer-bridge.ts";
import type { ClientExchange, ServedHeaders } from "./client-exchange.ts";
import type { CallTimeouts } from "./serve-deps.ts";

export interface DeliveryInput {
  readonly exchange: ClientExchange;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly timeouts: Pick<CallTimeouts, "keepaliveMs" | "commitSilenceMs">;
  /** Read when the 200 is written: by then it is known who serves. */
  readonly headers: () => ServedHeaders;
}

/**
 * The way of one answer to its client. The first output writes the 200 with its headers (the commit
 * point); a silent stream is kept open; nothing follows the last bytes.
 */
export class Delivery implements OutputSink, Deadline {
  dueMs: number = Number.POSITIVE_INFINITY;
  watchedAt = -1;
  /** Monotonic time from which a stream that its provider has answered is begun without content. */
  readonly commitDueMs: number;
  readonly #input: DeliveryInput;
  #bridge: AnswerBridge | undefined;
  #begun = false;
  #silent = false;
  #writable = true;

  constructor(input: DeliveryInput) {
    this.#input = input;
    const { commitSilenceMs } = input.timeouts;
    this.commitDueMs =
      commitSilenceMs === 0
        ? Number.POSITIVE_INFINITY
        : input.clock.monotonicMs() + commitSilenceMs;
  }

  /** The bridge whose answer is being delivered from now on. */
  carry(bridge: AnswerBridge): AnswerBridge {
    this.#bridge = bridge;
    return bridge;
  }

  write(output: Output): boolean {
    if (!this.#begun) this.#begin();
    this.#silent = false;
    this.#writable = this.#input.exchange.write(output);
    return this.#writable;
  }

  commit(): void {
    if (this.#begun) return;
    this.#begin();
    // The head alone would wait for the first bytes.
    const bytes = this.#bridge?.keepAlive();
    if (bytes !== undefined) this.#writable = this.#input.exchange.write(bytes);
  }

  /** Called when the client can take bytes again. */
  becameWritable(): void {
    this.#writable = true;
  }

  /** Ends the answer: a stream with these last bytes, or the whole body of an unstreamed answer. */
  finish(stream: boolean, last: WholeBody): void {
    const { exchange } = this.#input;
    this.#input.deadlines.unwatch(this);
    if (exchange.gone) return;
    if (stream) {
      if (!this.#begun) this.#begin();
      assert(!isPieces(last), "a stream's last bytes are one piece");
      exchange.end(last);
    } else {
      const contentType = this.#bridge?.contentType ?? "application/json";
      exchange.answer(contentType, this.#input.headers(), last);
    }
  }

  /** Stops keep-alives when the request ends in another way. */
  stop(): void {
    this.#input.deadlines.unwatch(this);
  }

  onDue(nowMs: number): void {
    const bytes = this.#silent && this.#writable ? this.#bridge?.keepAlive() : undefined;
    if (bytes !== undefined && !this.#input.exchange.gone) this.#input.exchange.write(bytes);
    this.#silent = true;
    // Looked at twice per interval, so that no silence lasts longer than the interval.
    this.dueMs = nowMs + this.#input.timeouts.keepaliveMs / 2;
  }

  #begin(): void {
    this.#begun = true;
    const { exchange, clock, deadlines, timeouts, headers } = this.#input;
    exchange.begin(this.#bridge?.contentType ?? "text/event-stream", headers());
    this.dueMs = clock.monotonicMs() + timeouts.keepaliveMs / 2;
    deadlines.watch(this);
  }
}
