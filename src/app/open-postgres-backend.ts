import type { CustomerStore } from "../accounts/customer-store.ts";
import type { ConnectionStore } from "../accounts/connection-store.ts";
import type { AccountStore, KeyStore } from "../accounts/key-store.ts";
import type { RulesStore } from "../accounts/rules-store.ts";
import type { AbuseRestrictionStore } from "../abuse/abuse-restriction-store.ts";
import type { PurchaseStore } from "../billing/purchase-store.ts";
import type { IdentityStore } from "../identity/identity-store.ts";
import type { JobStore } from "../videos/job-store.ts";
import type { CreditStore } from "../ledger/credit-store.ts";
import type { AuditCheck, AuditProgress, FlaggedListing } from "../ledger/audit/ledger-audit.ts";
import type { LedgerBatchStore } from "../ledger/ledger-batch-store.ts";
import type { Logger } from "../core/log.ts";
import type { RecordStore } from "../records/record-store.ts";
import type { OptimizeStore } from "../optimize/optimize-store.ts";
import type { SettlementStore } from "../ledger/provider-settlement/settlement-store.ts";
import type { RetentionStore } from "../ledger/retention/retention.ts";
import type { UsageReports } from "../records/usage-reports.ts";
import type { UsageRollup } from "../records/usage-rollup.ts";
import type { JournalRecentUse } from "../limits/recent-use.ts";
import { AccountNotices, noticed } from "../accounts/account-notices.ts";
import { auditLedger } from "../ledger/audit/audit.ts";
import { openPool, openReportPool } from "../storage/connection.ts";
import { flaggedListings } from "../records/flagged-listings.ts";
import { checkSchema, migrateDatabase } from "../storage/migrate.ts";
import { PostgresAccountStore } from "../accounts/postgres-account-store.ts";
import { PostgresConnectionStore } from "../accounts/postgres-connection-store.ts";
import { PostgresCreditStore } from "../ledger/postgres-credit-store.ts";
import { PostgresCustomerStore } from "../accounts/postgres-customer-store.ts";
import { PostgresIdentityStore } from "../identity/postgres-identity-store.ts";
import { PostgresJobStore } from "../videos/postgres-job-store.ts";
import { PostgresLedgerBatchStore } from "../ledger/postgres-ledger-batch-store.ts";
import { PostgresOptimizeStore } from "../optimize/postgres-optimize-store.ts";
import { PostgresPurchaseStore } from "../billing/postgres-purchase-store.ts";
import { PostgresRecordStore } from "../records/postgres-record-store.ts";
import { PostgresSettlementStore } from "../ledger/provider-settlement/postgres-settlement-store.ts";
import { PostgresRetentionStore } from "../ledger/retention/postgres-retention-store.ts";
import { PostgresRulesStore } from "../accounts/postgres-rules-store.ts";
import { PostgresAbuseRestrictionStore } from "../abuse/postgres-abuse-restriction-store.ts";
import { PostgresUsageReports } from "../records/postgres-usage-reports.ts";
import { PostgresUsageRollup } from "../records/postgres-usage-rollup.ts";
import { PostgresRecentUse } from "../limits/recent-use-rows.ts";

const REPORT_TIMEOUT_MS = 10_000;

/** Every store of the program in one PostgreSQL database. */
export interface PostgresBackend {
  readonly keyStore: KeyStore;
  readonly accountStore: AccountStore;
  readonly rulesStore: RulesStore;
  readonly usageHoldStore: AbuseRestrictionStore;
  readonly connectionStore: ConnectionStore;
  readonly identityStore: IdentityStore;
  readonly customerStore: CustomerStore;
  readonly recordStore: RecordStore;
  /** On connections of its own. */
  readonly usageReports: UsageReports;
  readonly usageRollup: UsageRollup;
  readonly creditStore: CreditStore;
  readonly purchaseStore: PurchaseStore;
  readonly settlementStore: SettlementStore;
  readonly ledgerBatchStore: LedgerBatchStore;
  readonly jobStore: JobStore;
  readonly retentionStore: RetentionStore;
  readonly optimizeStore: OptimizeStore;
  /** For a shared limit store that lost its data. */
  readonly recentUse: JournalRecentUse;
  /** Which organizations changed, here and in other processes. */
  readonly accountNotices: Pick<AccountNotices, "start">;
  /** Brings the schema up to date; returns the names of the migrations it ran. */
  migrate(): Promise<readonly string[]>;
  /** Throws unless the database has this program's schema, and names the next step. */
  checkSchema(): Promise<void>;
  /** Rejects when the database does not answer: readiness. */
  ping(): Promise<void>;
  /** The three proofs of the books, on one snapshot; a long journal reports its progress. */
  audit(onProgress?: (progress: AuditProgress) => void): Promise<readonly AuditCheck[]>;
  /** Listings whose providers reported what cannot be, in the last `days`. */
  flaggedListings(days: number): Promise<readonly FlaggedListing[]>;
  close(): Promise<void>;
}

/** Opens the stores; connections are made on first use and remade after a loss. */
export function openPostgresBackend(options: {
  /** `postgres://user:password@host:port/database` */
  readonly connectionString: string;
  readonly log: Logger;
  /** Maximum duration of a console report on the journal; default 10 seconds. */
  readonly reportTimeoutMs?: number;
  /** Most connections besides those of reports and of the ledger's lanes; default 10. */
  readonly poolMax?: number;
}): PostgresBackend {
  const { connectionString, log, reportTimeoutMs = REPORT_TIMEOUT_MS } = options;
  const pool = openPool(connectionString, log, options.poolMax);
  const accountNotices = new AccountNotices(pool, connectionString, log);
  const accounts = noticed(new PostgresAccountStore(pool), accountNotices, ["disableKey"]);
  const ledgerBatchStore = new PostgresLedgerBatchStore(pool, connectionString, log);
  const usageReports = new PostgresUsageReports(
    openReportPool(connectionString, log, reportTimeoutMs),
  );
  return {
    keyStore: accounts,
    accountStore: accounts,
    accountNotices,
    rulesStore: noticed(new PostgresRulesStore(pool), accountNotices, [
      "changeLimit",
      "setKeysMaySetOrgLimits",
      "createEndpoint",
      "removeEndpoint",
      "setPolicy",
    ]),
    connectionStore: noticed(new PostgresConnectionStore(pool), accountNotices, [
      "create",
      "disable",
    ]),
    identityStore: new PostgresIdentityStore(pool),
    usageHoldStore: noticed(new PostgresAbuseRestrictionStore(pool), accountNotices, ["lift"]),
    customerStore: noticed(new PostgresCustomerStore(pool), accountNotices, ["disableKey"]),
    recordStore: new PostgresRecordStore(pool),
    usageReports,
    usageRollup: new PostgresUsageRollup(pool),
    creditStore: new PostgresCreditStore(pool),
    purchaseStore: new PostgresPurchaseStore(pool),
    settlementStore: new PostgresSettlementStore(pool),
    ledgerBatchStore,
    jobStore: new PostgresJobStore(pool),
    retentionStore: new PostgresRetentionStore(pool),
    optimizeStore: new PostgresOptimizeStore(pool),
    recentUse: new PostgresRecentUse(pool),
    migrate: () => migrateDatabase(pool),
    checkSchema: () => checkSchema(pool),
    ping: async () => {
      await pool.query("select 1");
    },
    audit: (onProgress) => auditLedger(pool, onProgress),
    flaggedListings: (days) => flaggedListings(pool, days),
    close: async () => {
      accountNotices.close();
      await ledgerBatchStore.close();
      await usageReports.close();
      await pool.end();
    },
  };
}
