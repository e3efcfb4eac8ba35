/** For how long a cap is there: the UTC day, the week from Monday on, or the month. */
export type CapPeriod = "day" | "week" | "month";

const DAY_MS = 86_400_000;

/** The UTC day of an instant, as days since 1970. */
export function utcDay(nowMs: number): number {
  return Math.floor(nowMs / DAY_MS);
}

/** The Monday of a day's week; 1970 began on a Thursday. */
export function mondayOf(day: number): number {
  return day - ((((day + 3) % 7) + 7) % 7);
}

/** When the period of an instant ends, and the next one begins. */
export function periodEndMs(period: CapPeriod, nowMs: number): number {
  const day = utcDay(nowMs);
  switch (period) {
    case "day":
      return (day + 1) * DAY_MS;
    case "week":
      return (mondayOf(day) + 7) * DAY_MS;
    case "month":
    default: {
      const now = new Date(nowMs);
      return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
    }
  }
}
