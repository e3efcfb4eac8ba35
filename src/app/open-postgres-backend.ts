import type { Pool } from "pg";

import * as gateway from "../gateway/index.ts";
import * as account from "../account/index.ts";
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
import * as ledger from "../ledger/index.ts";
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
  const accountNotices = new gateway.AccountNotices(pool, direct, options.log);
  const changeLog = new ChangeLog(pool, options.log);
  const books = { pool: sessions, changes: changeLog };
  const onRenewed = (): void => accountNotices.renew();
  const lanes = { connectionString: direct, log: options.log, onRenewed };
  const batches = new ledger.PostgresLedgerBatchStore(pool, changeLog, lanes);
  const ledgerBatchStore: ledger.LedgerBatchStore = batches;
  return {
    accountNotices,
    changeLog,
    changeStore: new PostgresChangeStore(pool, changeLog),
    ...openNoticed(pool, changeLog, accountNotices),
    ...openAccounts(pools, changeLog),
    recordStore: new gateway.PostgresRecordStore(pool, reports),
    usageReports: new gateway.PostgresUsageReports(reports),
    listingFigures: new gateway.PostgresListingFigures(reports),
    usageRollup: { rollSome: () => gateway.rollUsage(sessions) },
    settlementStore: new ledger.PostgresSettlementStore(pool, changeLog),
    ledgerBatchStore,
    verdictStore: new gateway.PostgresVerdictStore(pool, changeLog),
    watchStore: { open: () => gateway.openWatchSession(sessions) },
    jobStore: new gateway.PostgresJobStore(pool),
    retentionStore: new ledger.PostgresRetentionStore(sessions, changeLog),
    /** Reads recent use from the journal, to refill a shared limit store that lost its data. */
    recentUse: gateway.readRecentUse.bind(undefined, pool),
    ...openSchema(pools, changeLog),
    ...openAudits(books, options.log),
    ...openOperatorReads(pools),
    /** After a restore, lets instances take traffic again. Rejects with `ReopenFault`. */
    reopenBooks: ledger.reopenBooks.bind(undefined, books),
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

/** Stores whose listed methods resolve only after this process was notified of the change. */
function openNoticed(pool: Pool, changes: ChangeLog, notices: gateway.AccountNotices) {
  const noticed = <T extends object>(store: T, verbs: readonly (keyof T)[]): T =>
    gateway.noticed(store, notices, verbs);
  const accounts = noticed(new gateway.PostgresAccountStore(pool, changes), [
    "createKey",
    "createOwnKey",
    "setOrgCap",
    "editKeys",
  ]);
  return {
    keyStore: accounts,
    accountStore: accounts,
    rulesStore: noticed(new gateway.PostgresRulesStore(pool, changes), [
      "changeLimit",
      "setKeysMaySetOrgLimits",
      "createEndpoint",
      "removeEndpoint",
      "setPolicy",
    ]),
    connectionStore: noticed(new gateway.PostgresConnectionStore(pool, changes), [
      "create",
      "disable",
    ]),
    usageHoldStore: noticed(new gateway.PostgresAbuseRestrictionStore(pool, changes), ["lift"]),
    creditStore: noticed(new ledger.PostgresCreditStore(pool, changes), ["grant"]),
    purchaseStore: noticed(new account.PostgresPurchaseStore(pool, changes), ["grant"]),
  };
}

function openAccounts({ main, sessions, reports }: Pools, changes: ChangeLog) {
  return {
    identityStore: new account.PostgresIdentityStore({ pool: main, sessions }, changes),
    topUpStore: new account.PostgresTopUpStore(main, changes),
    companyStore: new account.PostgresCompanyStore(main, changes),
    statementStore: new account.PostgresStatementStore(main, reports),
    statementClosing: new account.PostgresStatementClosing(main, reports),
    teamStore: new account.PostgresTeamStore(main, changes),
    alertStore: new account.PostgresAlertStore(main, changes),
    alertQueue: new account.PostgresAlertQueue(main, changes),
    webhookSecrets: new account.PostgresWebhookSecrets(main, changes),
    optimizeStore: new account.PostgresOptimizeStore(main, changes),
  };
}

function openOperatorReads({ main, reports }: Pools) {
  return {
    orgDirectory: new gateway.PostgresOrgDirectory(main),
    operatorDesk: new gateway.PostgresOperatorDesk(main),
    /** Listings whose providers reported impossible usage in the last `days`. */
    flaggedListings: gateway.flaggedListings.bind(undefined, main),
    /** Listings that were sold below cost in the last `days`. */
    listingLosses: gateway.listingLosses.bind(undefined, main),
    readBooksFigures: () => ledger.readBooksFigures(main),
    readInstances: () => ledger.readInstances(main),
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
    /** Settings that sessions through a pooler lack; `migrate` stores them in the role. */
    missingSettings: () => pools.missingSettings(),
  };
}

function openAudits(books: { readonly pool: Pool; readonly changes: ChangeLog }, log: Logger) {
  const { pool } = books;
  const noted = async (audited: Promise<ledger.AuditOutcome>): Promise<ledger.AuditOutcome> => {
    const outcome = await audited;
    const violations = outcome.checks.reduce((sum, check) => sum + check.violations, 0);
    await ledger.recordAudit(pool, violations).catch((err: unknown) => {
      log.warn({ err }, "the end of this audit could not be recorded for the metrics");
    });
    return outcome;
  };
  type Options = Parameters<typeof ledger.auditBooks>[1];
  return {
    /** Audits the whole ledger on one snapshot. */
    audit: async (): Promise<readonly ledger.AuditCheck[]> =>
      (await noted(ledger.auditBooks(pool, { isFull: true }))).checks,
    /** Audits from the newest trusted checkpoint on; if there is none or `isFull` is set, all. */
    auditBooks: (asked: Options) => noted(ledger.auditBooks(pool, asked)),
    /** Audits the ledger; if it is sound, signs the balances at the end of a day (YYYY-MM-DD). */
    closeDay: (
      day: string,
      asked: Parameters<typeof ledger.closeDay>[2],
      by: Parameters<typeof ledger.closeDay>[0]["by"],
    ) => noted(ledger.closeDay({ ...books, by }, day, asked)),
    /** Attempts and transfers of a past day, page by page, one JSON document per line. */
    dayFacts: (day: string) => ledger.dayFacts(pool, day),
  };
}
