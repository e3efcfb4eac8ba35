import type { OrgId } from "../../kernel/index.ts";

/** The traffic of a listing in a span of time. Sums of several spans can be added. */
export interface ListingSums {
  readonly providerId: string;
  readonly modelId: string;
  readonly fromMs: number;
  readonly succeeded: number;
  /**
   * Calls that failed because of the provider, not because of the request or a client that left.
   */
  readonly failed: number;
  /** `usedHours`: hours with calls. `upHours`: hours in which at least one call succeeded. */
  readonly usedHours: number;
  readonly upHours: number;
  /**
   * `streamed`, `streamedTokens` and `streamedMs` count only complete streamed answers: others have
   * no time to the first token.
   */
  readonly streamed: number;
  readonly streamedTokens: number;
  readonly streamedMs: number;
  /**
   * Histogram of the time to the first byte: the number of a bucket (SQL `first_byte_span`) to the
   * number of answers in it.
   */
  readonly firstBytes: ReadonlyMap<number, number>;
}

/** Figures computed from `ListingSums`; a figure is null if there is nothing to compute it from. */
export interface ListingFigures {
  readonly calls: number;
  /** The share of calls that succeeded, 0 to 1. */
  readonly success: number | null;
  /** The share of hours with calls in which at least one succeeded, 0 to 1. */
  readonly uptime: number | null;
  readonly firstTokenP50Ms: number | null;
  readonly firstTokenP95Ms: number | null;
  readonly tokensPerSecond: number | null;
}

export interface ListingFilter {
  readonly orgId: OrgId;
  readonly modelId?: string;
  readonly providerId?: string;
}

export interface ListingHistory {
  /** Sums by UTC day, oldest first, without days that have no calls. */
  readonly days: readonly ListingSums[];
  readonly hours: readonly ListingSums[];
}

export function computeFigures(sums: readonly ListingSums[]): ListingFigures {
  const total = (of: (each: ListingSums) => number): number =>
    sums.reduce((sum, each) => sum + of(each), 0);
  const succeeded = total((each) => each.succeeded);
  const calls = succeeded + total((each) => each.failed);
  const usedHours = total((each) => each.usedHours);
  const streamedMs = total((each) => each.streamedMs);
  const firstBytes = countsTogether(sums.map((each) => each.firstBytes));
  return {
    calls,
    success: computeShare(succeeded, calls),
    uptime: computeShare(
      total((each) => each.upHours),
      usedHours,
    ),
    firstTokenP50Ms: findPercentile(firstBytes, 0.5),
    firstTokenP95Ms: findPercentile(firstBytes, 0.95),
    tokensPerSecond:
      streamedMs === 0 ? null : (total((each) => each.streamedTokens) * 1_000) / streamedMs,
  };
}

export function countsTogether(
  all: readonly ReadonlyMap<number, number>[],
): ReadonlyMap<number, number> {
  const together = new Map<number, number>();
  for (const counts of all) {
    for (const [span, count] of counts) together.set(span, (together.get(span) ?? 0) + count);
  }
  return together;
}

function computeShare(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}

function findPercentile(counts: ReadonlyMap<number, number>, share: number): number | null {
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  let left = Math.ceil(all * share);
  for (const [span, count] of [...counts].toSorted(([a], [b]) => a - b)) {
    left -= count;
    if (left <= 0) return spanMiddleMs(span);
  }
  return null;
}

const EXACT_BELOW_MS = 32;
const SPANS_PER_DOUBLING = 16;

/**
 * Returns the middle, in whole milliseconds, of the histogram bucket with this number (SQL
 * `first_byte_span`).
 */
export function spanMiddleMs(span: number | null): number | null {
  if (span === null || span < EXACT_BELOW_MS) return span;
  const doublings = Math.floor(span / SPANS_PER_DOUBLING) - 1;
  const first = (span - doublings * SPANS_PER_DOUBLING) << doublings;
  return first + ((1 << doublings) >> 1);
}
