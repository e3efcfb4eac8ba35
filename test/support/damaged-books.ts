import type { FreshBackend } from "./postgres.ts";

const TABLES = [
  "org",
  "api_key",
  "account",
  "transfer",
  "price_pin",
  "price_sheet",
  "instance",
  "attempt",
  "hold",
  "spend",
  "cap_change",
  "retired_day",
  "retired_spend",
  "provider_period",
  "provider_period_line",
  "provider_progress",
  "provider_payment",
  "receipt_series",
  "purchase",
  "purchase_claim",
  "spend_day",
  "audit_checkpoint",
  "audit_checkpoint_account",
  "audit_checkpoint_spend",
] as const;

/** Damages the books behind the ledger's back, and repairs them. */
export class DamagedBooks {
  readonly #backend: FreshBackend;

  constructor(backend: FreshBackend) {
    this.#backend = backend;
  }

  async remember(): Promise<void> {
    await this.#backend.query("create schema remembered");
    for (const table of TABLES) {
      await this.#backend.query(`create table remembered.${table} as table ${table}`);
    }
  }

  async damage(...statements: readonly string[]): Promise<void> {
    await this.#backend.query("begin");
    await this.#backend.query("set local session_replication_role = replica");
    for (const statement of statements) await this.#backend.query(statement);
    await this.#backend.query("commit");
  }

  async repair(): Promise<void> {
    const again = TABLES.flatMap((table) => [
      `delete from ${table}`,
      `insert into ${table} overriding system value table remembered.${table}`,
    ]);
    await this.damage(...again);
  }
}
