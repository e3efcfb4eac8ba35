import type { Pool, PoolClient } from "pg";

import { assert, liftTimeLimits, queryOne } from "../../kernel/index.ts";

/** The `work_mem` of an audit's sessions: a sort or hash that needs more uses files on disk. */
const WORK_MEMORY = "64MB";

export type AuditTask = (client: PoolClient) => Promise<void>;

/** Connections that all read one snapshot of the books, so that an audit can work in parallel. */
export class AuditSessions {
  readonly #clients: readonly PoolClient[];

  private constructor(clients: readonly PoolClient[]) {
    this.#clients = clients;
  }

  static async open(pool: Pool, count: number): Promise<AuditSessions> {
    const clients: PoolClient[] = [];
    const sessions = new AuditSessions(clients);
    try {
      const first = await pool.connect();
      clients.push(first);
      await begin(first);
      // The table is locked before the snapshot is taken. Otherwise a day that is retired in
      // between would be missing from the audit, and no check would notice it.
      await first.query("lock table attempt in access share mode");
      const { id } = await queryOne<{ id: string }>(first, "select pg_export_snapshot() as id");
      assert(/^[0-9A-F-]+$/.test(id), "a snapshot has a name");
      while (clients.length < count) {
        const client = await pool.connect();
        clients.push(client);
        await begin(client, id);
      }
      return sessions;
    } catch (fault) {
      await sessions.close();
      throw fault;
    }
  }

  get first(): PoolClient {
    const [first] = this.#clients;
    assert(first !== undefined, "an audit has a connection");
    return first;
  }

  /** Runs all tasks, one at a time on each connection. After a fault no further task begins. */
  async run(tasks: readonly AuditTask[]): Promise<void> {
    const left = [...tasks];
    const work = async (client: PoolClient): Promise<void> => {
      try {
        for (let task = left.shift(); task !== undefined; task = left.shift()) await task(client);
      } catch (fault) {
        left.length = 0;
        throw fault;
      }
    };
    const ends = await Promise.allSettled(this.#clients.map(work));
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  }

  async close(): Promise<void> {
    for (const client of this.#clients) {
      await client.query("rollback").catch(() => undefined);
      client.release();
    }
  }
}

async function begin(client: PoolClient, snapshot?: string): Promise<void> {
  await client.query("begin isolation level repeatable read, read only");
  if (snapshot !== undefined) await client.query(`set transaction snapshot '${snapshot}'`);
  await liftTimeLimits(client);
  await client.query(`set local work_mem = '${WORK_MEMORY}'`);
}
