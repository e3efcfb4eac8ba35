import type { Pool, PoolClient } from "pg";

import {
  type AttemptId,
  bool,
  columns,
  count,
  instantMs,
  integer,
  inTransaction,
  micro,
  opaque,
  orAbsent,
  queryInTime,
  queryOneInTime,
  type RecordOf,
  type Row,
  STORE_ANSWER_TIMEOUT_MS,
  text,
} from "../kernel/index.ts";

export type BooksFigures = RecordOf<typeof figureColumns>;

const STATEMENT_TIMEOUT_MS = 1_000;

/** Reads all figures in one statement. Rejects if the statement takes longer than a second. */
export async function readBooksFigures(pool: Pool): Promise<BooksFigures> {
  const read = async (client: PoolClient): Promise<BooksFigures> => {
    await queryInTime(client, { text: `set local statement_timeout = ${STATEMENT_TIMEOUT_MS}` });
    return figureColumns.read(await queryOneInTime<Row>(client, FIGURES_SQL));
  };
  // The wait for the answer is bounded, because a stopping program waits for a running read.
  return await inTransaction(pool, read, STORE_ANSWER_TIMEOUT_MS);
}

const figureColumns = columns({
  openAttempts: count("open_attempts"),
  oldestOpenSeconds: opaque<number>("oldest_open_seconds"),
  partitionsAhead: count("partitions_ahead"),
  /** Number of ended days that are not summed up for reports yet. */
  partitionsUnsummed: count("partitions_unsummed"),
  /** Number of providers with a period that ended over 36 hours ago and is not closed. */
  unclosedPeriods: count("unclosed_periods"),
  owedMicroUsd: micro("owed"),
  lastAudit: orAbsent(
    columns({ endedAtMs: instantMs("audit_ended_at"), violations: count("audit_violations") }),
  ),
  schemaLevel: integer("schema_level"),
});

/** Stores the result of an audit that has just ended, in place of the previous result. */
export async function recordAudit(pool: Pool, violations: number): Promise<void> {
  await pool.query(
    `insert into audit_result (ended_at, violations) values (clock_timestamp(), $1)
    on conflict (only_row) do update set ended_at = excluded.ended_at,
      violations = excluded.violations`,
    [violations],
  );
}

/** How long after its end a period may be open before it counts as late. */
const LATE_PERIOD = "36 hours";

// This query is cheap, because it does not read the journal: holds are few, and the days are in the
// names of the partitions.
const FIGURES_SQL = `
  with open as (
    select count(*) as attempts, min(created_at) as oldest from hold where not annulled
  ), days as (
    select d.day from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
    cross join lateral
      to_date(substring(c.relname from '^attempt_([0-9]{8})$'), 'YYYYMMDD') as d(day)
    where i.inhparent = 'attempt'::regclass
  ), used as (
    -- A provider without a closed period is late after the longest period, a month.
    select provider_id, min(first_used_at) as since from price_pin group by provider_id
  ), today as (select (clock_timestamp() at time zone 'utc')::date as day)
  select open.attempts as open_attempts,
    coalesce(greatest(extract(epoch from clock_timestamp() - open.oldest), 0), 0)::float8
      as oldest_open_seconds,
    (select count(*) from days where days.day > today.day) as partitions_ahead,
    (select count(*) from days left join usage_day u using (day)
      where days.day < today.day and u.is_done is not true) as partitions_unsummed,
    (select count(*) from used full join provider_progress g using (provider_id)
      left join lateral (select p.every from provider_period p
        where p.provider_id = coalesce(g.provider_id, used.provider_id)
        order by p.start_at desc limit 1) last on true
      where coalesce(g.through, used.since) + interval '${LATE_PERIOD}' < clock_timestamp() -
        case last.every
        when 'half_daily' then interval '12 hours' when 'daily' then interval '1 day'
        when 'weekly' then interval '7 days' else interval '1 month' end) as unclosed_periods,
    (select coalesce(sum(owed), 0) from account where owed > 0) as owed,
    (select ended_at from audit_result) as audit_ended_at,
    (select violations from audit_result) as audit_violations,
    (select coalesce(max(level), 0) from schema_step)
      as schema_level
  from open, today`;

/** If more attempts than this are stuck, the whole run of the recovery fails and is repeated. */
const STUCK_MAX = 1_000;

/** Open attempts of dead instances whose closing breaks a constraint of the books. */
export class StuckAttempts {
  readonly #attempts = new Set<AttemptId>();
  readonly #note: (attemptId: AttemptId, fault: unknown) => void;

  constructor(note: (attemptId: AttemptId, fault: unknown) => void) {
    this.#note = note;
  }

  get size(): number {
    return this.#attempts.size;
  }

  has(attemptId: AttemptId): boolean {
    return this.#attempts.has(attemptId);
  }

  add(attemptId: AttemptId, fault: unknown): void {
    if (this.#attempts.size >= STUCK_MAX) throw fault;
    this.#attempts.add(attemptId);
    this.#note(attemptId, fault);
  }

  keepOnly(open: ReadonlySet<AttemptId>): void {
    for (const attemptId of this.#attempts) {
      if (!open.has(attemptId)) this.#attempts.delete(attemptId);
    }
  }
}

/** A process that serves from these books, or served recently. */
export type KnownInstance = RecordOf<typeof instanceColumns>;

const LISTED_MAX = 200;

/** Reads at most 200 instances, those with a lease first. One gone for a day may be missing. */
export async function readInstances(pool: Pool): Promise<readonly KnownInstance[]> {
  const query = { text: INSTANCES_SQL, values: [LISTED_MAX] };
  return (await queryInTime<Row>(pool, query)).rows.map(instanceColumns.read);
}

const instanceColumns = columns({
  number: integer("number"),
  host: text("host"),
  leaseUntilMs: instantMs("lease_until"),
  /** False if the instance's lease has ended: the instance has stopped or lost the database. */
  isAlive: bool("is_alive"),
  openAttempts: count("open_attempts"),
});

const INSTANCES_SQL = `
  select i.number, i.host, l.lease_until, l.lease_until > now() as is_alive,
    coalesce(open.attempts, 0) as open_attempts
  from instance i join instance_lease l using (instance_id)
  left join (
    select instance_id, count(*) as attempts from hold where not annulled group by instance_id
  ) open using (instance_id)
  order by is_alive desc, i.number limit $1`;
