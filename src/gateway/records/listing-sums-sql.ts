import {
  LISTING_DAYS_KEPT,
  LISTING_HOUR_AGAIN_HOURS,
  LISTING_HOUR_DELAY_MINUTES,
  LISTING_HOURS_KEPT,
  PUBLIC_FIGURES_CALLS_MIN,
  PUBLIC_FIGURES_ORGS_MIN,
  REFUSALS,
  type RefusalClass,
  toRequestStatus,
} from "../../kernel/index.ts";

const ATTEMPT_HOUR_SQL =
  "timestamptz '2025-01-01T00:00Z' + (attempt_id >> 22) / 3600000 * interval '1 hour'";

/** Error classes of attempts that failed because of the request, not of the provider. */
const BLAMES = (Object.keys(REFUSALS) as RefusalClass[]).filter(
  (errorClass) =>
    toRequestStatus({ attempts: 1, outcome: "failed", errorClass }) === "rejected_by_provider",
);
export const FAILED_SQL = `outcome in ('failed', 'timeout', 'reset', 'stream_died')
  and coalesce(error_class, '') not in (${BLAMES.map((each) => `'${each}'`).join(", ")})`;

/* Selects complete streams: an answer in one piece has no time to the first token. */
const STREAMED_SQL =
  "outcome = 'completed' and stream and completion > 0 and duration_ms > first_byte_ms";

function partsSql(where: string): string {
  return `part as materialized (
    select org_id, provider_id, model_id, hour, span, count(*) as attempts,
      count(*) filter (where is_succeeded) as succeeded,
      count(*) filter (where is_failed) as failed, count(span) as streamed,
      coalesce(sum(tokens) filter (where span is not null), 0) as streamed_tokens,
      coalesce(sum(ms) filter (where span is not null), 0) as streamed_ms,
      count(*) filter (where final) as requests,
      count(*) filter (where final and is_failed) as failed_requests, sum(debit) as debit,
      sum(margin) as margin, count(*) filter (where margin < 0) as losses,
      coalesce(-sum(margin) filter (where margin < 0), 0) as lost
    from (
      select org_id, provider_id, model_id, ${ATTEMPT_HOUR_SQL} as hour,
        outcome is not distinct from 'completed' as is_succeeded, ${FAILED_SQL} as is_failed,
        case when ${STREAMED_SQL} then first_byte_span(first_byte_ms) end as span,
        completion as tokens, duration_ms - first_byte_ms as ms, final, debit,
        coalesce(margin_of(cost_pico, owed_pico), 0) as margin
      from attempt where state <> 'open' and ${where}
    ) closed
    group by 1, 2, 3, 4, 5)`;
}

const SUMS = [
  "succeeded",
  "failed",
  "streamed",
  "streamed_tokens",
  "streamed_ms",
  "requests",
  "failed_requests",
  "debit",
  "margin",
  "losses",
  "lost",
] as const;
const SUMS_SQL = SUMS.map((column) => `sum(${column}) as ${column}`).join(", ");
/** Combines rows, each with a bucket (`span`) or none, into arrays of bucket numbers and counts. */
export const spansSql = (count: string): string => `
  coalesce(array_agg(span order by span) filter (where span is not null), '{}'),
  coalesce(array_agg(${count} order by span) filter (where span is not null), '{}')`;
const SPANS_SQL = spansSql("streamed");

const HOURS_OF_PARTS_SQL = `
  insert into listing_hour_sum (org_id, hour, provider_id, model_id, attempts, ${SUMS.join(", ")},
    first_byte_spans, first_byte_counts)
  select org_id, hour, provider_id, model_id, sum(attempts), ${SUMS_SQL}, ${SPANS_SQL}
  from part group by 1, 2, 3, 4`;

const BIT_SQL = "1 << extract(hour from hour at time zone 'utc')::integer";

/** Sums one day. $1 organizations, $2 day, $3 its first attempt id, $4 the id after its last. */
export const SUM_DAY_SQL = `
  with ${partsSql("org_id = any ($1) and attempt_id >= $3 and attempt_id < $4")},
  hours as (${HOURS_OF_PARTS_SQL.replace(
    "from part",
    `from part where $2::date >= (now() - interval '${LISTING_HOURS_KEPT} hours')::date`,
  )})
  insert into listing_day_sum (org_id, day, provider_id, model_id, attempts, used_hours, up_hours,
    ${SUMS.join(", ")}, first_byte_spans, first_byte_counts)
  select org_id, $2::date, provider_id, model_id, sum(attempts), bit_or(used), bit_or(up),
    ${SUMS_SQL}, ${SPANS_SQL}
  from (
    select org_id, provider_id, model_id, span, sum(attempts) as attempts,
      coalesce(bit_or(${BIT_SQL}) filter (where succeeded + failed > 0), 0) as used,
      coalesce(bit_or(${BIT_SQL}) filter (where succeeded > 0), 0) as up, ${SUMS_SQL}
    from part where $2::date > (now() at time zone 'utc')::date - ${LISTING_DAYS_KEPT}
    group by 1, 2, 3, 4
  ) of_day
  group by 1, 2, 3, 4`;

