import type { Pool, PoolClient } from "pg";

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
