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

/** A day that the calendar has, `2026-02-28`: `Date.parse` takes a 30th of February for 2 March. */
export function isDay(text: string): boolean {
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN;
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}

/** The day so many days earlier, `2026-02-28`; empty when `day` is none. */
export function daysBefore(day: string, days: number): string {
  const atMs = Date.parse(`${day}T00:00:00Z`) - days * 86_400_000;
  return Number.isNaN(atMs) ? "" : new Date(atMs).toISOString().slice(0, 10);
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};
