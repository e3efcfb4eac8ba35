import type { Pool } from "pg";

import { type AbuseRestrictionStore, PostgresAbuseRestrictionStore } from "../abuse/index.ts";
import {
  AccountNotices,
  type AccountStore,
  type ConnectionStore,
  type CustomerStore,
  type KeyStore,
  noticed,
  PostgresAccountStore,
  PostgresConnectionStore,
  PostgresCustomerStore,
  PostgresRulesStore,
  type RulesStore,
} from "../accounts/index.ts";
import { PostgresPurchaseStore, type PurchaseStore } from "../billing/index.ts";
import {
  byGateway,
  type ChangedBy,
  ChangeLog,
  type ChangeStore,
  PostgresChangeStore,
} from "../changes/index.ts";
import type { Logger } from "../core/index.ts";
import { type IdentityStore, PostgresIdentityStore } from "../identity/index.ts";
import {
  type AuditCheck,
  auditLedger,
  type AuditProgress,
  type CreditStore,
  type FlaggedListing,
  type LedgerBatchStore,
  PostgresCreditStore,
  PostgresLedgerBatchStore,
  PostgresRetentionStore,
  PostgresSettlementStore,
  type RetentionStore,
  type SettlementStore,
} from "../ledger/index.ts";
import { type JournalRecentUse, PostgresRecentUse } from "../limits/index.ts";
import { type OptimizeStore, PostgresOptimizeStore } from "../optimize/index.ts";
import {
  flaggedListings,
  type ListingTraffic,
  listingTraffic,
  PostgresRecordStore,
  PostgresUsageReports,
  PostgresUsageRollup,
  type RecordStore,
  type UsageReports,
  type UsageRollup,
} from "../records/index.ts";
import { checkSchema, migrateDatabase, openPool, openReportPool } from "../storage/index.ts";
import {
  PostgresVerdictStore,
  PostgresWatchStore,
  type VerdictStore,
  type WatchStore,
} from "../verification/index.ts";
import { type JobStore, PostgresJobStore } from "../videos/index.ts";

const REPORT_TIMEOUT_MS = 10_000;
/** Verbs that resolve when this process was notified of what they changed. */
const KEY_CHANGES = ["createKey", "disableKey", "setOrgCap", "setKeyCap"] as const;

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
  readonly verdictStore: VerdictStore;
  readonly watchStore: WatchStore;
  readonly retentionStore: RetentionStore;
  readonly optimizeStore: OptimizeStore;
  /** For a shared limit store that lost its data. */
  readonly recentUse: JournalRecentUse;
  readonly changeStore: ChangeStore;
  /** Writes and counts changes; the stores do it by themselves. */
  readonly changeLog: ChangeLog;
  /** Which organizations changed, here and in other processes. */
  readonly accountNotices: Pick<AccountNotices, "start">;
  /** Brings the schema up to date; returns the names of the migrations it ran. */
  migrate(by?: ChangedBy): Promise<readonly string[]>;
  /** Throws unless the database has this program's schema, and names the next step. */
  checkSchema(): Promise<void>;
  /** Rejects when the database does not answer: readiness. */
  ping(): Promise<void>;
  /** The three proofs of the books, on one snapshot; a long journal reports its progress. */
  audit(onProgress?: (progress: AuditProgress) => void): Promise<readonly AuditCheck[]>;
  /** Listings whose providers reported what cannot be, in the last `days`. */
  flaggedListings(days: number): Promise<readonly FlaggedListing[]>;
  /** What every organization used of a provider from this UTC day on: a long report. */
  listingTraffic(asked: {
    readonly providerId: string;
    readonly fromDay: string;
  }): Promise<readonly ListingTraffic[]>;
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
  const changeLog = new ChangeLog(pool, log);
  const accounts = noticed(new PostgresAccountStore(pool, changeLog), accountNotices, KEY_CHANGES);
  const lanes = { connectionString, log };
  const ledgerBatchStore = new PostgresLedgerBatchStore(pool, changeLog, lanes);
  const reportPool = openReportPool(connectionString, log, reportTimeoutMs);
  const usageReports = new PostgresUsageReports(reportPool);
  return {
    keyStore: accounts,
    accountStore: accounts,
    accountNotices,
    changeLog,
    changeStore: new PostgresChangeStore(pool, changeLog),
    rulesStore: noticed(new PostgresRulesStore(pool, changeLog), accountNotices, [
      "changeLimit",
      "setKeysMaySetOrgLimits",
      "createEndpoint",
      "removeEndpoint",
      "setPolicy",
    ]),
    connectionStore: noticed(new PostgresConnectionStore(pool, changeLog), accountNotices, [
      "create",
      "disable",
    ]),
    identityStore: new PostgresIdentityStore(pool, changeLog),
    usageHoldStore: noticed(new PostgresAbuseRestrictionStore(pool, changeLog), accountNotices, [
      "lift",
    ]),
    customerStore: noticed(new PostgresCustomerStore(pool, changeLog), accountNotices, KEY_CHANGES),
    recordStore: new PostgresRecordStore(pool),
    usageReports,
    usageRollup: new PostgresUsageRollup(pool),
    creditStore: noticed(new PostgresCreditStore(pool, changeLog), accountNotices, ["grant"]),
    purchaseStore: noticed(new PostgresPurchaseStore(pool, changeLog), accountNotices, ["grant"]),
    settlementStore: new PostgresSettlementStore(pool, changeLog),
    ledgerBatchStore,
    verdictStore: new PostgresVerdictStore(pool, changeLog),
    watchStore: new PostgresWatchStore(pool),
    jobStore: new PostgresJobStore(pool),
    retentionStore: new PostgresRetentionStore(pool, changeLog),
    optimizeStore: new PostgresOptimizeStore(pool, changeLog),
    recentUse: new PostgresRecentUse(pool),
    migrate: (by = byGateway("start")) => migrateNoted(pool, changeLog, by),
    checkSchema: () => checkSchema(pool),
    ping: async () => {
      await pool.query("select 1");
    },
    audit: (onProgress) => auditLedger(pool, onProgress),
    flaggedListings: (days) => flaggedListings(pool, days),
    listingTraffic: (asked) => listingTraffic(reportPool, asked),
    close: async () => {
      accountNotices.close();
      await ledgerBatchStore.close();
      await usageReports.close();
      await pool.end();
    },
  };
}

/** The table is there only after the steps: their change follows them. */
async function migrateNoted(
  pool: Pool,
  changeLog: ChangeLog,
  by: ChangedBy,
): Promise<readonly string[]> {
  const steps = await migrateDatabase(pool);
  if (steps.length === 0) return steps;
  await changeLog.write(by, async (_, note) => {
    const what = { orgId: null, target: "schema", before: null, after: { steps } };
    note({ action: "schema.migrate", ...what });
  });
  return steps;
}
