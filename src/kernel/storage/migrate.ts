import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseError, type Pool, type PoolClient } from "pg";

import { Fault } from "../core/fault.ts";
import type { Logger } from "../core/log.ts";
import { isStoreFault, toReason } from "../core/store-fault.ts";
import { limitAnswers } from "./connection.ts";
import {
  assertUpgradable,
  assertUsable,
  computeLevel,
  isCurrent,
  type Migration,
  ownSteps,
  readSchemaState,
  SchemaFault,
  type SchemaState,
} from "./schema-state.ts";
import { transact } from "./transaction.ts";

export interface MigrateOptions {
  /** The steps (migrations) to run; those of this program if absent. */
  readonly steps?: readonly Migration[];
  readonly log?: Pick<Logger, "info" | "warn">;
  readonly times?: RunnerTimes;
}

/** Throws unless the database has the schema that this program needs. Changes nothing. */
export async function checkSchema(pool: Pool): Promise<void> {
  assertUsable(await readSchemaState(pool, ownSteps()));
}

/** Returns what `migrateDatabase` would run; throws if it would refuse. Changes nothing. */
export async function readSchema(pool: Pool): Promise<SchemaState> {
  const state = await readSchemaState(pool, ownSteps());
  assertUpgradable(state);
  return state;
}

/**
 * Runs the missing steps of the schema, one transaction each. If several processes start, only one
 * runs them. Completed steps stay if a later one fails. Returns the names of the steps that ran.
 */
export async function migrateDatabase(
  pool: Pool,
  options: MigrateOptions = {},
): Promise<readonly string[]> {
  const { steps: own = ownSteps(), log, times = RUNNER_TIMES } = options;
  const before = await readSchemaState(pool, own);
  assertUpgradable(before);
  // If the schema is current, a start need not wait for another process that has the lock.
  if (isCurrent(before)) return [];
  return await asOnlyRunner(pool, times, async (client) => {
    // Read again, because another process may have run the steps meanwhile.
    const state = await readSchemaState(client, own);
    assertUpgradable(state);
    await makeList(client);
    for (const step of state.missing) {
      await runStep(client, step, { times, log });
      log?.info({ step: step.name }, "the schema has a new step");
    }
    return state.missing.map(({ name }) => name);
  });
}

async function makeList(client: PoolClient): Promise<void> {
  try {
    await client.query(LIST_SQL);
  } catch (error) {
    if (isStoreFault(error)) throw error;
    throw new SchemaFault(
      `the list of schema steps cannot be written: ${toReason(error)}; the role that migrates must own the database`,
      { cause: error },
    );
  }
}

export function programSchemaLevel(): number {
  return computeLevel(ownSteps());
}

const LIST_SQL = `
  create table if not exists schema_step (
    name text primary key,
    level integer not null,
    program_min integer not null,
    sha256 text not null,
    at timestamptz not null default now()
  )`;

/** Runs and records one step. Between two tries for its locks, other statements can run. */
async function runStep(
  client: PoolClient,
  step: Migration,
  { times, log }: { readonly times: RunnerTimes; readonly log: MigrateOptions["log"] },
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const { lockTimeoutMs, firstLockTimeoutMs, firstTries } = times;
    try {
      await inOneTransaction(client, tries > firstTries ? lockTimeoutMs : firstLockTimeoutMs, step);
      return;
    } catch (error) {
      if (!isLockConflict(error)) throw stepFault(step, error);
      if (tries >= times.tries) throw await noLockFault(client, step, times);
      log?.warn({ step: step.name, tries }, "a schema step waits for a lock and is tried again");
      await sleep(times.pauseMs);
    }
  }
}

async function inOneTransaction(
  client: PoolClient,
  lockTimeoutMs: number,
  { name, level, programMin, text, sha256 }: Migration,
): Promise<void> {
  await transact(client, async () => {
    await client.query(`set local lock_timeout = ${lockTimeoutMs}`);
    await client.query(text);
    await client.query(
      "insert into schema_step (name, level, program_min, sha256) values ($1, $2, $3, $4)",
      [name, level, programMin, sha256],
    );
  });
}

/** True for a lock timeout, a deadlock, or a conflict with another transaction. */
function isLockConflict(error: unknown): boolean {
  return error instanceof DatabaseError && ["55P03", "40P01", "40001"].includes(error.code ?? "");
}

function stepFault(step: Migration, error: unknown): unknown {
  // A `SchemaFault` already says what to do, and the caller reports faults of the store.
  if (isStoreFault(error) || error instanceof SchemaFault) return error;
  return new SchemaFault(
    `the schema step ${step.name} fails and has changed nothing: ${toReason(error)}; correct the cause and ` +
      "run `tokenmarket migrate`",
    { cause: error },
  );
}

async function noLockFault(
  client: PoolClient,
  step: Migration,
  { tries }: RunnerTimes,
): Promise<SchemaBusyFault> {
  const { rows } = await client.query<{ pid: number; age_seconds: number; name: string }>(
    OLDEST_SQL,
  );
  const oldest = rows[0];
  const who =
    oldest === undefined
      ? ""
      : `; the oldest transaction is that of process ${oldest.pid} of the database server ` +
        `(${oldest.name}), open for ${oldest.age_seconds} s`;
  return new SchemaBusyFault(
    `the schema step ${step.name} got no lock in ${tries} tries and has changed nothing${who}; ` +
      "run `tokenmarket migrate` when it has ended",
  );
}

const OLDEST_SQL = `
  select pid, extract(epoch from clock_timestamp() - xact_start)::integer as age_seconds,
    coalesce(nullif(application_name, ''), 'without a name') as name
  from pg_stat_activity
  where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()
  order by xact_start limit 1`;

export interface RunnerTimes {
  /**
   * Lock timeout of a step's last tries. Statements behind the step in the queue wait that long
   * too. Must exceed 1 s, after which the server cancels an automatic vacuum that blocks the step.
   */
  readonly lockTimeoutMs: number;
  /** Short lock timeout of the first tries: a hold that waits `LEDGER_QUEUE_AGE_MS` is refused. */
  readonly firstLockTimeoutMs: number;
  readonly firstTries: number;
  readonly tries: number;
  readonly pauseMs: number;
  /** How often a process asks whether another one has migrated; it gives up after `waitMs`. */
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

/** Thrown if other sessions block a migration for longer than a start may wait; retry later. */
export class SchemaBusyFault extends Fault {}

/** Runs `work` as the only migration. Polls for the lock, since no statement may wait for long. */
export async function asOnlyRunner<T>(
  pool: Pool,
  times: RunnerTimes,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  try {
    // A step has many statements, each with the time limit of the server.
    limitAnswers(client, 0);
    await takeLock(client, times);
    const done = await work(client);
    await client.query(UNLOCK_SQL);
    return done;
  } finally {
    // Closing the connection releases the lock and resets the session.
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
