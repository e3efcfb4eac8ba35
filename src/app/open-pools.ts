import type { Pool } from "pg";

import {
  DIRECT_CONNECTIONS_MAX,
  type Logger,
  systemClock,
  migrateDatabase,
  missingSettings,
  openPool,
  openReportPool,
  openSharedPool,
  ReplicaWatch,
  settleRole,
} from "../kernel/index.ts";
import { ReportSources } from "../gateway/index.ts";
import { databaseAddress } from "./database-password.ts";

const REPORT_TIMEOUT_MS = 10_000;
const REPORTS_LAG_MS = 10_000;

export interface DatabaseOptions {
  readonly connectionString: string;
  /**
   * The same database without a pooler, for work that needs its own session: the ledger's batches,
   * migrations, locks, notifications, snapshots. Default: `connectionString`.
   */
  readonly directConnectionString?: string;
  /** A streaming replica for reports. Default: reports are read from the primary. */
  readonly reportsConnectionString?: string;
  /** Returns the password for each new connection to an address that contains none. */
  readonly password?: (() => Promise<string>) | undefined;
  /** How old the replica's data may be. Default: 10 s. */
  readonly reportsLagMs?: number;
  readonly log: Logger;
  /** Time limit of a console report on the journal. Default: 10 s. */
  readonly reportTimeoutMs?: number;
  /** Maximum number of connections of the pool `main`. Default: 10. */
  readonly poolMax?: number;
}

export type Pools = ReturnType<typeof openPools>;

/** The pools open their connections at first use, and again after a connection is lost. */
export function openPools(options: DatabaseOptions) {
  const { connectionString, directConnectionString = connectionString, log, password } = options;
  const isShared = directConnectionString !== connectionString;
  const direct = databaseAddress(directConnectionString, password);
  const address = databaseAddress(connectionString, password);
  const main = (isShared ? openSharedPool : openPool)(address, log, options.poolMax);
  const sessions = isShared ? openPool(direct, log, DIRECT_CONNECTIONS_MAX) : main;
  const reports = openReports(options, sessions);
  return {
    /** Use it for transactions only: a session must keep no state after its transaction. */
    main,
    /** Use it for work that needs its own session. Without a pooler, the same pool as `main`. */
    sessions,
    reports: reports.sources,
    primaryReports: reports.primary,
    direct,
    migrate: async (): Promise<readonly string[]> => {
      const ran = await migrateDatabase(sessions, { log });
      if (isShared) await settleRole(main);
      return ran;
    },
    /** PostgreSQL settings that have other values in sessions of `main` than the program needs. */
    missingSettings: async (): Promise<readonly string[]> =>
      isShared ? await missingSettings(main) : [],
    close: async () => {
      await reports.close();
      if (isShared) await sessions.end();
      await main.end();
    },
  };
}

/** `sessions` must be a pool of the primary, whose WAL position is compared with the replica's. */
function openReports(options: DatabaseOptions, sessions: Pool) {
  const { connectionString, reportsConnectionString: url = "", log, password } = options;
  const { reportTimeoutMs: statementTimeoutMs = REPORT_TIMEOUT_MS } = options;
  const address = databaseAddress(connectionString, password);
  const primary = openReportPool(address, log, statementTimeoutMs);
  const common = { primary, clock: systemClock, statementTimeoutMs };
  if (url === "" || url === connectionString) {
    return { primary, sources: new ReportSources(common), close: () => primary.end() };
  }
  const replica = databaseAddress(url, password);
  const pool = openReportPool(replica, log, statementTimeoutMs);
  // The watch has its own pool: the replica must not seem down while reports use all connections.
  const asked = openPool(replica, log, 1);
  const watch = new ReplicaWatch({
    primary: sessions,
    replica: asked,
    ageMsMax: options.reportsLagMs ?? REPORTS_LAG_MS,
    clock: systemClock,
    log,
  });
  watch.start();
  return {
    primary,
    sources: new ReportSources({ ...common, replica: { pool, watch } }),
    close: async () => {
      watch.close();
      await Promise.all([primary.end(), pool.end(), asked.end()]);
    },
  };
}
