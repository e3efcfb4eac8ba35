import { MANAGED_SQL } from "../accounts/key-store.ts";
import {
  columns,
  type Columns,
  count,
  type KeyId,
  micro,
  type MicroUsd,
  orNull,
  word,
} from "../../kernel/index.ts";
import { attemptsOutsideSql } from "./report-parts.ts";

export interface KeyActivity {
  readonly keyId: KeyId;
  /** The time of its newest request, cut to the minute; null: none in the journal. */
  readonly lastUsedAtMs: number | null;
  /** This UTC month, by admission. */
  readonly spentMonthMicroUsd: MicroUsd;
  readonly inFlightMicroUsd: MicroUsd;
}

/** $1 organization, $2 its rolled days. */
export function keyActivitySql(rolledDays: readonly string[]): string {
  return `
  with late as (
    select key_id, max(attempt_id) as attempt_id from (
      select key_id, attempt_id from attempt
      where org_id = $1 and ${attemptsOutsideSql(rolledDays)}
      union all
      select key_id, attempt_id from hold where org_id = $1 and not annulled
    ) a group by key_id
  )
  select k.key_id, s.spent, s.in_flight,
    greatest((greatest(late.attempt_id, summed.attempt_id) >> 22) + 1735689600000,
      request_ms(refused.request_id)) / 60000 * 60000 as last_ms
  from api_key k
  left join late using (key_id)
  left join lateral (
    select last_attempt_id as attempt_id from usage_sum
    where org_id = $1 and key_id = k.key_id and day = any ($2::date[])
    order by day desc, last_attempt_id desc limit 1
  ) summed on true
  left join lateral (
    select request_id from refused_request where org_id = $1 and key_id = k.key_id
    order by request_id desc limit 1
  ) refused on true
  cross join lateral (
    select coalesce(sum(reserved), 0) as in_flight, coalesce(sum(settled) filter (
      where month = date_trunc('month', now() at time zone 'utc')), 0) as spent
    from spend where scope = 'key' and id = k.key_id
  ) s
  where k.org_id = $1 and not ${MANAGED_SQL}
  order by k.created_at desc, k.key_id`;
}

export const keyActivityColumns: Columns<KeyActivity> = columns({
  keyId: word("key_id"),
  lastUsedAtMs: orNull(count("last_ms")),
  spentMonthMicroUsd: micro("spent"),
  inFlightMicroUsd: micro("in_flight"),
});

/** The number of attempts that are read from either end, however many of the others failed. */
const CHECKED_MAX = 1_000;

/** $1 is the organization. Finds one successful request among its oldest and newest attempts. */
export const FIRST_SUCCESS_SQL = `
  select request_id from (
    (select request_id, outcome from attempt where org_id = $1
      order by request_id limit ${CHECKED_MAX})
    union all
    (select request_id, outcome from attempt where org_id = $1
      order by request_id desc limit ${CHECKED_MAX})
  ) r where outcome = 'completed' order by request_id limit 1`;
