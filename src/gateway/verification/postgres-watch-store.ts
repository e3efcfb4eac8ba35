import type { Pool, PoolClient } from "pg";

import {
  assert,
  microUsd,
  type MicroUsd,
  type Public,
  bool,
  columns,
  instantMs,
  lockedConnection,
  type RecordOf,
  type Row,
  text,
  unlockConnection,
} from "../../kernel/index.ts";
import { type ListingName, listingKey } from "./conduct.ts";
import { LISTING } from "./postgres-verdict-store.ts";

/** Opens the session for scheduled conformance runs; undefined if another process has it. */
export async function openWatchSession(pool: Pool): Promise<WatchSession | undefined> {
  const lock = await lockedConnection(pool, "tokenmarket conformance watch");
  return lock && new PostgresWatchSession(pool, lock);
}

/**
 * At most one process has the session, until it closes the session, dies or loses the connection.
 * The connection only holds the lock, so a run continues if the connection is lost.
 */
class PostgresWatchSession {
  readonly #pool: Pool;
  readonly #lock: PoolClient;

  constructor(pool: Pool, lock: PoolClient) {
    this.#pool = pool;
    this.#lock = lock;
  }

  /** Returns the newest runs of each listing. All times but `checkedAtMs` are the database's. */
  async state(intervalMs: number) {
    const pool = this.#pool;
    const [verdicts, attempts, suspects, now] = await Promise.all([
      pool.query<Row>(VERDICTS_SQL),
      pool.query<Row>(ATTEMPTS_SQL),
      pool.query<Row>(SUSPECTS_SQL),
      pool.query<{ now: Date; spent: bigint }>(NOW_SQL, [intervalMs]),
    ]);
    const known = new Map<string, KnownRuns>();
    const add = (row: Row, runs: KnownRuns): void => {
      const key = listingKey(nameColumns.read(row));
      known.set(key, { ...known.get(key), ...runs });
    };
    for (const row of verdicts.rows) add(row, { verdict: verdictColumns.read(row) });
    for (const row of attempts.rows) add(row, { attempt: attemptColumns.read(row) });
    for (const row of suspects.rows) add(row, suspectColumns.read(row));
    const [first] = now.rows;
    assert(first !== undefined, "the clock answers");
    return {
      nowMs: first.now.getTime(),
      /** The runs of each listing, by `listingKey`. */
      known,
      /** The cost of scheduled runs in the last `intervalMs`: for an unfinished run, its budget. */
      spentMicroUsd: microUsd(first.spent),
    };
  }

  /** Records a run before its first request, so that its budget counts even if the process dies. */
  async begin({ providerId, modelId }: ListingName, budgetMicroUsd: MicroUsd): Promise<bigint> {
    await this.#pool.query(FORGET_SQL);
    const begun = [providerId, modelId, budgetMicroUsd];
    const { rows } = await this.#pool.query<{ run_id: bigint }>(BEGIN_SQL, begun);
    const runId = rows[0]?.run_id;
    assert(runId !== undefined, "a run that begins has a number");
    return runId;
  }

  async end(
    runId: bigint,
    run: { readonly spentMicroUsd: MicroUsd; readonly outcome: WatchedRunOutcome },
  ): Promise<void> {
    await this.#pool.query(END_SQL, [runId, run.spentMicroUsd, run.outcome]);
  }

  close(): Promise<void> {
    return unlockConnection(this.#lock);
  }
}

export type WatchSession = Public<PostgresWatchSession>;

const nameColumns = columns(LISTING);

const verdictColumns = columns({
  upstreamModelId: text<string>("upstream_id"),
  manifestSha256: text<string>("manifest_sha256"),
  isConclusive: bool("is_conclusive"),
  checkedAtMs: instantMs("checked_at"),
});

const attemptColumns = columns({
  startedMs: instantMs("started_at"),
  /** False if the run is going on, its process died, or its verdict could not be recorded. */
  isRecorded: bool("is_recorded"),
});

const suspectColumns = columns({ suspectSinceMs: instantMs("since") });

export interface KnownRuns extends Partial<RecordOf<typeof suspectColumns>> {
  /** The newest verdict, even if it is inconclusive. */
  readonly verdict?: RecordOf<typeof verdictColumns>;
  /** The newest scheduled run that was not ended by an operator. */
  readonly attempt?: RecordOf<typeof attemptColumns>;
}

/**
 * `recorded`: the verdict is stored; `unrecorded`: it is not; `ended`: an operator ended the run,
 * which leaves the time of the next run as it was.
 */
export type WatchedRunOutcome = "recorded" | "unrecorded" | "ended";

/** Every verdict counts as a run, even an inconclusive one. */
const VERDICTS_SQL = `
  select distinct on (provider_id, model_id) provider_id, model_id, upstream_id, manifest_sha256,
    verdict <> 'inconclusive' as is_conclusive, checked_at
  from listing_verdict
  order by provider_id, model_id, checked_at desc, verdict_id desc`;

const ATTEMPTS_SQL = `
  select distinct on (provider_id, model_id) provider_id, model_id, started_at,
    coalesce(outcome = 'recorded', false) as is_recorded
  from watched_run
  where outcome is distinct from 'ended'
  order by provider_id, model_id, started_at desc, run_id desc`;

const SUSPECTS_SQL = "select provider_id, model_id, since from suspect_listing";

const NOW_SQL = `
  select now() as now, coalesce((
    select sum(coalesce(spent, budget))::bigint from watched_run
    where started_at > now() - $1 * interval '1 millisecond'
  ), 0) as spent`;

/** Runs are kept for 90 days, longer than the longest interval between two runs of a listing. */
const FORGET_SQL = "delete from watched_run where started_at < now() - interval '90 days'";

const BEGIN_SQL = `
  insert into watched_run (provider_id, model_id, budget) values ($1, $2, $3) returning run_id`;

const END_SQL = "update watched_run set spent = $2, outcome = $3 where run_id = $1";
