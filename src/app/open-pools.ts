import type { Pool } from "pg";

import {
  DIRECT_CONNECTIONS_MAX,
  type Logger,
  systemClock,
  type DatabaseAddress,
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

/** Where the database is, and how many connections of it are taken. */
export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database` */
  readonly connectionString: string;
  /**
   * The address of the same database at which a session belongs to this program: for the ledger's
   * lanes, migrations, locks, notifications and snapshots. The other one may then be a pooler in
   * transaction mode. Default: the same address.
   */
  readonly directConnectionString?: string;
  /** The address of a streaming replica, for reports. Default: they are read from the primary. */
  readonly reportsConnectionString?: string;
  /** Asked for each new connection to an address that has none. */
  readonly password?: () => Promise<string>;
  /** How old the replica's data may be, in milliseconds; default 10 seconds. */
  readonly reportsLagMs?: number;
  readonly log: Logger;
  /** Maximum duration of a console report on the journal; default 10 seconds. */
  readonly reportTimeoutMs?: number;
  /** Most connections besides those of reports and of the ledger's lanes; default 10. */
  readonly poolMax?: number;
}

/** The connections of one process, but for those that are not lent. */
export interface Pools {
  /** Nothing of a session outlives its transaction. */
  readonly main: Pool;
  /** A session belongs to the one who has it: the same as `main` unless that leads through a pooler. */
  readonly sessions: Pool;
  readonly reports: ReportSources;
  /** The primary, on connections of its own. */
  readonly primaryReports: Pool;
  /** Address for sessions that are opened elsewhere. */
  readonly direct: DatabaseAddress;
  migrate(): Promise<readonly string[]>;
  /** Names of the program's settings that sessions of `main` do not have. */
  missingSettings(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Opens the pools; connections are made on first use and remade after a loss. */
export function openPools(options: DatabaseOptions): Pools {
  const { connectionString, directConnectionString = connectionString, log, password } = options;
  const isShared = directConnectionString !== connectionString;
  const direct = databaseAddress(directConnectionString, password);
  const address = databaseAddress(connectionString, password);
  const main = (isShared ? openSharedPool : openPool)(address, log, options.poolMax);
  const sessions = isShared ? openPool(direct, log, DIRECT_CONNECTIONS_MAX) : main;
  const reports = openReports(options, sessions);
  return {
    main,
    sessions,
    reports: reports.sources,
    primaryReports: reports.primary,
    direct,
    migrate: async () => {
      const ran = await migrateDatabase(sessions, { log });
      if (isShared) await settleRole(main);
      return ran;
    },
    missingSettings: async () => (isShared ? await missingSettings(main) : []),
    close: async () => {
      await reports.close();
      if (isShared) await sessions.end();
      await main.end();
    },
  };
}

interface OpenReports {
  readonly primary: Pool;
  readonly sources: ReportSources;
  close(): Promise<void>;
}

/** `sessions`: of the primary, to ask how far it is. */
function openReports(options: DatabaseOptions, sessions: Pool): OpenReports {
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
  // A pool of its own: a report that holds every connection does not make the replica appear away.
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
