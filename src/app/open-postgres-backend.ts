import type { Pool } from "pg";

import {
  type AbuseRestrictionStore,
  PostgresAbuseRestrictionStore,
  AccountNotices,
  type AccountStore,
  type ConnectionStore,
  type KeyStore,
  noticed,
  type OrgDirectory,
  PostgresAccountStore,
  PostgresConnectionStore,
  PostgresOrgDirectory,
  PostgresRulesStore,
  type RulesStore,
  type JournalRecentUse,
  PostgresRecentUse,
  flaggedListings,
  type ListingLoss,
  listingLosses,
  type OperatorDesk,
  PostgresOperatorDesk,
  type ListingTraffic,
  type ListingFiguresStore,
  listingTraffic,
  PostgresListingFigures,
  PostgresRecordStore,
  PostgresUsageReports,
  PostgresUsageRollup,
  type RecordStore,
  type UsageReports,
  type UsageRollup,
  PostgresVerdictStore,
  PostgresWatchStore,
  type VerdictStore,
  type WatchStore,
  type JobStore,
  PostgresJobStore,
  type SealedRows,
} from "../gateway/index.ts";
import {
  type AlertQueue,
  type AlertStore,
  PostgresAlertQueue,
  PostgresAlertStore,
  PostgresWebhookSecrets,
  type CompanyStore,
  PostgresCompanyStore,
  PostgresPurchaseStore,
  PostgresStatementClosing,
  PostgresStatementStore,
  PostgresTopUpStore,
  type PurchaseStore,
  type StatementClosing,
  type StatementStore,
  type TopUpStore,
  type IdentityStore,
  PostgresIdentityStore,
  type OptimizeStore,
  PostgresOptimizeStore,
  PostgresTeamStore,
  type TeamStore,
} from "../account/index.ts";
import {
  byGateway,
  type Change,
  type ChangedBy,
  ChangeLog,
  type ChangeStore,
  PostgresChangeStore,
  type Logger,
  checkSchema,
  poolUse,
  type PoolUse,
  readSchema,
  type SchemaState,
} from "../kernel/index.ts";
import {
  auditBooks,
  type AuditCheck,
  type AuditOptions,
  type AuditOutcome,
  type AuditProgress,
  type BooksFigures,
  closeDay,
  type CreditStore,
  dayFacts,
  type FlaggedListing,
  type KnownInstance,
  type LedgerBatchStore,
  PostgresCreditStore,
  PostgresLedgerBatchStore,
  PostgresRetentionStore,
  PostgresSettlementStore,
  readBooksFigures,
  readInstances,
  recordAudit,
  type ReopenedBooks,
  reopenBooks,
  type ReopenRequest,
  type RetentionStore,
  type SettlementStore,
  type SigningKey,
} from "../ledger/index.ts";
import { type DatabaseOptions, openPools, type Pools } from "./open-pools.ts";

/** Verbs that resolve when this process was notified of what they changed. */
const NOTICED = ["createKey", "createOwnKey", "setOrgCap", "editKeys"] as const;

