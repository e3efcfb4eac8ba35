import type { MicroUsd } from "../../kernel/index.ts";

export interface Spending {
  readonly dayMs: number;
  readonly spentMicroUsd: bigint;
}

export interface Runway {
  /** The mean spend of the counted days, rounded up so that it does not promise too much. */
  readonly perDayMicroUsd: bigint;
  /** Undefined if it is more than a year from now. */
  readonly untilMs: number | undefined;
}

const DAY_MS = 86_400_000;
/** A week, so that working days and weekends weigh as they do in the long run. */
const WHOLE_DAYS = 7;
const WHOLE_DAYS_MIN = 2;
const DAYS_MAX = 365n;

/**
 * Estimates until when a balance lasts at the pace of the last seven whole days. Days before the
 * first spend are left out, so that a new account is judged by its own days. Undefined if fewer
 * than two days are left, or without a balance.
 */
export function estimateRunway(
  availableMicroUsd: MicroUsd,
  days: readonly Spending[],
  nowMs: number,
): Runway | undefined {
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
