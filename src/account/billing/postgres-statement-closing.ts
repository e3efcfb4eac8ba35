import type { Pool } from "pg";

import { DAY_MS, idsOfDay, isoDay, type ReportSources } from "../../gateway/index.ts";
import {
  type Clock,
  Job,
  type Logger,
  type OrgId,
  type Public,
  STATEMENT_DELAY_MS,
  systemClock,
  takeRowsSql,
  warnWith,
} from "../../kernel/index.ts";
import { hasMovement, PostgresStatementStore } from "./postgres-statement-store.ts";
import { type Month, spanOfMonth } from "./statements.ts";

const EXAMINED_PER_PIECE = 200;
/** After this time `closeSome` begins no other organization: its lease ends after two minutes. */
const PIECE_MAX_MS = 10_000;
const MONTHS_PER_CALL = 24;
/** A month can have charges of requests admitted before it, mostly at most this many days. */
const DAYS_BEFORE = 7;

/**
 * Closes statements of past months for every organization with credits or usage, in the order of
 * their ids. One process at a time works on a month: it leases the row of the month's progress.
 */
export class PostgresStatementClosing {
  readonly #pool: Pool;
  readonly #store: PostgresStatementStore;

  constructor(pool: Pool, sources: Pick<ReportSources, "runNow">) {
    this.#pool = pool;
    this.#store = new PostgresStatementStore(pool, sources);
  }

  /** Works on the oldest month that is neither closed nor leased. A call can safely be repeated. */
  async closeSome(isClosed: () => boolean = () => false): Promise<ClosedPiece> {
    await this.#pool.query(BEGIN_SQL, [STATEMENT_DELAY_MS]);
    const taken = await this.#pool.query<PassRow>(TAKE_SQL);
    const [pass] = taken.rows;
    if (pass === undefined) return { failed: [], hasMore: false };
    const { month } = pass;
    const next = await this.#next(pass);
    const failed: ClosedPiece["failed"][number][] = [];
    const endMs = systemClock.monotonicMs() + PIECE_MAX_MS;
    let examined = 0;
    for (const { org_id: orgId, may_have_moved: mayHaveMoved } of next) {
      if (isClosed() || systemClock.monotonicMs() >= endMs) break;
      try {
        if (mayHaveMoved) await this.#closeMoved(orgId, month);
      } catch (fault) {
        failed.push({ orgId, month, fault });
      }
      examined += 1;
    }
    const isEnd = examined === next.length && next.length < EXAMINED_PER_PIECE;
    const after = next[examined - 1]?.org_id ?? pass.after_org_id;
    const hasFailed = pass.has_failed || failed.length > 0;
    const values = [`${month}-01`, pass.lease, after, hasFailed];
    await this.#pool.query(isEnd ? END_SQL : GO_ON_SQL, values);
    return { failed, hasMore: true };
  }

  async oldestOpen(): Promise<Month | undefined> {
    await this.#pool.query(BEGIN_SQL, [STATEMENT_DELAY_MS]);
    const { rows } = await this.#pool.query<{ month: Month | null }>(OLDEST_OPEN_SQL);
    return rows[0]?.month ?? undefined;
  }

