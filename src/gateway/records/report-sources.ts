import { DatabaseError, type Pool, type PoolClient } from "pg";

import { isStoreFault, type Clock, type ReplicaWatch } from "../../kernel/index.ts";
import { runReportQuery } from "./report-connection.ts";

/** A replica of the primary, and how old what it says is. */
export interface ReportReplica {
  readonly pool: Pool;
  readonly watch: Pick<ReplicaWatch, "isThere" | "ageMs">;
}

/** Called when the replica served something: its data is of this instant or younger. */
export type AsOfListener = (asOfMs: number) => void;

/**
 * Where reports are read: from a replica while there is one that is young enough, else from the
 * primary. Everything runs on one snapshot and within one time limit for each of its statements.
 */
export class ReportSources {
  readonly #primary: Pool;
  readonly #replica: ReportReplica | undefined;
  readonly #clock: Clock;
  readonly #statementTimeoutMs: number;

  constructor(of: {
    readonly primary: Pool;
    readonly replica?: ReportReplica | undefined;
    readonly clock: Clock;
    readonly statementTimeoutMs: number;
  }) {
    this.#primary = of.primary;
    this.#replica = of.replica;
    this.#clock = of.clock;
    this.#statementTimeoutMs = of.statementTimeoutMs;
  }

  /** How old the replica is now, in milliseconds; undefined: it is not used. */
  async replicaLagMs(): Promise<number | undefined> {
    let asOfMs: number | undefined;
    const isThere = async (): Promise<void> => undefined;
    await this.run(isThere, (at) => (asOfMs = at));
    return asOfMs === undefined ? undefined : Math.max(0, Math.round(this.#clock.nowMs() - asOfMs));
  }

  /** What may be as old as the replica is. */
  async run<T>(query: (client: PoolClient) => Promise<T>, onServed?: AsOfListener): Promise<T> {
    const replica = this.#replica;
    if (replica === undefined || !replica.watch.isThere()) return await this.runNow(query);
    let ageMs: number | undefined;
    const beforeBegin = async (client: PoolClient): Promise<boolean> => {
      ageMs = await replica.watch.ageMs(client).catch((cause: unknown) => {
        throw new ReplicaAwayFault("the replica does not say how old it is", { cause });
      });
      return ageMs !== undefined;
    };
    try {
      const served = await runReportQuery(replica.pool, query, {
        statementTimeoutMs: this.#statementTimeoutMs,
        beforeBegin,
      });
      if (served !== undefined) {
        onServed?.(this.#clock.nowMs() - (ageMs ?? 0));
        return served.value;
      }
    } catch (fault) {
      if (!isReplicaFault(fault)) throw fault;
    }
    return await this.runNow(query);
  }

  /** What has to be of this moment: money, keys, and what was made a second ago. */
  async runNow<T>(query: (client: PoolClient) => Promise<T>): Promise<T> {
    const served = await runReportQuery(this.#primary, query, {
      statementTimeoutMs: this.#statementTimeoutMs,
    });
    return served?.value as T;
  }
}

/** It went away, or had to drop what was being read: the primary can still answer. */
function isReplicaFault(fault: unknown): boolean {
  const isOfServer = isStoreFault(fault) || fault instanceof DatabaseError;
  return isOfServer || fault instanceof ReplicaAwayFault;
}

class ReplicaAwayFault extends Error {
  override readonly name = "ReplicaAwayFault";
}
