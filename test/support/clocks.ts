import { systemClock, type Clock } from "../../src/kernel/core/time.ts";

/** The system's clock plus what a test adds. A timer that was set before does not move. */
export class MovableClock implements Clock {
  #aheadMs = 0;

  nowMs(): number {
    return systemClock.nowMs() + this.#aheadMs;
  }

  monotonicMs(): number {
    return systemClock.monotonicMs() + this.#aheadMs;
  }

  moveOn(ms: number): void {
    this.#aheadMs += ms;
  }
}

/** Time passes only when a test lets it pass. */
export class StoppedClock implements Clock {
  // Whole milliseconds, because sums of fractions can be a little more than what was passed.
  #nowMs = Math.floor(systemClock.nowMs());
  #monotonicMs = Math.floor(systemClock.monotonicMs());

  nowMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  moveOn(ms: number): void {
    this.#nowMs += ms;
    this.#monotonicMs += ms;
  }
}

const TICK_MS = 10;
/** A wait that a busy machine prolongs counts as at most this much. */
const STEP_MS = 20;

/**
 * Time passes only while the event loop of this process waits. With the provider in the same
 * process, a silent provider reaches a short time limit, and no other does, however busy the
 * process is.
 */
export class PatientClock implements Clock {
  #passedMs = 0;
  #seenIdleMs = performance.eventLoopUtilization().idle;
  readonly #beganMs = systemClock.nowMs();
  readonly #timer = setInterval(() => this.#tick(), TICK_MS).unref();

  nowMs(): number {
    return Math.floor(this.#beganMs + this.#passedMs);
  }

  monotonicMs(): number {
    return this.#passedMs;
  }

  moveOn(ms: number): void {
    this.#passedMs += ms;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const { idle } = performance.eventLoopUtilization();
    this.#passedMs += Math.min(idle - this.#seenIdleMs, STEP_MS);
    this.#seenIdleMs = idle;
  }
}
