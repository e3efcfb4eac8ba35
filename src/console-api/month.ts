/** The first instant of the next UTC month, in which caps begin anew. */
export function nextMonthStart(nowMs: number): string {
  const now = new Date(nowMs);
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)).toISOString();
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
