import type { Logger } from "pino";

import type { BackupServer } from "./backup/create-backup.ts";
import {
  type ChangedBy,
  type Config,
  Fault,
  isStoreFault,
  checkServer,
  DatabaseUnfitFault,
  dataFolderProblem,
  hasEmbeddedDatabase,
  startEmbeddedPostgres,
} from "../kernel/index.ts";
import { databaseAddress, databasePassword } from "./database-password.ts";
import type { Logging } from "./logging.ts";
import type { DatabaseOptions } from "./open-pools.ts";
import { openPostgresBackend, type PostgresBackend } from "./open-postgres-backend.ts";

export type Backend = PostgresBackend & {
  /** Folder of the embedded database; undefined for an external database. */
  readonly dataDir: string | undefined;
  /** The embedded server, for backups; undefined for an external database. */
  readonly embedded: BackupServer | undefined;
  readonly migrated: readonly string[];
};

/** Replaces the driver's faults, because some of them have no message. */
export class DatabaseAwayFault extends Fault {
  constructor(cause: unknown) {
    const { message = "", code = "" } = cause as {
      readonly message?: string;
      readonly code?: string;
    };
    super(`the database does not answer (${message || code}); check DATABASE_URL`, { cause });
  }
}

export interface BackendOptions {
  readonly config: Config;
  readonly log: Logger;
  /** Called with the database password at each read of its file, to hide it in the log. */
  readonly hide?: Logging["hide"];
  /** Restarts the embedded database when it dies, until `close`. For servers. Default: false. */
  readonly isDatabaseKeptUp?: boolean;
  /**
   * `migrate` updates or creates the schema. `check`, the default, throws a fault that says what to
   * do if the program cannot use the schema. `any` does neither, for commands about the schema.
   */
  readonly schema?: "migrate" | "check" | "any";
  /** Author of the migration in the change log. Default: this program. */
  readonly by?: ChangedBy;
}

export class NoDatabaseFault extends Fault {}

/** Processes with the same data folder share its embedded server; the last to close stops it. */
export async function openBackend(options: BackendOptions): Promise<Backend> {
  const { config, schema = "check" } = options;
  const password = databasePassword(config, options.hide);
  if (config.databaseUrl !== "") return await openOwn({ ...options, password });
  const named = DATABASE_ADDRESSES.find(({ setting }) => config[setting] !== "");
  if (named !== undefined) {
    throw new NoDatabaseFault(
      `${named.variable} is set and DATABASE_URL is not; set both, or none for the embedded PostgreSQL`,
    );
  }
  const problem = dataFolderProblem(config.dataDir);
  if (problem !== undefined) throw new NoDatabaseFault(problem);
  if (schema !== "migrate" && !hasEmbeddedDatabase(config.dataDir)) {
    throw new NoDatabaseFault(
      `there is no database in ${config.dataDir}; check --data, or make one with ` +
        "`tokenmarket migrate`",
    );
  }
  return await openEmbedded(options);
}

export const DATABASE_ADDRESSES = [
  { setting: "databaseUrl", variable: "DATABASE_URL" },
  { setting: "databaseDirectUrl", variable: "DATABASE_DIRECT_URL" },
  { setting: "databaseReportsUrl", variable: "DATABASE_REPORTS_URL" },
] as const;

async function openOwn(
  options: BackendOptions & Pick<DatabaseOptions, "password">,
): Promise<Backend> {
  const { config, log, password } = options;
  const { databaseUrl: connectionString } = config;
  const directConnectionString = config.databaseDirectUrl || connectionString;
  const isShared = directConnectionString !== connectionString;
  const addresses: Parameters<typeof checkServer>[0] = {
    direct: databaseAddress(directConnectionString, password),
    directSetting: isShared ? "DATABASE_DIRECT_URL" : "DATABASE_URL",
    shared: isShared ? databaseAddress(connectionString, password) : undefined,
    isStorageDurable: config.databaseStorageIsDurable,
  };
  await whileAnswering(checkServer(addresses, log));
  const opened = await openStores(options, {
    connectionString,
    directConnectionString,
    reportsConnectionString: config.databaseReportsUrl,
    reportsLagMs: config.reportsLagMs,
    password,
  });
  const missing = await opened.missingSettings();
  if (missing.includes("synchronous_commit")) {
    await opened.close();
    throw new DatabaseUnfitFault(`${NOT_ON_DISK}; ${SETTLE_POOLER}`);
  }
  if (missing.length > 0) log.warn({ settings: missing }, `${MISSING_SETTINGS}; ${SETTLE_POOLER}`);
  return { ...opened, dataDir: undefined, embedded: undefined };
}

async function openEmbedded(options: BackendOptions): Promise<Backend> {
  const { config, log } = options;
  const server = await startEmbeddedPostgres({
    dataDir: config.dataDir,
    log,
    isKeptUp: options.isDatabaseKeptUp === true,
  });
  try {
    const { connectionString } = server;
    const opened = await openStores(options, { connectionString });
    return {
      ...opened,
      dataDir: server.dataDir,
      embedded: server,
      close: async () => {
        await opened.close();
        await server.stop();
      },
    };
  } catch (fault) {
    await server.stop();
    throw fault;
  }
}

async function openStores(
  { config, log, schema = "check", by }: BackendOptions,
  addresses: Omit<DatabaseOptions, "log">,
): Promise<PostgresBackend & Pick<Backend, "migrated">> {
  const { reportTimeoutMs, databasePoolMax: poolMax } = config;
  const backend = openPostgresBackend({ ...addresses, log, reportTimeoutMs, poolMax });
  try {
    if (schema === "migrate") {
      return { ...backend, migrated: await whileAnswering(backend.migrate(by)) };
    }
    if (schema === "check") await whileAnswering(backend.checkSchema());
    return { ...backend, migrated: [] };
  } catch (fault) {
    await backend.close();
    throw fault;
  }
}

async function whileAnswering<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (fault) {
    throw isStoreFault(fault) ? new DatabaseAwayFault(fault) : fault;
  }
}

const NOT_ON_DISK =
  "commits through DATABASE_URL are answered before they are on disk (synchronous_commit)";
const MISSING_SETTINGS = "sessions through DATABASE_URL do not have the settings that they need";
const SETTLE_POOLER =
  "run `tokenmarket migrate`, which gives them to the role, and let the pooler connect again (RECONNECT)";
