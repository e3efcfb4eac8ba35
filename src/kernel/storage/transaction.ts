import type { Pool, PoolClient, QueryConfig } from "pg";

/**
 * Runs `work` in one transaction, on a connection of its own. After a fault the connection is closed,
 * which rolls back: what state it is in is unknown. With `answerTimeoutMs` a connection that stays
 * silent at the begin or at the commit is given up.
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
    await run("begin");
    const outcome = await work(client);
    await run("commit");
    isDone = true;
    return outcome;
  } finally {
    client.release(!isDone);
  }
}

/**
 * Runs `work` in one transaction on a connection that stays the caller's. After a fault it is rolled
 * back, as far as the connection still can.
 */
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
    // A connection that is lost has rolled back by itself; the first fault is the one to report.
    await client.query("rollback").catch(() => undefined);
    throw fault;
  }
}

/**
 * Leases rows of a table `t` to one process. Rows that another process is taking are skipped, and
 * leased rows become due again when their lease ends.
 */
export function takeRowsSql(
  table: string,
  key: string,
  taken: {
    /** The clauses after `from`: which rows are due, and how many are taken. */
    readonly due: string;
    /** The lease. */
    readonly set: string;
    /** Default: the key. */
    readonly returning?: string;
  },
): string {
  const { due, set, returning = `t.${key}` } = taken;
  return `
  with due as (select t.${key} from ${table} t ${due} for update of t skip locked)
  update ${table} t set ${set} from due where t.${key} = due.${key} returning ${returning}`;
}

/**
 * A connection that holds the lock of this name until it is unlocked or lost; undefined if another
 * process holds it.
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

/** One that was lost has lost its lock. With `isSpent` it is closed, and its settings go with it. */
export async function unlockConnection(client: PoolClient, isSpent = false): Promise<void> {
  // Unlocked at once: the server may notice the end of a connection later.
  const isWell = await client.query("select pg_advisory_unlock_all()").then(
    () => true,
    () => false,
  );
  client.release(isSpent || !isWell);
}

const TRY_LOCK_SQL = "select pg_try_advisory_lock(hashtext($1)) as ours";
