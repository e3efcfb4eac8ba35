import type { MicroUsd } from "../../kernel/index.ts";

export interface Spending {
  /** Start of a UTC day. */
  readonly dayMs: number;
  readonly spentMicroUsd: bigint;
}

export interface Lasting {
  /** The mean of the whole days that count, rounded up: a smaller one would promise too much. */
  readonly perDayMicroUsd: bigint;
  /** Undefined: more than a year from now. */
  readonly untilMs: number | undefined;
}

const DAY_MS = 86_400_000;
/** A week, so that work days and weekends weigh as they do in the long run. */
const WHOLE_DAYS = 7;
const WHOLE_DAYS_MIN = 2;
const DAYS_MAX = 365n;

/**
 * Until when a balance lasts at the pace of the last seven whole days, counted from the first of
 * them on which something was spent: an account of yesterday is not judged by six days before it.
 * Undefined: not known yet, with fewer than two such days, or nothing to spend.
 */
export function lastsUntil(
  availableMicroUsd: MicroUsd,
  days: readonly Spending[],
  nowMs: number,
): Lasting | undefined {
  const todayMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const week = days.filter(
    ({ dayMs }) => dayMs < todayMs && dayMs >= todayMs - WHOLE_DAYS * DAY_MS,
  );
  const firstAt = week.findIndex(({ spentMicroUsd }) => spentMicroUsd > 0n);
  const counted = firstAt === -1 ? [] : week.slice(firstAt);
  if (counted.length < WHOLE_DAYS_MIN || availableMicroUsd <= 0n) return undefined;
  const length = BigInt(counted.length);
  const spent = counted.reduce((sum, { spentMicroUsd }) => sum + spentMicroUsd, 0n);
  const perDayMicroUsd = (spent + length - 1n) / length;
  const lastsMs = (availableMicroUsd * length * BigInt(DAY_MS)) / spent;
  const untilMs = lastsMs > DAYS_MAX * BigInt(DAY_MS) ? undefined : nowMs + Number(lastsMs);
  return { perDayMicroUsd, untilMs };
}
