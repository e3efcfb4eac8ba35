/**
 * The two clocks of the program, passed in through the door so that a test or the simulation can
 * replace them. `Date.now` and `performance.now` are called in this file only.
 */
export interface Clock {
  /** Wall clock, milliseconds since 1970. Display, ids and windows; never for time-outs. */
  nowMs(): number;
  /** Monotonic clock, milliseconds. Time-outs and durations. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};
