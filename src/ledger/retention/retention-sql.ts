import type { Day } from "./retention-tally.ts";

/**
 * The age, in days, up to which the spend of a retired day is kept for caps. A cap's week began at
 * most six days ago, and an attempt's id may be of an earlier day than its admission. The rest of
 * the ten days is a margin.
 */
const CAP_DAYS_BACK = 10;

/** Returns the table of a day. A `Day` has only digits and hyphens, so the name is safe in SQL. */
export function dayTable(day: Day): string {
  return `attempt_${day.replaceAll("-", "")}`;
}

export const DAYS_OLDER_THAN_SQL = `
  select to_char(d.day, 'YYYY-MM-DD') as day
  from pg_inherits i
  join pg_class c on c.oid = i.inhrelid
  cross join lateral to_date(substring(c.relname from '^attempt_([0-9]{8})$'), 'YYYYMMDD') as d(day)
  where i.inhparent = 'attempt'::regclass
    and d.day < (clock_timestamp() at time zone 'utc')::date - $1::integer
  order by 1`;

/** $1: days; $2: a day or null. Selects the first day whose refused requests are kept. */
export const REFUSED_BOUND_SQL = `
  select to_char(least((clock_timestamp() at time zone 'utc')::date - $1::integer, $2::date),
    'YYYY-MM-DD') as before`;

export const DETACHED_DAYS_SQL = `
  select to_char(r.day, 'YYYY-MM-DD') as day, r.sha256
  from retired_day r
  where to_regclass('retired.attempt_' || to_char(r.day, 'YYYYMMDD')) is not null
  order by 1`;

export const COLUMNS_SQL = `
  select attname::text as name from pg_attribute
  where attrelid = 'attempt'::regclass and attnum > 0 and not attisdropped order by attnum`;

export const SCHEMA_SQL = "select max(level)::text as level from schema_step";

const FIRST_ID = "attempt_id_at(d.day::timestamp at time zone 'utc')";
const END_ID = "attempt_id_at((d.day + 1)::timestamp at time zone 'utc')";

/**
 * $1: the day; $2: its table. Selects the day's attempt ids and the bounds of the table's
 * partition, whether the day was retired before, and the number of its open attempts.
 */
export const BOUNDS_SQL = `
  select ${FIRST_ID} as from_id, ${END_ID} as to_id,
    pg_get_expr(c.relpartbound, c.oid) as bounds,
    exists (select from retired_day r where r.day = d.day) as is_retired,
    (${holdsSql(FIRST_ID, END_ID)}) as open
  from (select $1::date as day) d
  join pg_class c on c.oid = $2::regclass`;

/** Selects whether an attempt from the id $1 to before the id $2 is open. */
export const IS_OPEN_SQL: string = `select (${holdsSql("$1", "$2")}) > 0 as is_open`;

function holdsSql(from: string, until: string): string {
  return `select count(*) from hold
      where not annulled and attempt_id >= ${from} and attempt_id < ${until}`;
}

/** Selects one row for all attempts, one for each provider and one for each organization. */
export function surveySql(day: Day): string {
  return `
  with covered as (
    select provider_id, range_agg(tstzrange(start_at, end_at)) as periods
    from provider_period group by provider_id
  )
  select a.provider_id, a.org_id, count(*) as attempts, coalesce(sum(debit), 0) as debit,
    coalesce(sum(overrun), 0) as overrun, coalesce(sum(cost_pico), 0) as cost_pico,
    coalesce(sum(coalesce(owed_pico, cost_pico)), 0) as owed_pico,
    coalesce(sum(reserve - debit) filter (where corrected_at is not null), 0) as refund,
    count(*) filter (where closed_at >= through or corrected_at >= through) as unsettled,
    count(*) filter (where periods @> closed_at is not true
      or (corrected_at is not null and periods @> corrected_at is not true)) as outside
  from ${dayTable(day)} a cross join settlement_horizon
    left join covered c on c.provider_id = a.provider_id
  group by grouping sets ((), (a.provider_id), (a.org_id))`;
}

