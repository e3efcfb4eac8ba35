import type { Pool, PoolClient } from "pg";

import type { Logger } from "../core/index.ts";
import { inTransaction } from "../storage/index.ts";
import type { Change, ChangedBy, RecordedChange } from "./change.ts";
import { recordChanges } from "./record-changes.ts";

/** Notes a change of the transaction that is under way. */
export type Note = (change: Change) => void;

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
    let recorded: readonly RecordedChange[] = [];
    const outcome = await inTransaction(
      this.#pool,
      async (client) => {
        const noted: Change[] = [];
        const answer = await work(client, (change) => void noted.push(change));
        recorded = await recordChanges(client, by, noted);
        return answer;
      },
      answerTimeoutMs,
    );
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