  /** Also closes earlier months, since a statement opens with the previous closing balance. */
  async #closeMoved(orgId: OrgId, through: Month): Promise<void> {
    const months = await this.#store.months(orgId);
    if (months === undefined || !months.all.includes(through)) return;
    const kept = await this.#store.kept(orgId);
    if (kept.some(({ month }) => month === through)) return;
    if (!hasMovement(await this.#store.figures(orgId, through))) return;
    const upTo = { through, max: MONTHS_PER_CALL };
    while (!(await this.#store.closeDue(orgId, months, upTo)));
  }

  async #next({ month, after_org_id: after }: PassRow): Promise<readonly NextRow[]> {
    const { fromMs, toMs } = spanOfMonth(month);
    const ids = [fromMs - DAYS_BEFORE * DAY_MS, toMs].map((ms) => idsOfDay(isoDay(ms)).first);
    const span = [new Date(fromMs), new Date(toMs)];
    const values = [after, ...span, EXAMINED_PER_PIECE, ...ids];
    const { rows } = await this.#pool.query<NextRow>(NEXT_SQL, values);
    return rows;
  }
}

interface PassRow {
  readonly month: Month;
  readonly after_org_id: string;
  readonly has_failed: boolean;
  /** The lease is text, because a `Date` would lose the microseconds, which the updates compare. */
  readonly lease: string;
}

interface NextRow {
  readonly org_id: OrgId;
  readonly may_have_moved: boolean;
}

/*
 * Adds a row for each month that may be closed by now. $1: how many milliseconds after its end a
 * month may be closed.
 */
const BEGIN_SQL = `
  insert into org_statement_pass (month)
  select month::date from generate_series(
    coalesce((select max(month) + interval '1 month' from org_statement_pass),
      (select date_trunc('month', min(created_at) at time zone 'utc') from org)),
    date_trunc('month', (clock_timestamp() - $1 * interval '1 millisecond') at time zone 'utc')
      - interval '1 month',
    interval '1 month') as month
  on conflict do nothing`;

const TAKE_SQL = takeRowsSql("org_statement_pass", "month", {
  due: "where ended_at is null and until_at < clock_timestamp() order by month limit 1",
  set: "until_at = clock_timestamp() + interval '2 minutes'",
  returning: `to_char(t.month, 'YYYY-MM') as month, after_org_id, has_failed,
    until_at::text as lease`,
});

const OLDEST_OPEN_SQL = `
  select to_char(min(month), 'YYYY-MM') as month from org_statement_pass where ended_at is null`;

/*
 * Lists the next organizations by id, and tells which may have credits or usage in the month. $1:
 * the last organization that was examined; $2, $3: start and end of the month; $4: the limit; $5,
 * $6: the attempt ids from `DAYS_BEFORE` days before the month to its end. The few older attempts
 * that were charged in the month are found by the time of the charge.
 */
const NEXT_SQL = `
  with late as (
    select org_id from attempt
    where corrected_at >= $2::timestamptz and corrected_at < $3::timestamptz
    union select org_id from attempt
    where attempt_id < $5
      and (closed_at at time zone 'utc') >= ($2::timestamptz at time zone 'utc')
      and (closed_at at time zone 'utc') < ($3::timestamptz at time zone 'utc')
  )
  select o.org_id, exists (
      select from attempt a
      where a.org_id = o.org_id and a.attempt_id >= $5 and a.attempt_id < $6
    ) or exists (
      select from retired_spend s where s.scope = 'org' and s.id = o.org_id
        and s.day >= ($2::timestamptz at time zone 'utc')::date - ${DAYS_BEFORE}
        and s.day < ($3::timestamptz at time zone 'utc')::date
    ) or exists (
      select from transfer t where t.credit_account = 'wallet:' || o.org_id
        and t.attempt_id is null and t.at >= $2 and t.at < $3
    ) or exists (
      select from transfer t
      where t.debit_account in ('wallet:' || o.org_id, 'receivable:' || o.org_id)
        and t.attempt_id is null and t.at >= $2 and t.at < $3
    ) or o.org_id in (select org_id from late) as may_have_moved
  from org o where o.org_id > $1 and o.created_at < $3::timestamptz
  order by o.org_id limit $4`;

/* `GO_ON_SQL` and `END_SQL` change nothing if another process has taken over the month's lease. */
const GO_ON_SQL = `
  update org_statement_pass
  set after_org_id = $3, has_failed = $4, until_at = '-infinity'
  where month = $1 and until_at = $2::timestamptz and ended_at is null`;

const END_SQL = `
  update org_statement_pass
  set ended_at = case when not $4::boolean then clock_timestamp() end, has_failed = false,
    after_org_id = case when $4 then '' else $3 end,
    until_at = case when $4 then clock_timestamp() + interval '1 hour' else '-infinity' end
  where month = $1 and until_at = $2::timestamptz and ended_at is null`;

interface ClosedPiece {
  /** If an organization failed, the pass over the whole month is repeated an hour later. */
  readonly failed: readonly {
    readonly orgId: OrgId;
    readonly month: Month;
    readonly fault: unknown;
  }[];
  /** False if nothing is left to do now, or if another process is doing it. */
  readonly hasMore: boolean;
}

const EVERY_MS = 60_000;
/** After this time a run stops calling `closeSome`, since reports need the same connections. */
const WORK_MAX_MS = 30_000;

export function startStatementClosing(options: {
  readonly closing: Public<PostgresStatementClosing>;
  readonly clock: Clock;
  readonly log: Logger;
}): { close(): Promise<void> } {
  const { closing, clock, log } = options;
  const work = async (isStopping: () => boolean): Promise<void> => {
    const endMs = clock.monotonicMs() + WORK_MAX_MS;
    while (!isStopping() && clock.monotonicMs() < endMs) {
      const { failed, hasMore } = await closing.closeSome(isStopping);
      for (const { orgId, month, fault } of failed) {
        const message = "a monthly statement could not be closed; this will be retried";
        log.warn({ orgId, month, err: fault }, message);
      }
      if (!hasMore) return;
    }
  };
  const message = "monthly statements could not be closed; this will be retried";
  const job = new Job(EVERY_MS, work, warnWith(log, message));
  job.start();
  return job;
}