/** Selects a page of a day's attempts: at most $2 rows with ids after $1. */
export function pageSql(day: Day, columns: readonly string[]): string {
  const names = columns.map((name) => `"${name}"`).join(", ");
  return `select ${names} from ${dayTable(day)}
    where attempt_id > $1 order by attempt_id limit $2`;
}

export function freezeSql(day: Day): string {
  return `create or replace trigger day_is_frozen before insert or update or delete
    on ${dayTable(day)} for each row execute function keep_finished_attempt()`;
}

export function unfreezeSql(day: Day): string {
  return `drop trigger if exists day_is_frozen on ${dayTable(day)}`;
}

export const IS_FROZEN_SQL = `
  select exists (select from pg_trigger
    where tgrelid = $1::regclass and tgname = 'day_is_frozen') as is_frozen`;

export const RETIRED_DAY_SQL = `
  insert into retired_day (day, from_id, to_id, attempts, debit, overrun, cost_pico, owed_pico,
    file, sha256, signature)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`;

export function retiredSpendSql(day: Day): string {
  return `
  insert into retired_spend (day, scope, id, month, settled)
  select $1::date, case grouping(org_id) when 0 then 'org' else 'key' end,
    coalesce(org_id, key_id), month, sum(debit)
  from ${dayTable(day)} group by grouping sets ((org_id, month), (key_id, month))
  having sum(debit) > 0`;
}

/** Stores the spend of the day $1 that a daily or weekly cap still needs, by day of admission. */
export function retiredDaysSql(day: Day): string {
  return `
  insert into retired_spend_day (retired, key_id, day, settled)
  select $1::date, key_id, (created_at at time zone 'utc')::date, sum(debit)
  from ${dayTable(day)}
  where $1::date >= (clock_timestamp() at time zone 'utc')::date - ${CAP_DAYS_BACK}
  group by 2, 3 having sum(debit) > 0`;
}

/** Selects the day's requests that also have open attempts, or attempts before $1 or from $2 on. */
export function sharedRequestsSql(day: Day): string {
  return `
  select array_agg(org_id) as orgs, array_agg(request_id) as requests from ${dayTable(day)} d
  where request_id in (select request_id from hold where not annulled)
    or ((not final or earlier is not null) and exists (select from attempt a
      where a.org_id = d.org_id and a.request_id = d.request_id
        and (a.attempt_id < $1 or a.attempt_id >= $2)))`;
}

/**
 * $1: organizations; $2: their requests; $3: the day's first id; $4: the id after its last. Sets
 * `final` on the last remaining attempt of each request, and `earlier` to the sums of the others.
 */
export const JOIN_SHARED_SQL = "select join_attempts($1, $2, $3, $4)";

export function detachSql(day: Day): readonly string[] {
  const table = dayTable(day);
  return [
    // The frozen table's trigger refuses closings of attempts, and this lock makes new holds wait.
    "lock table hold in share mode",
    `alter table attempt detach partition ${table}`,
    `alter table ${table} set schema retired`,
  ];
}

export const PAST_SPEND_ROWS = 5_000;

/*
 * The first day whose spend is kept. Caps need this week's days and, if a clock is set back, those
 * of the week before; the audit compares both weeks. Rows that a late closing has locked are
 * skipped until the next run.
 */
const PAST_SPEND = "date_trunc('week', clock_timestamp() at time zone 'utc')::date - 7";

/** Deletes at most $1 rows of daily spend of capped keys in weeks before `PAST_SPEND`. */
export const DELETE_PAST_SPEND_SQL = `
  delete from spend_day s
  using (select key_id, day from spend_day where day < ${PAST_SPEND}
    order by day, key_id limit $1 for update skip locked) p
  where s.key_id = p.key_id and s.day = p.day`;

/** Deletes at most $1 rows of daily spend of retired days in weeks before `PAST_SPEND`. */
export const DELETE_RETIRED_PAST_SPEND_SQL = `
  delete from retired_spend_day s
  using (select retired, key_id, day from retired_spend_day where day < ${PAST_SPEND}
    order by day, key_id, retired limit $1 for update skip locked) p
  where s.retired = p.retired and s.key_id = p.key_id and s.day = p.day`;