/** Every store of the program in one PostgreSQL database. */
export interface PostgresBackend {
  readonly keyStore: KeyStore;
  readonly accountStore: AccountStore;
  readonly rulesStore: RulesStore;
  readonly usageHoldStore: AbuseRestrictionStore;
  readonly connectionStore: ConnectionStore;
  readonly identityStore: IdentityStore;
  /** For operators. */
  readonly orgDirectory: OrgDirectory;
  readonly operatorDesk: OperatorDesk;
  readonly recordStore: RecordStore;
  /** On connections of its own. */
  readonly usageReports: UsageReports;
  readonly listingFigures: ListingFiguresStore;
  readonly usageRollup: UsageRollup;
  readonly statementStore: StatementStore;
  readonly statementClosing: StatementClosing;
  readonly creditStore: CreditStore;
  readonly purchaseStore: PurchaseStore;
  readonly topUpStore: TopUpStore;
  readonly companyStore: CompanyStore;
  readonly alertStore: AlertStore;
  readonly teamStore: TeamStore;
  readonly alertQueue: AlertQueue;
  /** For operators. */
  readonly webhookSecrets: SealedRows;
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
  /** Brings the schema up to date; returns the names of the steps it ran. */
  migrate(by?: ChangedBy): Promise<readonly string[]>;
  /** The steps that `migrate` would take; changes nothing. */
  readSchema(): Promise<SchemaState>;
  /** Throws unless the schema has what this program needs, and names the next step. */
  checkSchema(): Promise<void>;
  /**
   * The names of settings that the program's sessions lack. Through a pooler in transaction mode
   * they belong to the role, and `migrate` sets them.
   */
  missingSettings(): Promise<readonly string[]>;
  /** Rejects when the database does not answer: readiness. */
  ping(): Promise<void>;
  /** The three proofs of the books, on one snapshot; a long journal reports its progress. */
  audit(onProgress?: (progress: AuditProgress) => void): Promise<readonly AuditCheck[]>;
  /** Begins a new life of the books after a restore. Rejects with `ReopenFault`. */
  reopenBooks(request: ReopenRequest, by: ChangedBy): Promise<ReopenedBooks>;
  /** Audits from the newest trusted checkpoint on, or everything without one. */
  auditBooks(options: AuditOptions): Promise<AuditOutcome>;
  /** Proves the books and signs the balances at the end of a day (YYYY-MM-DD). */
  closeDay(
    day: string,
    options: AuditOptions & { readonly key: SigningKey },
    by: ChangedBy,
  ): Promise<AuditOutcome>;
  /** Attempts and transfers of a day that is over, one JSON document a line, a page at a time. */
  dayFacts(day: string): AsyncIterable<string>;
  /** Listings whose providers reported what cannot be, in the last `days`. */
  flaggedListings(days: number): Promise<readonly FlaggedListing[]>;
  /** Listings that were sold for less than is owed for them, in the last `days`. */
  listingLosses(days: number): Promise<readonly ListingLoss[]>;
  /** The use of a provider by every organization from this UTC day on: a long report. */
  listingTraffic(asked: {
    readonly providerId: string;
    readonly fromDay: string;
  }): Promise<readonly ListingTraffic[]>;
  /** Reads the ledger's own figures with one statement, within a second. */
  readBooksFigures(): Promise<BooksFigures>;
  readInstances(): Promise<readonly KnownInstance[]>;
  /** The age of reports from the replica in milliseconds; undefined if it serves none now. */
  replicaLagMs(): Promise<number | undefined>;
  /** Connections by pool; `lanes` are those of the ledger. */
  connections(): Readonly<Record<"main" | "reports" | "lanes", PoolUse>>;
  close(): Promise<void>;
}

/** Opens the stores; connections are made on first use and remade after a loss. */
export function openPostgresBackend(options: DatabaseOptions): PostgresBackend {
  const pools = openPools(options);
  const { main: pool, sessions, reports, direct } = pools;
  const accountNotices = new AccountNotices(pool, direct, options.log);
  const changeLog = new ChangeLog(pool, options.log);
  const accounts = noticed(new PostgresAccountStore(pool, changeLog), accountNotices, NOTICED);
  const books = { pool: sessions, changes: changeLog };
  const onRenewed = (): void => accountNotices.renew();
  const lanes = { connectionString: direct, log: options.log, onRenewed };
  const ledgerBatchStore = new PostgresLedgerBatchStore(pool, changeLog, lanes);
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
    identityStore: new PostgresIdentityStore({ pool, sessions }, changeLog),
    usageHoldStore: noticed(new PostgresAbuseRestrictionStore(pool, changeLog), accountNotices, [
      "lift",
    ]),
    recordStore: new PostgresRecordStore(pool),
    usageReports: new PostgresUsageReports(reports),
    listingFigures: new PostgresListingFigures(reports),
    usageRollup: new PostgresUsageRollup(sessions),
    creditStore: noticed(new PostgresCreditStore(pool, changeLog), accountNotices, ["grant"]),
    purchaseStore: noticed(new PostgresPurchaseStore(pool, changeLog), accountNotices, ["grant"]),
    ...openAccounting(pools, changeLog),
    ...openPeople(pools, changeLog),
    settlementStore: new PostgresSettlementStore(pool, changeLog),
    ledgerBatchStore,
    verdictStore: new PostgresVerdictStore(pool, changeLog),
    watchStore: new PostgresWatchStore(sessions),
    jobStore: new PostgresJobStore(pool),
    retentionStore: new PostgresRetentionStore(sessions, changeLog),
    optimizeStore: new PostgresOptimizeStore(pool, changeLog),
    recentUse: new PostgresRecentUse(pool),
    ...openSchema(pools, changeLog),
    ping: async () => {
      await pool.query("select 1");
    },
    ...openAudits(books, options.log),
    ...forOperators(pools),
    reopenBooks: (request, by) => reopenBooks(books, request, by),
    readBooksFigures: () => readBooksFigures(pools.main),
    connections: () => ({
      main: poolUse(pool),
      reports: poolUse(pools.primaryReports),
      lanes: ledgerBatchStore.connections,
    }),
    close: async () => {
      accountNotices.close();
      await ledgerBatchStore.close();
      await pools.close();
    },
  };
}

