import type { TestAccount } from "../../support/gateway.ts";
import type { FreshBackend } from "../../support/postgres.ts";

export type AttemptState = "open" | "settled" | "void" | "unknown_after_crash";

/** One row of the journal; amounts are micro-dollars. */
export interface JournalRow {
  readonly attemptId: string;
  readonly requestId: string;
  readonly state: AttemptState;
  readonly basis: string | null;
  readonly reserve: bigint;
  readonly debit: bigint;
}

/** Everything durable about one organization. */
export interface OrgBooks {
  /** Credits minus debits; `held` is the amount that holds reserve. */
  readonly settled: bigint;
  readonly held: bigint;
  readonly journal: readonly JournalRow[];
  /** The transfers of the organization's attempts, oldest first. */
  readonly transfers: readonly { readonly kind: string; readonly amount: bigint }[];
  /** The amounts spent and held this month, as counted for the key and for the organization. */
  readonly spend: readonly { readonly settled: bigint; readonly reserved: bigint }[];
}

export async function readBooks(backend: FreshBackend, account: TestAccount): Promise<OrgBooks> {
  const { orgId, keyId } = account;
  const [wallets, journal, transfers, spend] = [
    await backend.query(
      "select credits - debits as settled, reserved from account where org_id = $1",
      [orgId],
    ),
    await backend.query("select * from journal where org_id = $1 order by attempt_id", [orgId]),
    await backend.query(
      `select kind, amount from transfer where attempt_id in
        (select attempt_id from attempt where org_id = $1) order by transfer_id`,
      [orgId],
    ),
    await backend.query("select settled, reserved from spend where id in ($1, $2) order by scope", [
      orgId,
      keyId,
    ]),
  ];
  return {
    settled: BigInt(String(wallets[0]?.["settled"])),
    held: BigInt(String(wallets[0]?.["reserved"])),
    journal: journal.map((row) => ({
      attemptId: String(row["attempt_id"]),
      requestId: String(row["request_id"]),
      state: row["state"] as AttemptState,
      basis: row["basis"] as string | null,
      reserve: BigInt(String(row["reserve"])),
      debit: BigInt(String(row["debit"])),
    })),
    transfers: transfers.map((row) => ({
      kind: String(row["kind"]),
      amount: BigInt(String(row["amount"])),
    })),
    spend: spend.map((row) => ({
      settled: BigInt(String(row["settled"])),
      reserved: BigInt(String(row["reserved"])),
    })),
  };
}

/** Returns the connection names of the sessions that wait for a lock. */
export async function waitingSessions(backend: FreshBackend): Promise<readonly string[]> {
  const rows = await backend.query(
    `select application_name from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows.map((row) => String(row["application_name"]));
}

/** Ends a dead process's sessions while they wait, before they can commit. */
export async function severSessions(backend: FreshBackend, name: string): Promise<void> {
  await backend.query(
    `select pg_terminate_backend(pid, 10000) from pg_stat_activity
      where datname = current_database() and application_name = $1 and wait_event_type = 'Lock'`,
    [name],
  );
}

/** Tells if a session has this name. A dead process's session lasts until its batch is done. */
export async function hasSession(backend: FreshBackend, name: string): Promise<boolean> {
  const rows = await backend.query(
    "select from pg_stat_activity where datname = current_database() and application_name = $1",
    [name],
  );
  return rows.length > 0;
}
