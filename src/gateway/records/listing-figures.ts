import type { OrgId } from "../../kernel/index.ts";

/** The counts of a listing's traffic: their names in code, and in columns. */
const COUNTS = {
  succeeded: "succeeded",
  /**
   * Calls that failed because of the provider, not because of the request or a client that left.
   */
  failed: "failed",
  /** Hours with calls. */
  usedHours: "used_hours",
  /** Hours in which at least one call succeeded. */
  upHours: "up_hours",
  /**
   * This and the next two count only complete streamed answers: others have no time to the first
   * token.
   */
  streamed: "streamed",
  streamedTokens: "streamed_tokens",
  streamedMs: "streamed_ms",
} as const;
type CountName = keyof typeof COUNTS;

export function byCount<T>(make: (name: CountName, column: string) => T) {
  const made = Object.entries(COUNTS).map(([name, column]) => [
    name,
    make(name as CountName, column),
  ]);
  return Object.fromEntries(made) as Readonly<Record<CountName, T>>;
}

/** The traffic of a listing in a span of time. Sums of several spans can be added. */
export interface ListingSums extends Readonly<Record<CountName, number>> {
  readonly providerId: string;
  readonly modelId: string;
  readonly fromMs: number;
  /**
   * Histogram of the time to the first byte: the number of a bucket (SQL `first_byte_span`) to the
   * number of answers in it.
   */
  readonly firstBytes: ReadonlyMap<number, number>;
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

/** A figure is null if there is nothing to compute it from. */
export function computeFigures(sums: readonly ListingSums[]) {
  const total = byCount((name) => sums.reduce((sum, each) => sum + each[name], 0));
  const calls = total.succeeded + total.failed;
  const firstBytes = countsTogether(sums.map((each) => each.firstBytes));
  return {
    calls,
    /** The share of calls that succeeded, 0 to 1. */
    success: computeShare(total.succeeded, calls),
    /** The share of hours with calls in which at least one succeeded, 0 to 1. */
    uptime: computeShare(total.upHours, total.usedHours),
    firstTokenP50Ms: findPercentile(firstBytes, 0.5),
    firstTokenP95Ms: findPercentile(firstBytes, 0.95),
    tokensPerSecond: computeShare(total.streamedTokens * 1_000, total.streamedMs),
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
