import { RETRY_AFTER_SECONDS_MAX } from "../../kernel/index.ts";

/** How far a provider's 429s have throttled one pool. Times are monotonic milliseconds. */
export interface PoolThrottle {
  readonly cooldownUntilMs: number;
  /** The end of the cooldown that the other instances know of. */
  readonly broadcastUntilMs: number;
  /** Whole percent of the declared capacity that was usable right after the latest 429. */
  readonly percent: number;
  readonly latestMs: number;
  /** The time of the last 429 that shrank the pool; 429s right after it shrink nothing. */
  readonly shrunkAtMs: number;
}

export interface TooMany {
  /** The length of the pool's cooldown; a running cooldown that ends later stays. */
  readonly cooldownMs: number;
  readonly nowMs: number;
}

const SHRINK_TO_PERCENT = 80;
const USABLE_PERCENT_MIN = 10;
/** Concurrent requests get their 429s together, so 429s within this time count as one. */
const TOGETHER_MS = 1_000;
/** Tolerance for notices of other instances, which arrive late and by another clock. */
const REMOTE_NOTICE_MS = 1_000;

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
 * Returns the throttle after another instance's notice of a 429, unless that 429 is known already.
 */
export function applyRemoteCooldown(known: PoolThrottle | undefined, event: TooMany): PoolThrottle {
  const cooldownUntilMs = cooldownEnd(known, event);
  const isKnown = known !== undefined && cooldownUntilMs - known.cooldownUntilMs < REMOTE_NOTICE_MS;
  const after = isKnown ? { ...known, cooldownUntilMs } : afterTooMany(known, event);
  return { ...after, broadcastUntilMs: cooldownUntilMs };
}

export function usablePercent(throttle: PoolThrottle | undefined, nowMs: number): number {
  if (throttle === undefined) return 100;
  const quietSeconds = Math.floor(Math.max(0, nowMs - throttle.latestMs) / 1000);
  return Math.min(100, throttle.percent + quietSeconds);
}

/**
 * Returns the seconds until the whole pool is usable: one percent returns per second if no further
 * 429 arrives.
 */
export function secondsUntilWhole(percent: number): number {
  return 100 - percent;
}

/**
 * True if the pool cools down and the other instances know no cooldown that ends at about the same
 * time.
 */
export function shouldBroadcast(
  { cooldownUntilMs, broadcastUntilMs }: PoolThrottle,
  nowMs: number,
): boolean {
  if (cooldownUntilMs <= nowMs) return false;
  return broadcastUntilMs <= nowMs || cooldownUntilMs - broadcastUntilMs >= TOGETHER_MS;
}

/** True once even a late notice of the cooldown can have no effect. */
export function isOver(throttle: PoolThrottle, nowMs: number): boolean {
  const hasCooledDown = nowMs > throttle.cooldownUntilMs + REMOTE_NOTICE_MS;
  return hasCooledDown && usablePercent(throttle, nowMs) === 100;
}

function cooldownEnd(known: PoolThrottle | undefined, { cooldownMs, nowMs }: TooMany): number {
  const untilMs = nowMs + Math.min(cooldownMs, RETRY_AFTER_SECONDS_MAX * 1000);
  return Math.max(untilMs, known?.cooldownUntilMs ?? Number.NEGATIVE_INFINITY);
}
