import { retryAfterSecondsMax } from "../core/constants.ts";

/** What a pool's latest 429s have led to. Times are monotonic milliseconds. */
export interface PoolThrottle {
  readonly restUntilMs: number;
  /** The end of the rest that the other instances know of. */
  readonly toldUntilMs: number;
  /** Whole percent of the declared capacity that was usable right after the latest 429. */
  readonly percent: number;
  /** The latest 429. */
  readonly latestMs: number;
  /** The 429 that shrank the pool last; others that follow it at once shrink nothing. */
  readonly shrunkAtMs: number;
}

/** One more time that the provider said 429. */
export interface TooMany {
  /** How long the pool is to rest; a longer rest that is under way stays. */
  readonly restMs: number;
  readonly nowMs: number;
}

const SHRINK_TO_PERCENT = 80;
const USABLE_PERCENT_MIN = 10;
/** Requests that were under way together are refused together: that is one 429, not many. */
const TOGETHER_MS = 1_000;
/** The notice of another instance's cooldown arrives late, and with the other's clock. */
const HEARSAY_MS = 1_000;

/** Four fifths of what was usable, at least a tenth of what was declared. */
export function afterTooMany(known: PoolThrottle | undefined, event: TooMany): PoolThrottle {
  const { nowMs } = event;
  const before = usablePercent(known, nowMs);
  const isSame = known !== undefined && nowMs - known.shrunkAtMs < TOGETHER_MS;
  const shrunk = Math.max(USABLE_PERCENT_MIN, Math.floor((before * SHRINK_TO_PERCENT) / 100));
  return {
    restUntilMs: restEnd(known, event),
    toldUntilMs: known?.toldUntilMs ?? Number.NEGATIVE_INFINITY,
    percent: isSame ? before : shrunk,
    latestMs: nowMs,
    shrunkAtMs: isSame ? known.shrunkAtMs : nowMs,
  };
}

/**
 * Another instance received a 429 and notified the others: the same, unless it is known already.
 */
export function afterHearsay(known: PoolThrottle | undefined, event: TooMany): PoolThrottle {
  const restUntilMs = restEnd(known, event);
  const isKnown = known !== undefined && restUntilMs - known.restUntilMs < HEARSAY_MS;
  const after = isKnown ? { ...known, restUntilMs } : afterTooMany(known, event);
  return { ...after, toldUntilMs: restUntilMs };
}

/** What of the declared capacity is usable: one percent more after each quiet second. */
export function usablePercent(throttle: PoolThrottle | undefined, nowMs: number): number {
  if (throttle === undefined) return 100;
  const quietSeconds = Math.floor(Math.max(0, nowMs - throttle.latestMs) / 1000);
  return Math.min(100, throttle.percent + quietSeconds);
}

/** Should this cooldown be broadcast? Not when the one they know ends at about the same time. */
export function isNews({ restUntilMs, toldUntilMs }: PoolThrottle, nowMs: number): boolean {
  if (restUntilMs <= nowMs) return false;
  return toldUntilMs <= nowMs || restUntilMs - toldUntilMs >= TOGETHER_MS;
}

/** Is there nothing left to remember? A late word of the rest must still be recognized. */
export function isOver(throttle: PoolThrottle, nowMs: number): boolean {
  const isRested = nowMs > throttle.restUntilMs + HEARSAY_MS;
  return isRested && usablePercent(throttle, nowMs) === 100;
}

function restEnd(known: PoolThrottle | undefined, { restMs, nowMs }: TooMany): number {
  const untilMs = nowMs + Math.min(restMs, retryAfterSecondsMax * 1000);
  return Math.max(untilMs, known?.restUntilMs ?? Number.NEGATIVE_INFINITY);
}
