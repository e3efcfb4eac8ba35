import { usdOrNull } from "./json-values.ts";
import { type MicroUsd } from "./money.ts";

/** For how long a cap of a key holds: the UTC month, the week from Monday on, or the UTC day. */
export const CAP_PERIODS = ["month", "week", "day"] as const;
export type CapPeriod = (typeof CAP_PERIODS)[number];

/** One value for each period; where the values are amounts, null means no cap. */
export type Caps<T = MicroUsd | null> = Readonly<Record<CapPeriod, T>>;

/** The field of each cap in JSON; flags and columns are named after it. */
export const CAP_FIELDS = {
  month: "cap_usd",
  week: "cap_week_usd",
  day: "cap_day_usd",
} as const satisfies Caps<string>;
export type CapField = (typeof CAP_FIELDS)[CapPeriod];

export function byCapPeriod<T>(make: (period: CapPeriod) => T): Caps<T> {
  return { month: make("month"), week: make("week"), day: make("day") };
}

export const NO_CAPS: Caps = byCapPeriod(() => null);

export function byCapField<T>(make: (period: CapPeriod) => T): Readonly<Record<CapField, T>> {
  return Object.fromEntries(
    CAP_PERIODS.map((period) => [CAP_FIELDS[period], make(period)]),
  ) as Record<CapField, T>;
}

/** Caps as every answer and file has them. */
export function capsInUsd(caps: Caps): Readonly<Record<CapField, string | null>> {
  return byCapField((period) => {
    const cap = caps[period];
    return usdOrNull(cap);
  });
}

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
