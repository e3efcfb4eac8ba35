import { type CapPeriod, periodEndMs } from "../../kernel/index.ts";

/** When each cap of a key resets. */
export function capResets(nowMs: number): {
  readonly cap_reset_at: string;
  readonly week_reset_at: string;
  readonly day_reset_at: string;
} {
  const end = (period: CapPeriod): string => new Date(periodEndMs(period, nowMs)).toISOString();
  return { cap_reset_at: end("month"), week_reset_at: end("week"), day_reset_at: end("day") };
}

/** The UTC month before, from its start for as long as this month has lasted, or to its end. */
export function sameSpanOfMonthBefore(nowMs: number): {
  readonly fromMs: number;
  readonly toMs: number;
} {
  const now = new Date(nowMs);
  const startMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
  const fromMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1);
  return { fromMs, toMs: Math.min(fromMs + (nowMs - startMs), startMs) };
}
