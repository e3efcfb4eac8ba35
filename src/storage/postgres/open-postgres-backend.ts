import type { ConnectionStore } from "../../auth/connection-store.ts";
import type { AccountStore, KeyStore } from "../../auth/key-store.ts";
import type { RulesStore } from "../../auth/rules-store.ts";
import type { UsageHoldStore } from "../../auth/usage-hold-store.ts";
import type { JobStore } from "../../jobs/job-store.ts";
import type { CreditStore } from "../../ledger/credit-store.ts";
import type { AuditCheck, AuditProgress } from "../../ledger/ledger-audit.ts";
import type { LedgerBatchStore } from "../../ledger/ledger-batch-store.ts";
import type { LedgerLog } from "../../ledger/ledger-log.ts";
import type { RecordStore } from "../../ledger/record-store.ts";
import type { SettlementStore } from "../../ledger/settlement-store.ts";
import type { RetentionStore } from "../../ledger/retention.ts";
import type { JournalRecentUse } from "../../limits/recent-use.ts";
import { auditLedger } from "./audit.ts";
import { openPool } from "./connection.ts";
import { migrateDatabase } from "./migrate.ts";
import { PostgresAccountStore } from "./postgres-account-store.ts";
import { PostgresConnectionStore } from "./postgres-connection-store.ts";
import { PostgresCreditStore } from "./postgres-credit-store.ts";
import { PostgresJobStore } from "./postgres-job-store.ts";
import { PostgresLedgerBatchStore } from "./postgres-ledger-batch-store.ts";
import { PostgresRecordStore } from "./postgres-record-store.ts";
import { PostgresSettlementStore } from "./postgres-settlement-store.ts";
import { PostgresRetentionStore } from "./postgres-retention-store.ts";
import { PostgresRulesStore } from "./postgres-rules-store.ts";
import { PostgresUsageHoldStore } from "./postgres-usage-hold-store.ts";
import { PostgresRecentUse } from "./recent-use.ts";

/** Every store of the program in one PostgreSQL database. */
export interface PostgresBackend {
  readonly keyStore: KeyStore;
  readonly accountStore: AccountStore;
  readonly rulesStore: RulesStore;
  readonly usageHoldStore: UsageHoldStore;
  readonly connectionStore: ConnectionStore;
  readonly recordStore: RecordStore;
  readonly creditStore: CreditStore;
  readonly settlementStore: SettlementStore;
  readonly ledgerBatchStore: LedgerBatchStore;
  readonly jobStore: JobStore;
  readonly retentionStore: RetentionStore;
  /** For a shared limit store that lost its data. */
  readonly recentUse: JournalRecentUse;
  /** Brings the schema up to date; returns the names of the migrations it ran. */
  migrate(): Promise<readonly string[]>;
  /** Rejects when the database does not answer: readiness. */
  ping(): Promise<void>;
  /** The three proofs of the books, on one snapshot; a long journal tells how far it has come. */
  audit(onProgress?: (progress: AuditProgress) => void): Promise<readonly AuditCheck[]>;
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
    rulesStore: new PostgresRulesStore(pool),
    connectionStore: new PostgresConnectionStore(pool),
    usageHoldStore: new PostgresUsageHoldStore(pool),
    recordStore: new PostgresRecordStore(pool),
    creditStore: new PostgresCreditStore(pool),
    settlementStore: new PostgresSettlementStore(pool),
    ledgerBatchStore,
    jobStore: new PostgresJobStore(pool),
    retentionStore: new PostgresRetentionStore(pool),
    recentUse: new PostgresRecentUse(pool),
    migrate: () => migrateDatabase(pool),
    ping: async () => {
      await pool.query("select 1");
    },
    audit: (onProgress) => auditLedger(pool, onProgress),
    close: async () => {
      await ledgerBatchStore.close();
      await pool.end();
    },
  };
}
