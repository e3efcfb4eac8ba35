const MARGIN_MS = 2 * 60_000;

/**
 * Is a UTC month's end so near that a call might count in the next month, by another clock or after
 * a wait? Caps begin anew there, so the budget would not hold.
 */
export function endsMonthSoon(nowMs: number): boolean {
  return new Date(nowMs).getUTCMonth() !== new Date(nowMs + MARGIN_MS).getUTCMonth();
}
