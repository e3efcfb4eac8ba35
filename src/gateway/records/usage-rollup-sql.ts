import { HOUR_SKU_NAME } from "../../kernel/index.ts";
import { SKUS } from "./report-parts.ts";
import { END_SQL, ENDED_COLUMNS_SQL, withEarlier } from "./request-rows.ts";

/** $1 days after which a day counts as over for good, as an interval. */
export const DUE_DAY_SQL = `
  select to_char(d.day, 'YYYY-MM-DD') as day, u.day is not null as is_watched
  from pg_inherits i
  join pg_class c on c.oid = i.inhrelid
  cross join lateral to_date(substring(c.relname from '^attempt_([0-9]{8})$'), 'YYYYMMDD') as d(day)
  left join usage_day u on u.day = d.day
  where i.inhparent = 'attempt'::regclass and u.is_done is not true
    and (d.day + 1)::timestamp at time zone 'utc' + $1::interval < clock_timestamp()
  order by d.day desc limit 1`;

/** From here on every change of this day leaves a note. The day is digits and hyphens. */
export function watchDaySql(day: string): string {
  return `create or replace trigger usage_is_watched
    after insert or update on attempt_${day.replaceAll("-", "")}
    for each row execute function note_usage_change('${day}')`;
}

export const REMEMBER_DAY_SQL = "insert into usage_day (day) values ($1) on conflict do nothing";

export const FINISH_DAY_SQL = "update usage_day set is_done = true where day = $1";

/**
 * $1 the day, $2 its first id, $3 the id after its last, $4 rows. Finds organizations without a
 * rollup by skipping through the index from one organization to the next.
 */
export const UNROLLED_ORGS_SQL = `
  with recursive org as (
    (select org_id from attempt where attempt_id >= $2 and attempt_id < $3
    order by org_id limit 1)
    union all
    select (select a.org_id from attempt a
      where a.attempt_id >= $2 and a.attempt_id < $3 and a.org_id > org.org_id
      order by a.org_id limit 1)
    from org where org.org_id is not null
  )
  select org_id from org
  where org_id is not null
    and not exists (select from usage_rolled r where r.org_id = org.org_id and r.day = $1)
  limit $4`;

/** $1 rows: organizations whose sums of a day no longer hold. */
export const STALE_ORGS_SQL = `
  select to_char(day, 'YYYY-MM-DD') as day, org_id from (
    select distinct s.day, s.org_id from usage_stale s
    join usage_day u on u.day = s.day
    where not exists (select from retired_day r where r.day = s.day)
  ) stale
  order by day, org_id limit $1`;

/** $1 organizations, $2 the day. Only notes that this snapshot sees: their changes are seen too. */
export const FORGET_SQL: readonly string[] = [
  "delete from usage_stale where day = $2 and org_id = any ($1)",
  "delete from usage_sum where day = $2 and org_id = any ($1)",
  "delete from usage_rolled where day = $2 and org_id = any ($1)",
];

const SUMMED = ["debit", ...SKUS];
const SUMMED_SQL = SUMMED.map((column) => `coalesce(sum(${column}), 0) as ${column}`).join(", ");

/**
 * $1 organizations, $2 the day, $3 its first id, $4 the id after its last. Rolls up the requests
 * whose last attempt is of that day, even if other attempts are open. Attempts of the day are
 * counted separately, since a request can span days.
 */
export const ROLL_SQL = `
  with request as materialized (
    select *, ${END_SQL} as status, first_byte_span(first_byte_ms) as span from (
      select org_id, attempt_id, ${withEarlier(HOUR_SKU_NAME)} as ${HOUR_SKU_NAME},
        ${ENDED_COLUMNS_SQL}
      from attempt where org_id = any ($1) and attempt_id >= $3 and attempt_id < $4 and final
    ) ended
  ), span as (
    select org_id, request_day(request_id) as request_day, model_id, key_id, provider_id, status,
      span, count(*) as requests, max(attempt_id) as last_attempt_id, ${SUMMED_SQL}
    from request group by 1, 2, 3, 4, 5, 6, 7
  ), summed as (
    insert into usage_sum (org_id, day, request_day, model_id, key_id, provider_id, status,
      requests, last_attempt_id, first_byte_spans, first_byte_counts, ${SUMMED.join(", ")})
    select org_id, $2::date, request_day, model_id, key_id, provider_id, status, sum(requests),
      max(last_attempt_id),
      coalesce(array_agg(span order by span) filter (where span is not null), '{}'),
      coalesce(array_agg(requests order by span) filter (where span is not null), '{}'),
      ${SUMMED_SQL}
    from span group by 1, 2, 3, 4, 5, 6, 7
  ), taken as (
    select org_id, sum(debit) as debit from attempt
    where org_id = any ($1) and attempt_id >= $3 and attempt_id < $4 group by 1
  ), refused as (
    select r.org_id, array_agg(request_id) as ids
    from request r join refused_request f using (request_id) group by 1
  )
  insert into usage_rolled (org_id, day, debit, also_refused)
  select org.org_id, $2::date, coalesce(t.debit, 0), coalesce(f.ids, '{}')
  from unnest($1::text[]) as org(org_id)
  left join taken t on t.org_id = org.org_id
  left join refused f on f.org_id = org.org_id`;

/** Deletes the leftovers of days that were taken out of the journal. */
export const forgetRetiredSql: readonly string[] = [
  "usage_sum",
  "usage_stale",
  "usage_rolled",
  "usage_day",
].map((table) => `delete from ${table} t using retired_day r where r.day = t.day`);
