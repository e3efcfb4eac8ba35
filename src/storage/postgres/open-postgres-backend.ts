import type { AccountStore, KeyStore } from "../../auth/key-store.ts";
import type { CreditStore } from "../../ledger/credit-store.ts";
import type { AuditCheck } from "../../ledger/ledger-audit.ts";
import type { LedgerBatchStore } from "../../ledger/ledger-batch-store.ts";
import type { LedgerLog } from "../../ledger/ledger-log.ts";
import type { RecordStore } from "../../ledger/record-store.ts";
import { auditLedger } from "./audit.ts";
import { openPool } from "./connection.ts";
import { migrateDatabase } from "./migrate.ts";
import { PostgresAccountStore } from "./postgres-account-store.ts";
import { PostgresCreditStore } from "./postgres-credit-store.ts";
import { PostgresLedgerBatchStore } from "./postgres-ledger-batch-store.ts";
import { PostgresRecordStore } from "./postgres-record-store.ts";

/** Every store of the program in one PostgreSQL database. */
export interface PostgresBackend {
  readonly keyStore: KeyStore;
  readonly accountStore: AccountStore;
  readonly recordStore: RecordStore;
  readonly creditStore: CreditStore;
  readonly ledgerBatchStore: LedgerBatchStore;
  /** Brings the schema up to date; returns the names of the migrations it ran. */
  migrate(): Promise<readonly string[]>;
  /** Rejects when the database does not answer: readiness. */
  ping(): Promise<void>;
  audit(): Promise<readonly AuditCheck[]>;
  close(): Promise<void>;
}

/** Opens the stores; connections are made on first use and remade after a loss. */
export function openPostgresBackend(options: {
  /** `postgres://user:password@host:port/database` */
  readonly connectionString: string;
  readonly log: LedgerLog;
}): PostgresBackend {
  const { connectionString, log } = options;
  const pool = openPool(connectionString, log);
  const accounts = new PostgresAccountStore(pool);
  const ledgerBatchStore = new PostgresLedgerBatchStore(pool, connectionString, log);
  return {
    keyStore: accounts,
    accountStore: accounts,
    recordStore: new PostgresRecordStore(pool),
    creditStore: new PostgresCreditStore(pool),
    ledgerBatchStore,
    migrate: () => migrateDatabase(pool),
    ping: async () => {
      await pool.query("select 1");
    },
    audit: () => auditLedger(pool),
    close: async () => {
      await ledgerBatchStore.close();
      await pool.end();
    },
  };
}
