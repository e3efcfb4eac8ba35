import { lastOf } from "./report-parts.ts";
import { END_SQL } from "./request-status-sql.ts";

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
 * $1 the day, $2 its first id, $3 the id behind its last, $4 rows: organizations that are not
 * summed up yet. It leaps through the index, from one organization to the next.
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
  "delete from usage_unrolled where day = $2 and org_id = any ($1)",
  "delete from usage_rolled where day = $2 and org_id = any ($1)",
];

/**
 * $1 organizations, $2 the day, $3 its first id, $4 the id behind its last. A request is excluded
 * when another day has attempts of it, or when it was refused as well (the answer about its hold
 * was lost); that others know it to be excluded is enough.
 */
export const ROLL_SQL = `
  with request as materialized (
    select org_id, request_id, min(key_id) as key_id, min(model_id) as model_id,
      ${lastOf("provider_id")} as provider_id, ${END_SQL} as status,
      ${lastOf("first_byte_ms")} as first_byte_ms, ${lastOf("final")} as is_final,
      min(ordinal) as first_ordinal, max(attempt_id) as last_attempt_id, sum(debit) as debit,
      sum(prompt) as prompt, sum(cached_prompt) as cached_prompt, sum(cache_write) as cache_write,
      sum(completion) as completion, sum(internal_reasoning) as internal_reasoning,
      sum(cache_write_1h) as cache_write_1h
    from journal where org_id = any ($1) and attempt_id >= $3 and attempt_id < $4
    group by org_id, request_id
  ), split as (
    insert into usage_unrolled (org_id, request_id, day)
    select org_id, request_id, $2 from request r
    where first_ordinal > 1
      or (not is_final and exists (select from attempt b where b.org_id = r.org_id
        and b.request_id = r.request_id and (b.attempt_id < $3 or b.attempt_id >= $4)))
      or (org_id, request_id) in (select h.org_id, h.request_id from hold h
        where h.org_id = any ($1) and not h.annulled and (h.attempt_id < $3 or h.attempt_id >= $4))
      or exists (select from refused_request f where f.request_id = r.request_id)
      or exists (select from usage_unrolled u where u.org_id = r.org_id
        and u.request_id = r.request_id and u.day <> $2)
    returning org_id, request_id
  ), span as (
    select org_id, request_day(request_id) as request_day, model_id, key_id, provider_id, status,
      first_byte_span(first_byte_ms) as span, count(*) as requests, sum(debit) as debit,
      sum(prompt) as prompt, sum(cached_prompt) as cached_prompt, sum(cache_write) as cache_write,
      sum(completion) as completion, sum(internal_reasoning) as internal_reasoning,
      sum(cache_write_1h) as cache_write_1h, max(last_attempt_id) as last_attempt_id
    from request r
    where not exists (
      select from split a where a.org_id = r.org_id and a.request_id = r.request_id)
    group by 1, 2, 3, 4, 5, 6, 7
  ), summed as (
    insert into usage_sum
    select org_id, $2, request_day, model_id, key_id, provider_id, status, sum(requests),
      sum(debit), coalesce(sum(prompt), 0), coalesce(sum(cached_prompt), 0),
      coalesce(sum(cache_write), 0), coalesce(sum(completion), 0),
      coalesce(sum(internal_reasoning), 0), max(last_attempt_id),
      coalesce(array_agg(span order by span) filter (where span is not null), '{}'),
      coalesce(array_agg(requests order by span) filter (where span is not null), '{}'),
      coalesce(sum(cache_write_1h), 0)
    from span group by 1, 2, 3, 4, 5, 6, 7
    returning org_id, debit
  )
  insert into usage_rolled (org_id, day, debit)
  select org.org_id, $2, coalesce(sum(s.debit), 0)
  from unnest($1) as org(org_id) left join summed s on s.org_id = org.org_id
  group by org.org_id`;

/** $1 organizations, $2 the day: days whose sums count in a request that was just excluded. */
export const OTHERS_STALE_SQL = `
  insert into usage_stale (org_id, day)
  select distinct a.org_id, a.other_day from (
    select a.org_id, a.request_id, attempt_day(b.attempt_id) as other_day
    from usage_unrolled a
    cross join lateral (select attempt_id from attempt b
      where b.org_id = a.org_id and b.request_id = a.request_id offset 0) b
    where a.day = $2 and a.org_id = any ($1)
    union all
    select org_id, request_id, attempt_day(h.attempt_id)
    from usage_unrolled a join hold h using (org_id, request_id)
    where a.day = $2 and org_id = any ($1) and not h.annulled
  ) a
  join usage_rolled r on r.org_id = a.org_id and r.day = a.other_day
  where a.other_day <> $2
    and not exists (select from usage_unrolled u where u.org_id = a.org_id
      and u.request_id = a.request_id and u.day = a.other_day)`;

/** What is left of days that were taken out of the journal. */
export const forgetRetiredSql: readonly string[] = [
  "usage_sum",
  "usage_unrolled",
  "usage_stale",
  "usage_rolled",
  "usage_day",
].map((table) => `delete from ${table} t using retired_day r where r.day = t.day`);
