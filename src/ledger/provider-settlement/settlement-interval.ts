import { assert, unreachable } from "../../kernel/index.ts";

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
  switch (interval) {
    case "half_daily":
      return startMs + HALF_DAY_MS;
    case "daily":
      return startMs + DAY_MS;
    case "weekly":
      return startMs + WEEK_MS;
    case "monthly": {
      const start = new Date(startMs);
      return Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1);
    }
    default:
      return unreachable(interval);
  }
}

export function boundaryAtOrBefore(atMs: number, interval: SettlementInterval): number {
  switch (interval) {
    case "half_daily":
      return floorTo(atMs, HALF_DAY_MS, 0);
    case "daily":
      return floorTo(atMs, DAY_MS, 0);
    case "weekly":
      return floorTo(atMs, WEEK_MS, A_MONDAY_MS);
    case "monthly": {
      const at = new Date(atMs);
      return Date.UTC(at.getUTCFullYear(), at.getUTCMonth());
    }
    default:
      return unreachable(interval);
  }
}

const DAY_MS = 2 * HALF_DAY_MS;
const WEEK_MS = 7 * DAY_MS;
/** 1970-01-05T00:00:00Z, the first Monday since 1970. */
const A_MONDAY_MS = 4 * DAY_MS;

function floorTo(atMs: number, stepMs: number, fromMs: number): number {
  return Math.floor((atMs - fromMs) / stepMs) * stepMs + fromMs;
}
