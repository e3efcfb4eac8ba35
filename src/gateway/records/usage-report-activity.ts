import { MANAGED_SQL } from "../accounts/key-store.ts";
import { type KeyId, microUsd, PROVIDER_ACTIVITY_ATTEMPTS_MAX } from "../../kernel/index.ts";
import { FAILED_SQL, isOfManySql } from "./listing-sums-sql.ts";
import { unsummedSql } from "./usage-report-days.ts";
import type { KeyActivity, ProviderActivity, Substitution } from "./usage-reports.ts";

export interface KeyActivityRow {
  readonly key_id: string;
  readonly last_ms: bigint | null;
  readonly spent: bigint;
  readonly in_flight: bigint;
}

/** $1 organization, $2 its rolled days, $3 its separate requests. */
export function keyActivitySql(rolledDays: readonly string[]): string {
  return `
  with late as (
    select key_id, max(attempt_id) as attempt_id
    from ${unsummedSql("key_id, attempt_id", rolledDays)} a group by key_id
  )
  select k.key_id, s.spent, s.in_flight,
    greatest((greatest(late.attempt_id, summed.attempt_id) >> 22) + 1735689600000,
      request_ms(refused.request_id)) as last_ms
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

const MINUTE_MS = 60_000n;

export function keyActivity(row: KeyActivityRow): KeyActivity {
  const { last_ms: lastMs } = row;
  return {
    keyId: row.key_id as KeyId,
    lastUsedAtMs: lastMs === null ? null : Number((lastMs / MINUTE_MS) * MINUTE_MS),
    spentMonthMicroUsd: microUsd(row.spent),
    inFlightMicroUsd: microUsd(row.in_flight),
  };
}

/** How many attempts from either end are read, however many have failed between them. */
const CHECKED_MAX = 1_000;

/** $1 organization: one that succeeded, of its oldest attempts and its newest. */
export const FIRST_SUCCESS_SQL = `
  select request_id from (
    (select request_id, outcome from attempt where org_id = $1
      order by request_id limit ${CHECKED_MAX})
    union all
    (select request_id, outcome from attempt where org_id = $1
      order by request_id desc limit ${CHECKED_MAX})
  ) r where outcome = 'completed' order by request_id limit 1`;

export interface ProviderActivityRow {
  readonly provider_id: string;
  readonly attempts: bigint;
  readonly succeeded: bigint;
  readonly p50: number | null;
}

/**
 * Of the newest attempts only, however many a day has, and only of providers with calls of so many
 * organizations that none of them shows. What the customer ended, or the provider refused for what
 * it says, is neither success nor failure.
 */
export const PROVIDER_ACTIVITY_SQL = `
  with newest as materialized (
    select org_id, provider_id, outcome = 'completed' as is_succeeded, ${FAILED_SQL} as is_failed,
      first_byte_ms
    from (
      select org_id, provider_id, outcome, error_class, first_byte_ms from attempt
      where attempt_id >= attempt_id_at(now() - interval '24 hours')
        and state in ('settled', 'void')
      order by attempt_id desc limit ${PROVIDER_ACTIVITY_ATTEMPTS_MAX}
    ) closed
  ), of_org as (
    select provider_id, count(*) as calls, count(*) filter (where is_succeeded) as succeeded
    from newest where is_succeeded or is_failed group by provider_id, org_id
  ), known as (
    select provider_id, sum(calls)::bigint as attempts, sum(succeeded)::bigint as succeeded,
      ${isOfManySql("succeeded", "succeeded")} as is_timed
    from of_org group by provider_id having ${isOfManySql("calls", "calls")}
  )
  select provider_id, attempts, succeeded, case when is_timed then (
    select percentile_disc(0.5) within group (order by first_byte_ms) from newest n
    where n.provider_id = known.provider_id and n.is_succeeded
  ) end as p50
  from known order by provider_id`;

export function providerActivity(row: ProviderActivityRow): ProviderActivity {
  return {
    providerId: row.provider_id,
    attempts: Number(row.attempts),
    succeeded: Number(row.succeeded),
    firstByteP50Ms: row.p50,
  };
}

export interface SubstitutionRow {
  readonly provider_id: string;
  readonly model_id: string;
  readonly served_model: string;
  readonly share: number | null;
}

/**
 * Of the newest attempts, like the activity: the ids carry the time. What was substituted has to be
 * of many organizations by itself: one that knows its own part would know the rest.
 */
export const SUBSTITUTIONS_SQL = `
  with newest as materialized (
    select org_id, provider_id, model_id, served_model, substituted from attempt
    where attempt_id >= attempt_id_at(now() - interval '24 hours') and state in ('settled', 'void')
    order by attempt_id desc limit ${PROVIDER_ACTIVITY_ATTEMPTS_MAX}
  ), of_org as (
    select provider_id, model_id, count(*) as answers,
      count(*) filter (where substituted) as substituted
    from newest where served_model is not null group by provider_id, model_id, org_id
  )
  select provider_id, model_id, (
    select mode() within group (order by n.served_model) from newest n
    where n.provider_id = o.provider_id and n.model_id = o.model_id and n.substituted
  ) as served_model, case
    when ${isOfManySql("answers", "answers")} and ${isOfManySql("substituted", "substituted")}
    then sum(substituted)::float8 / sum(answers)::float8 end as share
  from of_org o group by provider_id, model_id having sum(substituted) > 0
  order by provider_id, model_id`;

export function substitution(row: SubstitutionRow): Substitution {
  return {
    providerId: row.provider_id,
    modelId: row.model_id,
    servedModel: row.served_model,
    share: row.share,
  };
}
