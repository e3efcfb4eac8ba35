import { setTimeout as sleep } from "node:timers/promises";

import { DatabaseError, type CustomTypesConfig, type PoolClient, type QueryArrayConfig } from "pg";

import {
  type Change,
  type ChangedBy,
  type ChangeLog,
  recordChanges,
  type RecordedChange,
  type CsvRow,
  transact,
} from "../../kernel/index.ts";

/** The longest time that batches of the gateways may wait for a lock of the ledger. */
const LOCK_TIMEOUT_MS = 100;
const LOCK_PAUSE_MS = 500;
const LOCK_TRIES_MAX = 1_200;
const SQLSTATE_LOCK_TIMEOUT = "55P03";

/** The books did not let go of their lock for ten minutes. */
export class JournalBusyFault extends Error {
  override readonly name = "JournalBusyFault";
}

/** The change log, with the author of the changes. */
export interface ChangeNotes {
  readonly log: ChangeLog;
  readonly by: ChangedBy;
}

/** The change is written last: the log is not held up while the books are waited for. */
export async function changing(
  client: PoolClient,
  { log, by }: ChangeNotes,
  change: Change,
  work: () => Promise<void>,
): Promise<void> {
  let recorded: readonly RecordedChange[] = [];
  await transact(client, async () => {
    await work();
    recorded = await recordChanges(client, by, [change]);
  });
  log.announce(recorded);
}

/**
 * Runs statements that need tables of the books for themselves, and never makes a queue before
 * them. `busySql` says whether a reader of minutes is at work on these.
 */
export async function whenFree(
  client: PoolClient,
  busySql: string,
  statements: readonly string[],
): Promise<void> {
  await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
  await client.query("savepoint before_lock");
  for (let tried = 0; tried < LOCK_TRIES_MAX; tried++) {
    if (tried > 0) await sleep(LOCK_PAUSE_MS);
    // A reader of minutes is waited for outside the lock's queue, or all would wait with us.
    const { rows } = await client.query<{ is_busy: boolean }>(busySql);
    if (rows[0]?.is_busy === true) continue;
    try {
      for (const statement of statements) await client.query(statement);
      return;
    } catch (fault) {
      if (!(fault instanceof DatabaseError) || fault.code !== SQLSTATE_LOCK_TIMEOUT) throw fault;
      await client.query("rollback to savepoint before_lock");
    }
  }
  throw new JournalBusyFault("the journal was read without a pause; run this again later");
}

/** Rows as PostgreSQL prints them. */
export async function rowsAsText(
  client: PoolClient,
  text: string,
  values: readonly unknown[],
): Promise<CsvRow[]> {
  const query: QueryArrayConfig = { text, values: [...values], rowMode: "array", types: asText };
  return (await client.query<(string | null)[]>(query)).rows;
}

/** True if a transaction that is older than any batch uses one of these tables. */
export function longReaderSql(tables: readonly string[]): string {
  return `
  select exists (
    select from pg_locks l join pg_stat_activity a using (pid)
    where l.relation in (${tables.map((table) => `'${table}'::regclass`).join(", ")}) and l.granted
      and pid <> pg_backend_pid() and a.xact_start < clock_timestamp() - interval '1 second'
  ) as is_busy`;
}

const asText: CustomTypesConfig = {
  getTypeParser: (() => (text: string) => text) as CustomTypesConfig["getTypeParser"],
};
