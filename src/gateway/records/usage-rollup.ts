import * as listingSql from "./listing-sums-sql.ts";
import { DatabaseError, type Pool, type PoolClient } from "pg";
import {
  Job,
  lockedConnection,
  type Logger,
  transact,
  unlockConnection,
  USAGE_ROLLUP_BATCHES_MAX,
  USAGE_ROLLUP_DELAY_HOURS,
  USAGE_ROLLUP_EVERY_MS,
  USAGE_ROLLUP_ORGS_MAX,
  USAGE_ROLLUP_PAUSE_MS,
  HOUR_SKU_NAME,
} from "../../kernel/index.ts";
import { HOUR_MS, idsOf, idsOfDay, SKUS } from "./report-parts.ts";
import { END_SQL, ENDED_COLUMNS_SQL, withEarlier } from "./request-rows.ts";

/** Starts the job that sums days of usage. Every process may run it; only one works at a time. */
export function startUsageRollup({
  rollup,
  log,
}: {
  readonly rollup: { rollSome(): Promise<boolean> };
  readonly log: Logger;
}): Job {
  let pausesLeft = 0;
  const job = new Job(
    USAGE_ROLLUP_PAUSE_MS,
    async () => {
      pausesLeft -= 1;
      if (pausesLeft > 0) return;
      pausesLeft = USAGE_ROLLUP_EVERY_MS / USAGE_ROLLUP_PAUSE_MS;
      if (await rollup.rollSome()) pausesLeft = 0;
    },
    (err) => log.warn({ err }, "days of usage could not be summed up; this will be retried"),
  );
  job.start();
  return job;
}

/** The wait is short because the gateways' writes queue behind the waiting lock. */
const LOCK_TIMEOUT_MS = 100;
const SQLSTATE_LOCK_TIMEOUT = "55P03";

/**
 * Sums past days of the journal by organization, so that long usage reports are fast; they have the
 * same results without it. Also sums the traffic of listings. Each call does a bounded part of what
 * is due; an interrupted part is done again. Returns false if nothing is left, or if another
 * process is at work.
 */
export async function rollUsage(pool: Pool): Promise<boolean> {
  const client = await lockedConnection(pool, "tokenmarket usage sums");
  if (client === undefined) return false;
  let isSpent = true;
  try {
    const hasMore = (await rollBatches(client)) || (await rollListings(client));
    isSpent = false;
    return hasMore;
  } finally {
    // After a fault the connection is closed, because its state is unknown.
    await unlockConnection(client, isSpent);
  }
}

async function rollBatches(client: PoolClient): Promise<boolean> {
  for (const forget of FORGET_RETIRED_SQL) await client.query(forget);
  for (let batches = 0; batches < USAGE_ROLLUP_BATCHES_MAX; batches++) {
    if (!(await rollBatch(client))) return false;
  }
  return true;
}

/** Does one step for a day. Returns false if nothing is due, or the day's table is locked. */
async function rollBatch(client: PoolClient): Promise<boolean> {
  const stale = await findDue<OrgsOfDay>(client, STALE_ORGS_SQL, [USAGE_ROLLUP_ORGS_MAX]);
  if (stale !== undefined) return await rollOrgs(client, stale);
  const delay = `${USAGE_ROLLUP_DELAY_HOURS} hours`;
  const due = await findDue<{ day: string; is_watched: boolean }>(client, DUE_DAY_SQL, [delay]);
  if (due === undefined) return false;
  const { day } = due;
  if (!due.is_watched) return await watchDay(client, day);
  const { first, end } = idsOfDay(day);
  const ofDay = [day, first, end, USAGE_ROLLUP_ORGS_MAX];
  const unrolled = await findDue<OrgsOfDay>(client, UNROLLED_ORGS_SQL, ofDay);
  if (unrolled !== undefined) return await rollOrgs(client, unrolled);
  await client.query(FINISH_DAY_SQL, [day]);
  return true;
}

interface OrgsOfDay {
  readonly day: string;
  readonly orgs: readonly string[];
}

async function findDue<R extends object>(
  client: PoolClient,
  text: string,
  values: unknown[] = [],
): Promise<R | undefined> {
  return (await client.query<R>(text, values)).rows[0];
}

/** Creates the day's trigger and commits before the day is summed, so that no change is missed. */
async function watchDay(client: PoolClient, day: string): Promise<boolean> {
  try {
    await transact(client, async () => {
      await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
      await client.query(watchDaySql(day));
      await client.query(REMEMBER_DAY_SQL, [day]);
    });
    return true;
  } catch (fault) {
    // Another process is writing to this day, so the next run tries again.
    if (fault instanceof DatabaseError && fault.code === SQLSTATE_LOCK_TIMEOUT) return false;
    throw fault;
  }
}

/** A change after the snapshot keeps its row in `usage_stale`, so the day is summed again. */
async function rollOrgs(client: PoolClient, { day, orgs }: OrgsOfDay): Promise<true> {
  const { first, end } = idsOfDay(day);
  return await onOneSnapshot(client, [
    ...[...FORGET_SQL, ...listingSql.FORGET_DAY_SQL].map((text) => [text, [orgs, day]] as const),
    [ROLL_SQL, [orgs, day, first, end]],
    [listingSql.SUM_DAY_SQL, [orgs, day, first, end]],
  ]);
}

