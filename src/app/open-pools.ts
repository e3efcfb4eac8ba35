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

/** The database's address, and how many connections may be opened. */
export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database` */
  readonly connectionString: string;
  /**
   * An address of the same database without a pooler in transaction mode, for work that needs a
   * session to itself: the ledger's lanes, migrations, locks, notifications, snapshots. Default:
   * `connectionString`.
   */
  readonly directConnectionString?: string;
  /** The address of a streaming replica, for reports. Default: they are read from the primary. */
  readonly reportsConnectionString?: string;
  /** Called for each new connection to an address without a password. */
  readonly password?: () => Promise<string>;
  /** How old the replica's data may be, in milliseconds; default 10 seconds. */
  readonly reportsLagMs?: number;
  readonly log: Logger;
  /** Maximum duration of a console report on the journal; default 10 seconds. */
  readonly reportTimeoutMs?: number;
  /** Most connections besides those of reports and of the ledger's lanes; default 10. */
  readonly poolMax?: number;
}

/** The connection pools of one process. */
export interface Pools {
  /** For transactions: no state of a session may outlive its transaction. */
  readonly main: Pool;
  /** For work that needs a session to itself; the same pool as `main` without a pooler. */
  readonly sessions: Pool;
  readonly reports: ReportSources;
  /** Separate connections to the primary for reports. */
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

/** `sessions` is a pool of the primary, whose position is compared with the replica's. */
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
