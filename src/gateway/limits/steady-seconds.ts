import { WINDOW_SECONDS } from "./rolling-window.ts";

const STEP_BACK_MS_MAX = (WINDOW_SECONDS + 1) * 1000;

/**
 * Turns the caller's clock into seconds that never go backwards. A small step back (callers that
 * read the clock in another order than they claim) holds the second; a step larger than the window
 * is a changed wall clock, and time continues from where it was instead of stopping for hours.
 */
export class SteadySeconds {
  #latestMs = 0;
  #shiftMs = 0;

  /** Microseconds of the last `at`; they never go backwards either. */
  get latestUs(): number {
    return Math.floor(this.#latestMs * 1000);
  }

  at(nowMs: number): number {
    const shifted = nowMs + this.#shiftMs;
    if (shifted >= this.#latestMs) this.#latestMs = shifted;
    else if (this.#latestMs - shifted > STEP_BACK_MS_MAX) this.#shiftMs = this.#latestMs - nowMs;
    return Math.floor(this.#latestMs / 1000);
  }
}
