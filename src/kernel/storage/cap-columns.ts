import { CAP_FIELDS, type CapPeriod } from "../core/cap-period.ts";

/** The column of a key's cap. */
export function capColumn(period: CapPeriod): string {
  return CAP_FIELDS[period].replace("usd", "micro_usd");
}

/** Has this key a cap whose spend is kept by the day? */
export function hasDailySpendSql(key = "api_key"): string {
  return `(${key}.${capColumn("day")} is not null or ${key}.${capColumn("week")} is not null)`;
}
