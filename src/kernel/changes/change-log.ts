import type { Pool, PoolClient } from "pg";

import type { Logger } from "../core/log.ts";
import { inTransaction } from "../storage/transaction.ts";
import type { Change, ChangedBy, RecordedChange } from "./change.ts";
import { recordChanges } from "./record-changes.ts";

/** Notes a change of the transaction that is under way. */
export type Note = (change: Change) => void;

/** What a transaction has done, and who did it. */
export interface Changed<T> {
  readonly outcome: T;
  readonly by: ChangedBy;
  readonly changes: readonly Change[];
}

interface Written<T> {
  readonly outcome: T;
  readonly recorded: readonly RecordedChange[];
}

/** Changes with their record: both are committed, or neither. */
export class ChangeLog {
  readonly #pool: Pool;
  readonly #log: Pick<Logger, "info">;
  readonly #counts = new Map<string, number>();

  constructor(pool: Pool, log: Pick<Logger, "info">) {
    this.#pool = pool;
    this.#log = log;
  }

  /** Changes that this process has committed, by action. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** Runs `work` in one transaction that ends with the changes it has noted, of one actor. */
  async write<T>(
    by: ChangedBy,
    work: (client: PoolClient, note: Note) => Promise<T>,
    answerTimeoutMs?: number,
  ): Promise<T> {
    const noting = async (client: PoolClient): Promise<Changed<T>> => {
      const changes: Change[] = [];
      const outcome = await work(client, (change) => void changes.push(change));
      return { outcome, by, changes };
    };
    return await this.writeBy(noting, answerTimeoutMs);
  }

  /** The same where the transaction itself finds out who it was. */
  async writeBy<T>(
    work: (client: PoolClient) => Promise<Changed<T>>,
    answerTimeoutMs?: number,
  ): Promise<T> {
    const written = async (client: PoolClient): Promise<Written<T>> => {
      const { outcome, by, changes } = await work(client);
      return { outcome, recorded: await recordChanges(client, by, changes) };
    };
    const { outcome, recorded } = await inTransaction(this.#pool, written, answerTimeoutMs);
    this.announce(recorded);
    return outcome;
  }

  /** A line of the log for each, once it is committed. */
  announce(recorded: readonly RecordedChange[]): void {
    for (const { position, by, action, orgId, target, before, after } of recorded) {
      this.#counts.set(action, (this.#counts.get(action) ?? 0) + 1);
      const who = { actor_kind: by.kind, actor_id: by.id, request_id: by.requestId };
      const what = { action, target, before, after, client_network: by.clientNetwork };
      const line = { change: true, position, ...who, org_id: orgId, ...what };
      this.#log.info(line, `change: ${action}`);
    }
  }
}
