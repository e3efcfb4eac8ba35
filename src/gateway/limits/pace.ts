import type { Pace } from "./limit-store.ts";

/**
 * Virtual scheduling: the time of the next free slot represents the whole queue. First
 * come, first served, without a queue to keep. Times are whole microseconds.
 */
export function pacingWaitUs(nextSlotUs: number, nowUs: number): number {
  return Math.max(0, nextSlotUs - nowUs);
}

/** From one turn to the next; rounded up, so that the pace is never exceeded. */
export function pacingIntervalUs(pace: Pace): number {
  return Math.ceil(1_000_000 / pace.perSecond);
}

/** The longest wait that is still accepted. */
export function pacingWaitUsMax(pace: Pace): number {
  return Math.floor(pace.waitMsMax * 1000);
}
