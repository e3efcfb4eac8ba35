import type { Pool } from "pg";

import {
  AccountNotices,
  flaggedListings,
  listingLosses,
  noticed,
  PostgresAbuseRestrictionStore,
  PostgresAccountStore,
  PostgresConnectionStore,
  PostgresJobStore,
  PostgresListingFigures,
  PostgresOperatorDesk,
  PostgresOrgDirectory,
  PostgresRecentUse,
  PostgresRecordStore,
  PostgresRulesStore,
  PostgresUsageReports,
  PostgresUsageRollup,
  PostgresVerdictStore,
  openWatchSession,
} from "../gateway/index.ts";
import {
  PostgresAlertQueue,
  PostgresAlertStore,
  PostgresCompanyStore,
  PostgresIdentityStore,
  PostgresOptimizeStore,
  PostgresPurchaseStore,
  PostgresStatementClosing,
  PostgresStatementStore,
  PostgresTeamStore,
  PostgresTopUpStore,
  PostgresWebhookSecrets,
} from "../account/index.ts";
import {
  byGateway,
  ChangeLog,
  checkSchema,
  type Logger,
  PostgresChangeStore,
  poolUse,
  type Public,
  readSchema,
} from "../kernel/index.ts";
import {
  auditBooks,
  type AuditCheck,
  type AuditOutcome,
  closeDay,
  dayFacts,
  type LedgerBatchStore,
  PostgresCreditStore,
  PostgresLedgerBatchStore,
  PostgresRetentionStore,
  PostgresSettlementStore,
  readBooksFigures,
  readInstances,
  recordAudit,
  reopenBooks,
} from "../ledger/index.ts";
import { type DatabaseOptions, openPools, type Pools } from "./open-pools.ts";

type Opened = ReturnType<typeof openPostgresBackend>;

export type PostgresBackend = {
  readonly [P in keyof Opened]: Opened[P] extends (...given: never) => unknown
    ? Opened[P]
    : Public<Opened[P]>;
};

export function openPostgresBackend(options: DatabaseOptions) {
  const pools = openPools(options);
  const { main: pool, sessions, reports, direct } = pools;
  const accountNotices = new AccountNotices(pool, direct, options.log);
  const changeLog = new ChangeLog(pool, options.log);
  const books = { pool: sessions, changes: changeLog };
  const onRenewed = (): void => accountNotices.renew();
  const lanes = { connectionString: direct, log: options.log, onRenewed };
  const batches = new PostgresLedgerBatchStore(pool, changeLog, lanes);
  const ledgerBatchStore: LedgerBatchStore = batches;
  return {
    accountNotices,
    changeLog,
    changeStore: new PostgresChangeStore(pool, changeLog),
    ...openNoticed(pool, changeLog, accountNotices),
    ...openAccounts(pools, changeLog),
    recordStore: new PostgresRecordStore(pool, reports),
    usageReports: new PostgresUsageReports(reports),
    listingFigures: new PostgresListingFigures(reports),
    usageRollup: new PostgresUsageRollup(sessions),
    settlementStore: new PostgresSettlementStore(pool, changeLog),
    ledgerBatchStore,
    verdictStore: new PostgresVerdictStore(pool, changeLog),
    watchStore: { open: () => openWatchSession(sessions) },
    jobStore: new PostgresJobStore(pool),
    retentionStore: new PostgresRetentionStore(sessions, changeLog),
    /** Reads recent use from the journal, to refill a shared limit store that lost its data. */
    recentUse: new PostgresRecentUse(pool),
    ...openSchema(pools, changeLog),
    ...openAudits(books, options.log),
    ...openOperatorReads(pools),
    /** After a restore, lets instances take traffic again. Rejects with `ReopenFault`. */
    reopenBooks: reopenBooks.bind(undefined, books),
    /** Rejects if the database does not answer; readiness depends on it. */
    ping: async () => {
      await pool.query("select 1");
    },
    connections: () => ({
      main: poolUse(pool),
      reports: poolUse(pools.primaryReports),
      lanes: batches.connections,
    }),
    close: async () => {
      accountNotices.close();
      await batches.close();
      await pools.close();
    },
  };
}

