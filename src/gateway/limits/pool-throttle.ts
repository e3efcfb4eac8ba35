import { RETRY_AFTER_SECONDS_MAX } from "../../kernel/index.ts";

/** The effect of a pool's latest 429s. Times are monotonic milliseconds. */
export interface PoolThrottle {
  readonly cooldownUntilMs: number;
  /** The end of the rest that the other instances know of. */
  readonly broadcastUntilMs: number;
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
  readonly cooldownMs: number;
  readonly nowMs: number;
}

const SHRINK_TO_PERCENT = 80;
const USABLE_PERCENT_MIN = 10;
/** Requests that were under way together are refused together: that is one 429, not many. */
const TOGETHER_MS = 1_000;
/** The notice of another instance's cooldown arrives late, and with the other's clock. */
const REMOTE_NOTICE_MS = 1_000;

/** Four fifths of what was usable, at least a tenth of what was declared. */
export function afterTooMany(known: PoolThrottle | undefined, event: TooMany): PoolThrottle {
  const { nowMs } = event;
  const before = usablePercent(known, nowMs);
  const isSame = known !== undefined && nowMs - known.shrunkAtMs < TOGETHER_MS;
  const shrunk = Math.max(USABLE_PERCENT_MIN, Math.floor((before * SHRINK_TO_PERCENT) / 100));
  return {
    cooldownUntilMs: cooldownEnd(known, event),
    broadcastUntilMs: known?.broadcastUntilMs ?? Number.NEGATIVE_INFINITY,
    percent: isSame ? before : shrunk,
    latestMs: nowMs,
    shrunkAtMs: isSame ? known.shrunkAtMs : nowMs,
  };
}

/**
 * Another instance received a 429 and notified the others: the same, unless it is known already.
 */
export function applyRemoteCooldown(known: PoolThrottle | undefined, event: TooMany): PoolThrottle {
  const cooldownUntilMs = cooldownEnd(known, event);
  const isKnown = known !== undefined && cooldownUntilMs - known.cooldownUntilMs < REMOTE_NOTICE_MS;
  const after = isKnown ? { ...known, cooldownUntilMs } : afterTooMany(known, event);
  return { ...after, broadcastUntilMs: cooldownUntilMs };
}

/** The usable share of the declared capacity: one percent more after each quiet second. */
export function usablePercent(throttle: PoolThrottle | undefined, nowMs: number): number {
  if (throttle === undefined) return 100;
  const quietSeconds = Math.floor(Math.max(0, nowMs - throttle.latestMs) / 1000);
  return Math.min(100, throttle.percent + quietSeconds);
}

/** How long a pool of which so much is usable needs until all of it is, if no 429 comes. */
export function secondsUntilWhole(percent: number): number {
  return 100 - percent;
}

/** Should this cooldown be broadcast? Not when the one they know ends at about the same time. */
export function shouldBroadcast(
  { cooldownUntilMs, broadcastUntilMs }: PoolThrottle,
  nowMs: number,
): boolean {
  if (cooldownUntilMs <= nowMs) return false;
  return broadcastUntilMs <= nowMs || cooldownUntilMs - broadcastUntilMs >= TOGETHER_MS;
}

/** Is there nothing left to remember? A late word of the rest must still be recognized. */
export function isOver(throttle: PoolThrottle, nowMs: number): boolean {
  const hasCooledDown = nowMs > throttle.cooldownUntilMs + REMOTE_NOTICE_MS;
  return hasCooledDown && usablePercent(throttle, nowMs) === 100;
}

function cooldownEnd(known: PoolThrottle | undefined, { cooldownMs, nowMs }: TooMany): number {
  const untilMs = nowMs + Math.min(cooldownMs, RETRY_AFTER_SECONDS_MAX * 1000);
  return Math.max(untilMs, known?.cooldownUntilMs ?? Number.NEGATIVE_INFINITY);
}