/** Deletes the sums of day $2 and of its hours that an earlier run wrote. $1: organizations. */
export const FORGET_DAY_SQL: readonly string[] = [
  "delete from listing_day_sum where day = $2 and org_id = any ($1)",
  `delete from listing_hour_sum where org_id = any ($1)
    and hour >= $2::date::timestamp at time zone 'utc'
    and hour < ($2::date + 1)::timestamp at time zone 'utc'`,
];

/** Finds the newest hour that is over and not summed, or summed before its late attempts ended. */
export const DUE_HOUR_SQL = `
  select due.hour
  from generate_series(date_trunc('hour', now()) - interval '${LISTING_HOURS_KEPT - 24} hours',
    now() - interval '1 hour ${LISTING_HOUR_DELAY_MINUTES} minutes', interval '1 hour') as due(hour)
  left join listing_hour h using (hour)
  where h.hour is null
    or (h.folded_at < due.hour + interval '${LISTING_HOUR_AGAIN_HOURS + 1} hours'
      and now() >= due.hour + interval '${LISTING_HOUR_AGAIN_HOURS + 1} hours')
  order by due.hour desc limit 1`;

export const FORGET_HOUR_SQL = "delete from listing_hour_sum where hour = $1";

/** Sums one hour. $1 is its first attempt id, $2 the id after its last. */
export const FOLD_HOUR_SQL = `
  with ${partsSql("attempt_id >= $1 and attempt_id < $2")}
  ${HOURS_OF_PARTS_SQL}`;

export const MARK_HOUR_SQL = `
  insert into listing_hour (hour, folded_at) values ($1, now())
  on conflict (hour) do update set folded_at = excluded.folded_at`;

/** Finds the oldest day that is summed for every organization and not yet published. */
export const UNPUBLISHED_DAY_SQL = `
  select to_char(u.day, 'YYYY-MM-DD') as day from usage_day u
  where u.is_done and not u.is_published
    and u.day > (now() at time zone 'utc')::date - ${LISTING_DAYS_KEPT}
    and not exists (select from usage_stale s where s.day = u.day)
    and not exists (select from retired_day d where d.day = u.day)
  order by u.day limit 1`;

/**
 * Returns an SQL condition: enough organizations made enough calls, and none of them has more than
 * half of `weight`. Published figures then reveal no single customer.
 */
export function isOfManySql(calls: string, weight: string): string {
  return `count(*) filter (where ${calls} > 0) >= ${PUBLIC_FIGURES_ORGS_MIN}
    and sum(${calls}) >= ${PUBLIC_FIGURES_CALLS_MIN} and 2 * max(${weight}) <= sum(${weight})`;
}

/** Publishes day $1: figures that reveal one organization's use are left out (`isOfManySql`). */
export const PUBLISH_DAY_SQL = `
  with known as (
    select provider_id, model_id, sum(succeeded) as succeeded, sum(failed) as failed,
      bit_or(used_hours) as used_hours, bit_or(up_hours) as up_hours,
      ${isOfManySql("streamed", "streamed")} and 2 * max(streamed_ms) <= sum(streamed_ms)
        as is_streamed,
      sum(streamed) as streamed, sum(streamed_tokens) as streamed_tokens,
      sum(streamed_ms) as streamed_ms
    from listing_day_sum where day = $1
    group by provider_id, model_id
    having ${isOfManySql("(succeeded + failed)", "(succeeded + failed)")}
  ), span as (
    select provider_id, model_id, s.span, sum(s.count) as count
    from listing_day_sum d
    join known k using (provider_id, model_id)
    cross join lateral unnest(d.first_byte_spans, d.first_byte_counts) as s(span, count)
    where d.day = $1 and k.is_streamed
    group by 1, 2, 3
  )
  insert into listing_public_day
  select k.provider_id, k.model_id, $1::date, succeeded, failed, used_hours, up_hours,
    case when is_streamed then streamed else 0 end,
    case when is_streamed then streamed_tokens else 0 end,
    case when is_streamed then streamed_ms else 0 end,
    ${spansSql("count")}
  from known k left join span s using (provider_id, model_id)
  group by k.provider_id, k.model_id, succeeded, failed, used_hours, up_hours, is_streamed,
    streamed, streamed_tokens, streamed_ms
  on conflict do nothing`;

export const MARK_PUBLISHED_SQL = "update usage_day set is_published = true where day = $1";

export const PRUNE_SQL: readonly string[] = [
  `delete from listing_day_sum
    where day <= (now() at time zone 'utc')::date - ${LISTING_DAYS_KEPT}`,
  `delete from listing_public_day
    where day <= (now() at time zone 'utc')::date - ${LISTING_DAYS_KEPT}`,
  `delete from listing_hour_sum where hour < now() - interval '${LISTING_HOURS_KEPT + 24} hours'`,
  `delete from listing_hour where hour < now() - interval '${LISTING_HOURS_KEPT + 24} hours'`,
];
