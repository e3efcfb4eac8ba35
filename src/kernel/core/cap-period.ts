import { assert } from "./assert.ts";
import { usdOrNull } from "./json-values.ts";
import { type MicroUsd } from "./money.ts";

/** Periods of a spend cap, all in UTC. A week begins on Monday. */
export const CAP_PERIODS = ["month", "week", "day"] as const;
export type CapPeriod = (typeof CAP_PERIODS)[number];

export function parseCapPeriod(text: string | null | undefined): CapPeriod {
  const period = CAP_PERIODS.find((each) => each === text);
  assert(period !== undefined, "a cap is of a day, a week or a month");
  return period;
}

/** One value for each period. If the values are amounts, null means that the period has no cap. */
export type Caps<T = MicroUsd | null> = Readonly<Record<CapPeriod, T>>;

/** The JSON field of each cap. Flags and columns are named after it. */
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

export function capsInUsd(caps: Caps): Readonly<Record<CapField, string | null>> {
  return byCapField((period) => usdOrNull(caps[period]));
}

const DAY_MS = 86_400_000;

/** Days since 1970-01-01. */
export function utcDay(nowMs: number): number {
  return Math.floor(nowMs / DAY_MS);
}

/** Returns the Monday of the week of `day`, in days since 1970-01-01, which was a Thursday. */
export function mondayOf(day: number): number {
  return day - ((((day + 3) % 7) + 7) % 7);
}

/** Sorts the periods by their next end after `nowMs`, latest first. Equal ends keep their order. */
export function periodsByEnd(nowMs: number): readonly CapPeriod[] {
  return CAP_PERIODS.toSorted((a, b) => periodEndMs(b, nowMs) - periodEndMs(a, nowMs));
}

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
