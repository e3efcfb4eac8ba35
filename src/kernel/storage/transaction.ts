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
