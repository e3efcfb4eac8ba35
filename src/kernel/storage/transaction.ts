import type { Pool, PoolClient, QueryConfig } from "pg";

/** The server ends a transaction whose process hangs for 5 s: its locks would stop the traffic. */
const BEGIN_SQL = "begin; set local idle_in_transaction_session_timeout = 5000";

/**
 * Runs `work` in one transaction on its own connection. After a fault the connection is closed,
 * because its state is unknown; that also rolls back. `answerTimeoutMs` bounds the wait for `begin`
 * and for `commit`.
 */
export async function inTransaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
  answerTimeoutMs?: number,
): Promise<T> {
  const client = await pool.connect();
  const run = async (text: string): Promise<void> => {
    const query: QueryConfig & { query_timeout?: number } = { text };
    if (answerTimeoutMs !== undefined) query.query_timeout = answerTimeoutMs;
    await client.query(query);
  };
  let isDone = false;
  try {
    await run(BEGIN_SQL);
    const outcome = await work(client);
    await run("commit");
    isDone = true;
    return outcome;
  } finally {
    client.release(!isDone);
  }
}

/** Runs `work` in one transaction on the caller's connection, and rolls back after a fault. */
export async function transact<T>(
  client: PoolClient,
  work: () => Promise<T>,
  begin = "begin",
): Promise<T> {
  await client.query(begin);
  try {
    const outcome = await work();
    await client.query("commit");
    return outcome;
  } catch (fault) {
    // The server rolls back if the connection is lost. The first fault is the one to report.
    await client.query("rollback").catch(() => undefined);
    throw fault;
  }
}

/**
 * Returns SQL that leases due rows of `table` (alias `t`) to one process. It skips rows that
 * another process is taking. Rows become due again when their lease ends.
 */
export function takeRowsSql(
  table: string,
  key: string,
  taken: {
    /** The part of the statement after `from t`: a condition that selects due rows, and a limit. */
    readonly due: string;
    readonly set: string;
    /** The columns to return; only the key if absent. */
    readonly returning?: string;
  },
): string {
  const { due, set, returning = `t.${key}` } = taken;
  return `
  with due as (select t.${key} from ${table} t ${due} for update of t skip locked)
  update ${table} t set ${set} from due where t.${key} = due.${key} returning ${returning}`;
}

/**
 * Takes a lock by name, and returns the connection that holds it until `unlockConnection` or its
 * loss; undefined if another connection holds the lock.
 */
export async function lockedConnection(pool: Pool, name: string): Promise<PoolClient | undefined> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query<{ ours: boolean }>(TRY_LOCK_SQL, [name]);
    if (rows[0]?.ours === true) return client;
    client.release();
    return undefined;
  } catch (fault) {
    client.release(true);
    throw fault;
  }
}

/** Releases the connection's locks; also closes it if its settings must not stay (`isSpent`). */
export async function unlockConnection(client: PoolClient, isSpent = false): Promise<void> {
  // The locks are released explicitly, because the server may notice the end of a connection later.
  const isWell = await client.query("select pg_advisory_unlock_all()").then(
    () => true,
    () => false,
  );
  client.release(isSpent || !isWell);
}

const TRY_LOCK_SQL = "select pg_try_advisory_lock(hashtext($1)) as ours";
