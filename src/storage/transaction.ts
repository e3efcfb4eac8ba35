import type { Pool, PoolClient } from "pg";

/**
 * Runs `work` in one transaction, on a connection of its own. After a fault the connection is closed,
 * which rolls back: what state it is in is unknown.
 */
export async function inTransaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let isDone = false;
  try {
    await client.query("begin");
    const outcome = await work(client);
    await client.query("commit");
    isDone = true;
    return outcome;
  } finally {
    client.release(!isDone);
  }
}
