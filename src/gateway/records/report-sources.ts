import { DatabaseError, type Pool, type PoolClient } from "pg";

import {
  beginLocally,
  Fault,
  isStoreFault,
  type Clock,
  type ReplicaWatch,
} from "../../kernel/index.ts";

interface ReportSourceOptions {
  readonly primary: Pool;
  readonly replica?: {
    readonly pool: Pool;
    readonly watch: Pick<ReplicaWatch, "isThere" | "ageMs">;
  };
  readonly clock: Clock;
  readonly statementTimeoutMs: number;
}

/** Called after the replica has served a query: its data is from `asOfMs` or later. */
export type AsOfListener = (asOfMs: number) => void;

/** Each report uses one snapshot, and each statement has a time limit. */
export class ReportSources {
  readonly #of: ReportSourceOptions;

  constructor(of: ReportSourceOptions) {
    this.#of = of;
  }

  /** Returns the age of the replica in milliseconds; undefined if no replica is used. */
  async replicaLagMs(): Promise<number | undefined> {
    let lagMs: number | undefined;
    await this.run(
      async () => undefined,
      (asOfMs) => (lagMs = Math.max(0, Math.round(this.#of.clock.nowMs() - asOfMs))),
    );
    return lagMs;
  }

  /** Runs a query on the replica if its data is recent enough, otherwise on the primary. */
  async run<T>(query: (client: PoolClient) => Promise<T>, onServed?: AsOfListener): Promise<T> {
    const { replica } = this.#of;
    if (replica === undefined || !replica.watch.isThere()) return await this.runNow(query);
    try {
      const served = await onConnection(replica.pool, async (client) => {
        const ageMs = await replica.watch.ageMs(client).catch((cause: unknown) => {
          throw new ReplicaAwayFault("the replica does not say how old it is", { cause });
        });
        return ageMs === undefined ? undefined : { ageMs, value: await this.#read(client, query) };
      });
      if (served !== undefined) {
        onServed?.(this.#of.clock.nowMs() - served.ageMs);
        return served.value;
      }
    } catch (fault) {
      const isOfServer = isStoreFault(fault) || fault instanceof DatabaseError;
      if (!isOfServer && !(fault instanceof ReplicaAwayFault)) throw fault;
    }
    return await this.runNow(query);
  }

  /** Runs a query on the primary, where money, keys and rows are current. */
  async runNow<T>(query: (client: PoolClient) => Promise<T>): Promise<T> {
    return await onConnection(this.#of.primary, (client) => this.#read(client, query));
  }

  async #read<T>(client: PoolClient, query: (client: PoolClient) => Promise<T>): Promise<T> {
    await client.query("begin isolation level repeatable read read only");
    await beginLocally(client, this.#of);
    await client.query("set local work_mem = '64MB'");
    const value = await query(client);
    await client.query("commit");
    return value;
  }
}

async function onConnection<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  let client: PoolClient | undefined;
  let isWell = false;
  try {
    client = await pool.connect();
    const value = await work(client);
    isWell = true;
    return value;
  } catch (fault) {
    // Only after an error of the database can the connection be rolled back and used again.
    const rollback = fault instanceof DatabaseError ? client?.query("rollback") : undefined;
    isWell = (await rollback?.catch(() => undefined)) !== undefined;
    throw asTimeout(fault);
  } finally {
    client?.release(!isWell);
  }
}

const SQLSTATE_QUERY_CANCELED = "57014";

/** An overlong wait for a connection, because other reports use them all, is a timeout, too. */
function asTimeout(fault: unknown): unknown {
  const isCanceled = fault instanceof DatabaseError && fault.code === SQLSTATE_QUERY_CANCELED;
  const isWaitOver =
    fault instanceof Error &&
    /^(timeout exceeded when trying to connect|Query read timeout)$/.test(fault.message);
  if (!isCanceled && !isWaitOver) return fault;
  return new ReportTimeout("this report took too long; choose a shorter range", { cause: fault });
}

class ReplicaAwayFault extends Fault {}

export class ReportTimeout extends Error {
  override readonly name = "ReportTimeout";
}
