import { setTimeout as sleep } from "node:timers/promises";

import type { Pool, PoolClient } from "pg";

/** How long what the runner does may take; tests have shorter ones. */
export interface RunnerTimes {
  /**
   * The lock timeout of a step in its last tries; statements behind the step wait as long. It
   * exceeds the second after which the server cancels an automatic vacuum that is in the way.
   */
  readonly lockTimeoutMs: number;
  /**
   * The lock timeout of the first tries: well under `LEDGER_QUEUE_AGE_MS`, after which a waiting
   * hold is refused.
   */
  readonly firstLockTimeoutMs: number;
  readonly firstTries: number;
  /** How often a step that gets no lock is tried. */
  readonly tries: number;
  readonly pauseMs: number;
  /** How often a process asks whether the other runner is done, and for how long. */
  readonly pollMs: number;
  readonly waitMs: number;
}

export const RUNNER_TIMES: RunnerTimes = {
  lockTimeoutMs: 3_000,
  firstLockTimeoutMs: 100,
  firstTries: 15,
  tries: 20,
  pauseMs: 2_000,
  pollMs: 2_000,
  waitMs: 300_000,
};

/** Another process is in the way for longer than a start may wait: a later try may pass. */
export class SchemaBusyFault extends Error {
  override readonly name = "SchemaBusyFault";
}

/**
 * Runs `work` on a connection of its own as the only runner of this database. It asks for the lock
 * again and again instead of waiting in a statement, which the limit of every statement would end.
 */
export async function asOnlyRunner<T>(
  pool: Pool,
  times: RunnerTimes,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  try {
    await takeLock(client, times);
    const done = await work(client);
    await client.query(UNLOCK_SQL);
    return done;
  } finally {
    // Closed: with the connection end the lock and the settings of the session.
    client.release(true);
  }
}

async function takeLock(client: PoolClient, { pollMs, waitMs }: RunnerTimes): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += pollMs) {
    const { rows } = await client.query<{ taken: boolean }>(TRY_LOCK_SQL);
    if (rows[0]?.taken === true) return;
    if (waitedMs >= waitMs) throw await busyFault(client, waitMs);
    await sleep(pollMs);
  }
}

async function busyFault(client: PoolClient, waitMs: number): Promise<SchemaBusyFault> {
  const { rows } = await client.query<{ pid: number; age_seconds: number | null }>(HOLDER_SQL);
  const holder = rows[0];
  const who =
    holder === undefined
      ? "it has ended this moment"
      : `its connection is process ${holder.pid} of the database server, ` +
        `open for ${holder.age_seconds ?? "an unknown number of"} s`;
  return new SchemaBusyFault(
    `another program has been migrating this database for over ${Math.round(waitMs / 1_000)} s ` +
      `(${who}); wait for it, or end it, and start again`,
  );
}

const TRY_LOCK_SQL = "select pg_try_advisory_lock(hashtext('tokenmarket schema')) as taken";
const UNLOCK_SQL = "select pg_advisory_unlock(hashtext('tokenmarket schema'))";

const HOLDER_SQL = `
  select l.pid, extract(epoch from clock_timestamp() - a.backend_start)::integer as age_seconds
  from pg_locks l left join pg_stat_activity a using (pid)
  where l.locktype = 'advisory' and l.granted and l.objsubid = 1
    and l.database = (select oid from pg_database where datname = current_database())
    and (l.classid::bigint << 32 | l.objid::bigint) = hashtext('tokenmarket schema')`;
