import { systemClock, type Clock } from "../../src/kernel/core/time.ts";

/** The clock of the system, which a test moves on; a timer set before is not moved with it. */
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

/** A clock on which no time passes but what a test lets pass. */
export class StoppedClock implements Clock {
  #nowMs = systemClock.nowMs();
  #monotonicMs = systemClock.monotonicMs();

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
/** A wait that the machine prolonged counts for this much at most. */
const STEP_MS = 20;

/**
 * A clock on which time passes only while the event loop of this process waits: with the provider in
 * the same process a short time limit is reached by one that is silent, and by no other, however
 * much the process has to do.
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