/** The methods named here resolve only after this process has been notified of the change. */
function openNoticed(pool: Pool, changes: ChangeLog, notices: AccountNotices) {
  const accounts = noticed(new PostgresAccountStore(pool, changes), notices, [
    "createKey",
    "createOwnKey",
    "setOrgCap",
    "editKeys",
  ]);
  return {
    keyStore: accounts,
    accountStore: accounts,
    rulesStore: noticed(new PostgresRulesStore(pool, changes), notices, [
      "changeLimit",
      "setKeysMaySetOrgLimits",
      "createEndpoint",
      "removeEndpoint",
      "setPolicy",
    ]),
    connectionStore: noticed(new PostgresConnectionStore(pool, changes), notices, [
      "create",
      "disable",
    ]),
    usageHoldStore: noticed(new PostgresAbuseRestrictionStore(pool, changes), notices, ["lift"]),
    creditStore: noticed(new PostgresCreditStore(pool, changes), notices, ["grant"]),
    purchaseStore: noticed(new PostgresPurchaseStore(pool, changes), notices, ["grant"]),
  };
}

function openAccounts({ main, sessions, reports }: Pools, changes: ChangeLog) {
  return {
    identityStore: new PostgresIdentityStore({ pool: main, sessions }, changes),
    topUpStore: new PostgresTopUpStore(main, changes),
    companyStore: new PostgresCompanyStore(main, changes),
    statementStore: new PostgresStatementStore(main, reports),
    statementClosing: new PostgresStatementClosing(main, reports),
    teamStore: new PostgresTeamStore(main, changes),
    alertStore: new PostgresAlertStore(main, changes),
    alertQueue: new PostgresAlertQueue(main, changes),
    webhookSecrets: new PostgresWebhookSecrets(main, changes),
    optimizeStore: new PostgresOptimizeStore(main, changes),
  };
}

function openOperatorReads({ main, reports }: Pools) {
  return {
    orgDirectory: new PostgresOrgDirectory(main),
    operatorDesk: new PostgresOperatorDesk(main),
    /** Listings whose providers reported impossible usage in the last `days`. */
    flaggedListings: flaggedListings.bind(undefined, main),
    /** Listings that were sold below cost in the last `days`. */
    listingLosses: listingLosses.bind(undefined, main),
    readBooksFigures: () => readBooksFigures(main),
    readInstances: () => readInstances(main),
    /** How old the data of reports from the replica is; undefined if it serves no reports now. */
    replicaLagMs: () => reports.replicaLagMs(),
  };
}

function openSchema(pools: Pools, changeLog: ChangeLog) {
  const { sessions } = pools;
  return {
    readSchema: () => readSchema(sessions),
    migrate: async (by = byGateway("start")): Promise<readonly string[]> => {
      const steps = await pools.migrate();
      const ran = { orgId: null, target: "schema", before: null, after: { steps } };
      if (steps.length > 0) {
        await changeLog.write(by, async (_, note) => note({ action: "schema.migrate", ...ran }));
      }
      return steps;
    },
    checkSchema: () => checkSchema(sessions),
    /**
     * Names of PostgreSQL settings that have other values in sessions than the program needs. Only
     * sessions through a pooler in transaction mode can lack them: they get the settings from the
     * database role, in which `migrate` stores them.
     */
    missingSettings: () => pools.missingSettings(),
  };
}

function openAudits(books: { readonly pool: Pool; readonly changes: ChangeLog }, log: Logger) {
  const { pool } = books;
  const noted = async (audited: Promise<AuditOutcome>): Promise<AuditOutcome> => {
    const outcome = await audited;
    await noteAudit(pool, log, outcome.checks);
    return outcome;
  };
  type Options = Parameters<typeof auditBooks>[1];
  return {
    /** Audits the whole ledger on one snapshot, and calls `onProgress` meanwhile. */
    audit: async (onProgress?: Options["onProgress"]): Promise<readonly AuditCheck[]> => {
      const progress = onProgress === undefined ? {} : { onProgress };
      return (await noted(auditBooks(pool, { isFull: true, ...progress }))).checks;
    },
    /** Audits the ledger from the newest trusted checkpoint on, or all of it if there is none. */
    auditBooks: (asked: Options) => noted(auditBooks(pool, asked)),
    /** Audits the ledger; if it is sound, signs the balances at the end of a day (YYYY-MM-DD). */
    closeDay: (
      day: string,
      asked: Parameters<typeof closeDay>[2],
      by: Parameters<typeof closeDay>[0]["by"],
    ) => noted(closeDay({ ...books, by }, day, asked)),
    /** Attempts and transfers of a past day, page by page, one JSON document per line. */
    dayFacts: (day: string) => dayFacts(pool, day),
  };
}

/** Records an audit's result for the metrics. A failure to record it does not fail the audit. */
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