function openAccounting(
  { main, reports }: Pools,
  changes: ChangeLog,
): Pick<PostgresBackend, "topUpStore" | "companyStore" | "statementStore" | "statementClosing"> {
  return {
    topUpStore: new PostgresTopUpStore(main, changes),
    companyStore: new PostgresCompanyStore(main, changes),
    statementStore: new PostgresStatementStore(main, reports),
    statementClosing: new PostgresStatementClosing(main, reports),
  };
}

/** The members of an organization, and the alerts that are sent to them. */
function openPeople(
  { main }: Pools,
  changes: ChangeLog,
): Pick<PostgresBackend, "teamStore" | "alertStore" | "alertQueue" | "webhookSecrets"> {
  return {
    teamStore: new PostgresTeamStore(main, changes),
    alertStore: new PostgresAlertStore(main, changes),
    alertQueue: new PostgresAlertQueue(main, changes),
    webhookSecrets: new PostgresWebhookSecrets(main, changes),
  };
}

function forOperators({
  main,
  reports,
}: Pools): Pick<
  PostgresBackend,
  | "orgDirectory"
  | "operatorDesk"
  | "readInstances"
  | "replicaLagMs"
  | "flaggedListings"
  | "listingLosses"
  | "listingTraffic"
> {
  return {
    flaggedListings: (days) => flaggedListings(main, days),
    listingLosses: (days) => listingLosses(main, days),
    listingTraffic: (asked) => listingTraffic(reports, asked),
    orgDirectory: new PostgresOrgDirectory(main),
    operatorDesk: new PostgresOperatorDesk(main),
    readInstances: () => readInstances(main),
    replicaLagMs: () => reports.replicaLagMs(),
  };
}

function openSchema(
  pools: Pools,
  changeLog: ChangeLog,
): Pick<PostgresBackend, "readSchema" | "migrate" | "checkSchema" | "missingSettings"> {
  const { sessions } = pools;
  return {
    readSchema: () => readSchema(sessions),
    migrate: async (by = byGateway("start")) => {
      const ran = await pools.migrate();
      if (ran.length > 0) await changeLog.write(by, async (_, note) => note(migrated(ran)));
      return ran;
    },
    checkSchema: () => checkSchema(sessions),
    missingSettings: () => pools.missingSettings(),
  };
}

function migrated(steps: readonly string[]): Change {
  return {
    action: "schema.migrate",
    orgId: null,
    target: "schema",
    before: null,
    after: { steps },
  };
}

/** The audits, which read the whole ledger. The result of each is stored for monitoring. */
function openAudits(
  books: { readonly pool: Pool; readonly changes: ChangeLog },
  log: Logger,
): Pick<PostgresBackend, "audit" | "auditBooks" | "closeDay" | "dayFacts"> {
  const { pool } = books;
  const noted = async (audited: Promise<AuditOutcome>): Promise<AuditOutcome> => {
    const outcome = await audited;
    await noteAudit(pool, log, outcome.checks);
    return outcome;
  };
  return {
    audit: async (onProgress) => {
      const progress = onProgress === undefined ? {} : { onProgress };
      return (await noted(auditBooks(pool, { isFull: true, ...progress }))).checks;
    },
    auditBooks: (asked) => noted(auditBooks(pool, asked)),
    closeDay: (day, asked, by) => noted(closeDay({ ...books, by }, day, asked)),
    dayFacts: (day) => dayFacts(pool, day),
  };
}

/** A fault of this does not spoil the audit. */
async function noteAudit(pool: Pool, log: Logger, checks: readonly AuditCheck[]): Promise<void> {
  try {
    await recordAudit(
      pool,
      checks.reduce((sum, check) => sum + check.violations, 0),
    );
  } catch (fault) {
    log.warn({ err: fault }, "the end of this audit could not be recorded for the metrics");
  }
}
