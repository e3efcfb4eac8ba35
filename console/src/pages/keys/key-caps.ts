import type {
  CapField,
  CapPeriod,
  Caps,
  Key,
  KeyList,
} from "../../../../src/account/console-api/contract.ts";

export const KEY_CAPS = [
  {
    period: "month",
    name: "monthly",
    field: "cap_usd",
    spent: "spent_month_usd",
    resetAt: "cap_reset_at",
    label: "Monthly cap in dollars",
    applies: "Caps apply to the calendar month in UTC.",
  },
  {
    period: "week",
    name: "weekly",
    field: "cap_week_usd",
    spent: "spent_week_usd",
    resetAt: "week_reset_at",
    label: "Weekly cap in dollars",
    applies: "Weeks begin on Monday at 00:00 UTC.",
  },
  {
    period: "day",
    name: "daily",
    field: "cap_day_usd",
    spent: "spent_day_usd",
    resetAt: "day_reset_at",
    label: "Daily cap in dollars",
    applies: "Days begin at 00:00 UTC.",
  },
] as const satisfies readonly {
  readonly period: CapPeriod;
  readonly name: string;
  readonly field: CapField;
  readonly spent: keyof Key;
  readonly resetAt: keyof KeyList;
  readonly label: string;
  readonly applies: string;
}[];

export const CAP_FIELDS: readonly CapField[] = KEY_CAPS.map(({ field }) => field);

export const BLANK_CAPS: Caps<string> = { month: "", week: "", day: "" };

export const PERIOD_NAMES: Readonly<Record<CapPeriod, string>> = {
  month: "Monthly",
  week: "Weekly",
  day: "Daily",
};

/** Routes whose answers show caps of keys, or the number of active keys. */
export const KEY_READERS = [
  "GET /api/console/keys",
  "GET /api/console/keys/:key_id",
  "GET /api/console/limits",
  "GET /api/console/overview",
] as const;
