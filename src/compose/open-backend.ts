import type { Logger } from "pino";

import type { Config } from "../config/settings.ts";
import { startEmbeddedPostgres } from "../storage/postgres/embedded-server.ts";
import {
  openPostgresBackend,
  type PostgresBackend,
} from "../storage/postgres/open-postgres-backend.ts";

export interface Backend extends PostgresBackend {
  /** Where the embedded database keeps its files; undefined with a database of yours. */
  readonly dataDir: string | undefined;
  /** Migrations that were run while opening. */
  readonly migrated: readonly string[];
}

export interface BackendOptions {
  readonly config: Config;
  readonly log: Logger;
  /**
   * Start the embedded database again when it dies, until `close`. For programs that stay: a command
   * of a second is started again as easily. Default false.
   */
  readonly isDatabaseKeptUp?: boolean;
}

/**
 * Opens the stores: your PostgreSQL when `DATABASE_URL` names one, else the embedded one, which is
 * shared with every other process on the same data folder and stopped by the last.
 */
export async function openBackend(options: BackendOptions): Promise<Backend> {
  const { config, log } = options;
  const sizes = { reportTimeoutMs: config.reportTimeoutMs, poolMax: config.databasePoolMax };
  if (config.databaseUrl !== "") {
    const { databaseUrl: connectionString } = config;
    const opened = await openMigrated({ connectionString, log, ...sizes });
    return { ...opened, dataDir: undefined };
  }
  const server = await startEmbeddedPostgres({
    dataDir: config.dataDir,
    log,
    isKeptUp: options.isDatabaseKeptUp === true,
  });
  try {
    const { connectionString } = server;
    const opened = await openMigrated({ connectionString, log, ...sizes });
    return {
      ...opened,
      dataDir: server.dataDir,
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

async function openMigrated(
  options: Parameters<typeof openPostgresBackend>[0],
): Promise<PostgresBackend & { readonly migrated: readonly string[] }> {
  const backend = openPostgresBackend(options);
  try {
    const migrated = await backend.migrate();
    return { ...backend, migrated };
  } catch (fault) {
    await backend.close();
    throw fault;
  }
}
