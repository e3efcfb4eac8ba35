import { DatabaseError, type PoolClient } from "pg";
import {
  type ChangedBy,
  type ChangeLog,
  type MicroUsd,
  type Note,
  liftTimeLimits,
  queryOne,
} from "../../kernel/index.ts";

export interface PlatformMove {
  readonly kind: "period" | "provider_deposit" | "provider_payment";
  readonly debit: string;
  readonly credit: string;
  /** Must be above zero. */
  readonly amount: MicroUsd;
  readonly ref: string;
}

const DEADLOCK = "40P01";
const TRIES_MAX = 3;
const LOCKED_IDLE_MS = 5_000;

/**
 * Runs `work` in a transaction whose statements have no time limit, and records in it the changes
 * that `work` has noted. Only one such transaction runs at a time in all processes. `nowMs` is the
 * store's clock. After a deadlock with traffic, runs `work` again, three times in all.
 */
export async function inSettlement<T>(
  changes: ChangeLog,
  by: ChangedBy,
  work: (client: PoolClient, note: Note, nowMs: number) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await changes.write(by, async (client, note) => {
        await liftTimeLimits(client);
        await client.query("set local idle_in_transaction_session_timeout = 0");
        await client.query("select pg_advisory_xact_lock(hashtext('tokenmarket settlement work'))");
        const { now } = await queryOne<{ now: Date }>(client, "select now()");
        return await work(client, note, now.getTime());
      });
    } catch (fault) {
      const isDeadlock = fault instanceof DatabaseError && fault.code === DEADLOCK;
      if (!isDeadlock || tries === TRIES_MAX) throw fault;
    }
  }
}

/** Writes transfers and accounts. Call it last in a transaction: traffic waits for the accounts. */
export async function moveBetweenPlatformAccounts(
  client: PoolClient,
  moves: readonly PlatformMove[],
): Promise<void> {
  if (moves.length === 0) return;
  // The transfers lock accounts that traffic needs. If this process hangs here, the server ends the
  // transaction after 5 s.
  await client.query(`set local idle_in_transaction_session_timeout = ${LOCKED_IDLE_MS}`);
  const rows = moves.map((move) => ({ ...move, amount: move.amount.toString() }));
  await client.query("select move_between_platform_accounts($1)", [JSON.stringify(rows)]);
}
