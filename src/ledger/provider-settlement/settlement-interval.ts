import { assert } from "../../kernel/index.ts";

export const SETTLEMENT_INTERVALS = ["half_daily", "daily", "weekly", "monthly"] as const;

/** The length of a settlement period. Periods begin and end at boundaries in UTC. */
export type SettlementInterval = (typeof SETTLEMENT_INTERVALS)[number];

/** All intervals begin and end at midnight or noon UTC, so their bounds are multiples of this. */
export const HALF_DAY_MS = 43_200_000;

/** A half-open range: the instant `endMs` belongs to the next span. */
export interface SettlementSpan {
  readonly startMs: number;
  readonly endMs: number;
}

/**
 * Returns the period of an instant. It begins at the interval's boundary, but never before the end
 * of the last period, so that a change of interval leaves neither a gap nor an overlap.
 */
export function findSpan(
  atMs: number,
  interval: SettlementInterval,
  lastEndMs: number | undefined,
): SettlementSpan {
  assert(lastEndMs === undefined || lastEndMs <= atMs, "what was closed before stays closed");
  const startMs = Math.max(boundaryAtOrBefore(atMs, interval), lastEndMs ?? -Infinity);
  return { startMs, endMs: boundaryAfter(atMs, interval) };
}

export function halfDayAtOrBefore(atMs: number): number {
  return boundaryAtOrBefore(atMs, "half_daily");
}

export function boundaryAfter(atMs: number, interval: SettlementInterval): number {
  const startMs = boundaryAtOrBefore(atMs, interval);
  return interval === "monthly" ? monthStart(startMs, 1) : startMs + STEPS[interval].lengthMs;
}

export function boundaryAtOrBefore(atMs: number, interval: SettlementInterval): number {
  if (interval === "monthly") return monthStart(atMs, 0);
  const { lengthMs, fromMs } = STEPS[interval];
  return Math.floor((atMs - fromMs) / lengthMs) * lengthMs + fromMs;
}

const DAY_MS = 2 * HALF_DAY_MS;
/** The intervals of fixed length: each boundary is a whole number of lengths after `fromMs`. */
const STEPS = {
  half_daily: { lengthMs: HALF_DAY_MS, fromMs: 0 },
  daily: { lengthMs: DAY_MS, fromMs: 0 },
  // `fromMs` is 1970-01-05T00:00:00Z, the first Monday since 1970.
  weekly: { lengthMs: 7 * DAY_MS, fromMs: 4 * DAY_MS },
} as const;

function monthStart(atMs: number, monthsLater: number): number {
  const at = new Date(atMs);
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + monthsLater);
}
