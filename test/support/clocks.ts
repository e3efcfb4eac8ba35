import { systemClock, type Clock } from "../../src/kernel/core/time.ts";

/** The system's clock plus what a test adds. Timers that are already set do not move. */
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

export class StoppedClock implements Clock {
  // Whole milliseconds: sums of fractions could be a little more than what was added.
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
/** A tick counts at most this much, even if a busy machine delayed it. */
const STEP_MS = 20;

/** Moves only while this process is idle, so only a silent provider reaches a time limit. */
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
