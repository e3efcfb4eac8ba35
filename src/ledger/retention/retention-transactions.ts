import { setTimeout as sleep } from "node:timers/promises";

import { DatabaseError, type PoolClient, type QueryArrayConfig } from "pg";

import {
  type Change,
  type ChangedBy,
  type ChangeLog,
  Fault,
  queryOne,
  recordChanges,
  type RecordedChange,
  type CsvRow,
  textTypes,
  transact,
} from "../../kernel/index.ts";

/** How long a lock may be waited for. It is short, because the gateways' batches wait meanwhile. */
const LOCK_TIMEOUT_MS = 100;
const LOCK_PAUSE_MS = 500;
const LOCK_TRIES_MAX = 1_200;
const SQLSTATE_LOCK_TIMEOUT = "55P03";

/** Thrown if a table of the books could not be locked within ten minutes. */
export class JournalBusyFault extends Fault {}

export interface ChangeNotes {
  readonly log: ChangeLog;
  readonly by: ChangedBy;
}

/** Runs `work`, then records the change, so that the change log is not locked during `work`. */
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
 * Runs statements that lock tables of the books exclusively. While such a lock request waits, all
 * later transactions wait behind it, so it is given up after 100 ms and repeated, for about ten
 * minutes at most. `busySql` selects `is_busy`: whether a long transaction uses the tables.
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
    if ((await queryOne<{ is_busy: boolean }>(client, busySql)).is_busy) continue;
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

export async function rowsAsText(
  client: PoolClient,
  text: string,
  values: readonly unknown[],
): Promise<CsvRow[]> {
  const query: QueryArrayConfig = { text, values: [...values], rowMode: "array", types: textTypes };
  return (await client.query<(string | null)[]>(query)).rows;
}

/** Selects `is_busy`: true if a transaction older than one second uses one of the tables. */
export function longReaderSql(tables: readonly string[]): string {
  return `
  select exists (
    select from pg_locks l join pg_stat_activity a using (pid)
    where l.relation in (${tables.map((table) => `'${table}'::regclass`).join(", ")}) and l.granted
      and pid <> pg_backend_pid() and a.xact_start < clock_timestamp() - interval '1 second'
  ) as is_busy`;
}