async function onOneSnapshot(
  client: PoolClient,
  statements: readonly (readonly [text: string, values: readonly unknown[]])[],
): Promise<true> {
  await transact(
    client,
    async () => {
      for (const [text, values] of statements) await client.query(text, [...values]);
    },
    "begin isolation level repeatable read",
  );
  return true;
}

async function rollListings(client: PoolClient): Promise<boolean> {
  const hour = (await findDue<{ hour: Date }>(client, listingSql.DUE_HOUR_SQL))?.hour;
  if (hour !== undefined) {
    const { first, end } = idsOf(hour.getTime(), HOUR_MS);
    return await onOneSnapshot(client, [
      [listingSql.FORGET_HOUR_SQL, [hour]],
      [listingSql.FOLD_HOUR_SQL, [first, end]],
      [listingSql.MARK_HOUR_SQL, [hour]],
    ]);
  }
  const day = (await findDue<{ day: string }>(client, listingSql.UNPUBLISHED_DAY_SQL))?.day;
  if (day !== undefined) {
    // A day is published once: requests that end later are not included.
    return await onOneSnapshot(client, [
      [listingSql.PUBLISH_DAY_SQL, [day]],
      [listingSql.MARK_PUBLISHED_SQL, [day]],
    ]);
  }
  for (const prune of listingSql.PRUNE_SQL) await client.query(prune);
  return false;
}

/** Finds the newest due day. $1 is the interval from the end of a day until its sums are due. */
const DUE_DAY_SQL = `
  select to_char(d.day, 'YYYY-MM-DD') as day, u.day is not null as is_watched
  from pg_inherits i
  join pg_class c on c.oid = i.inhrelid
  cross join lateral to_date(substring(c.relname from '^attempt_([0-9]{8})$'), 'YYYYMMDD') as d(day)
  left join usage_day u on u.day = d.day
  where i.inhparent = 'attempt'::regclass and u.is_done is not true
    and (d.day + 1)::timestamp at time zone 'utc' + $1::interval < clock_timestamp()
  order by d.day desc limit 1`;

/**
 * Returns SQL that makes every later change of the day add a row to `usage_stale`. `day` becomes a
 * part of the SQL text, so it must have only digits and hyphens.
 */
export function watchDaySql(day: string): string {
  return `create or replace trigger usage_is_watched
    after insert or update on attempt_${day.replaceAll("-", "")}
    for each row execute function note_usage_change('${day}')`;
}

export const REMEMBER_DAY_SQL = "insert into usage_day (day) values ($1) on conflict do nothing";

export const FINISH_DAY_SQL = "update usage_day set is_done = true where day = $1";

/**
 * Finds organizations without a rollup of day $1, by a skip through the index from one organization
 * to the next. $2: the day's first attempt id; $3: the id after its last; $4: how many to find.
 */
const UNROLLED_ORGS_SQL = `
  with recursive org as (
    (select org_id from attempt where attempt_id >= $2 and attempt_id < $3
    order by org_id limit 1)
    union all
    select (select a.org_id from attempt a
      where a.attempt_id >= $2 and a.attempt_id < $3 and a.org_id > org.org_id
      order by a.org_id limit 1)
    from org where org.org_id is not null
  )
  select $1::text as day, array_agg(org_id) as orgs from (
    select org_id from org
    where org_id is not null
      and not exists (select from usage_rolled r where r.org_id = org.org_id and r.day = $1::text::date)
    limit $4
  ) unrolled having count(*) > 0`;

/** Finds at most $1 organizations with outdated sums, all of one day: the oldest that has any. */
const STALE_ORGS_SQL = `
  select to_char(day, 'YYYY-MM-DD') as day, (array_agg(org_id order by org_id))[:$1::integer] as orgs
  from (
    select distinct s.day, s.org_id from usage_stale s
    join usage_day u on u.day = s.day
    where not exists (select from retired_day r where r.day = s.day)
  ) stale
  group by day order by day limit 1`;

/** Deletes only rows that this snapshot sees. $1 organizations, $2 the day. */
const FORGET_SQL = ["usage_stale", "usage_sum", "usage_rolled"].map(
  (table) => `delete from ${table} where day = $2 and org_id = any ($1)`,
);

const SUMMED = ["debit", ...SKUS];
const SUMMED_SQL = SUMMED.map((column) => `coalesce(sum(${column}), 0) as ${column}`).join(", ");

/**
 * Sums a day. Counts the requests whose last attempt is of that day, even if other attempts are
 * open. Sums the debits of the day's attempts separately, since a request can span days. $1
 * organizations, $2 the day, $3 its first attempt id, $4 the id after its last.
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
      ${listingSql.spansSql("requests")},
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

const FORGET_RETIRED_SQL = ["usage_sum", "usage_stale", "usage_rolled", "usage_day"].map(
  (table) => `delete from ${table} t using retired_day r where r.day = t.day`,
);
