import { MANAGED_SQL } from "../accounts/key-store.ts";
import {
  columns,
  count,
  type KeyId,
  micro,
  orNull,
  word,
  integer,
  opaque,
  PROVIDER_ACTIVITY_ATTEMPTS_MAX,
  type RecordOf,
  text,
} from "../../kernel/index.ts";
import { attemptsOutsideSql } from "./report-parts.ts";
import { FAILED_SQL, isOfManySql } from "./listing-sums-sql.ts";

/** Reads the activity of keys. $1 organization, $2 days whose attempts are read from daily sums. */
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

export const keyActivityColumns = columns({
  keyId: word<KeyId>("key_id"),
  /** The minute of the key's newest attempt or stored refusal; null if there is none. */
  lastUsedAtMs: orNull(count("last_ms")),
  /** The key's spend in this UTC month; a request counts in the month in which it was admitted. */
  spentMonthMicroUsd: micro("spent"),
  inFlightMicroUsd: micro("in_flight"),
});

/** The most attempts that are read from each end of the organization's journal. */
const CHECKED_MAX = 1_000;

/** Finds one successful request among the oldest and newest attempts of organization $1. */
export const FIRST_SUCCESS_SQL = `
  select request_id from (
    (select request_id, outcome from attempt where org_id = $1
      order by request_id limit ${CHECKED_MAX})
    union all
    (select request_id, outcome from attempt where org_id = $1
      order by request_id desc limit ${CHECKED_MAX})
  ) r where outcome = 'completed' order by request_id limit 1`;

/**
 * Reads a bounded number of the newest attempts. Reports only providers that so many organizations
 * have called that the figures reveal none of them. A call that the customer ended, or that failed
 * because of the request, is neither a success nor a failure.
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

export const providerActivityColumns = columns({
  providerId: word<string>("provider_id"),
  attempts: count("attempts"),
  succeeded: count("succeeded"),
  /** Null if the successful calls come from too few organizations. */
  firstByteP50Ms: orNull(integer("p50")),
});
export type ProviderActivity = RecordOf<typeof providerActivityColumns>;

/**
 * Reads the same attempts as `PROVIDER_ACTIVITY_SQL`. The share of substituted answers must come
 * from many organizations, because otherwise a customer could subtract its own part and learn that
 * of another.
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

export const substitutionColumns = columns({
  providerId: word<string>("provider_id"),
  modelId: word<string>("model_id"),
  /** The name of the wrong model that the provider reported most often. */
  servedModel: text("served_model"),
  /**
   * Of the answers that named a model, the share with a wrong one; null if the answers, or the
   * wrong ones, come from too few organizations.
   */
  share: opaque<number | null>("share"),
});
export type Substitution = RecordOf<typeof substitutionColumns>;
