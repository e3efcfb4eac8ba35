import {
  BackupFault,
  type BackupFigures,
  BackupKeeper,
  type BackupManifest,
  type CopyProgress,
  createBackup,
  NO_FIGURES,
  pruneBackups,
  withBackupLock,
} from "../backup/index.ts";
import type { Config } from "../config/index.ts";
import type { Clock, Logger } from "../core/index.ts";
import type { Backend } from "./open-backend.ts";
import { openExportKey } from "./open-retention.ts";

/** What a server has of its backups. */
export interface RunningBackups {
  /** Renewed about four times a minute; one object of plain numbers. */
  readonly figures: BackupFigures;
  close(): Promise<void>;
}

export interface BackupOptions {
  readonly config: Config;
  readonly backend: Backend;
  readonly clock: Clock;
  readonly log: Logger;
}

const ASK_EVERY_MS = 15_000;
const LOCK_WAIT_FAULT =
  "another program makes a backup of this database at the moment; wait for its end";

/**
 * Begins with them. The backups of the embedded server while it serves; of a PostgreSQL of yours
 * only the figures.
 */
export function openBackups(options: BackupOptions): RunningBackups {
  const { config, backend, clock, log } = options;
  const { embedded } = backend;
  if (embedded === undefined) return new ForeignBackups(backend, log);
  const { archive } = embedded;
  if (archive === undefined) return NO_BACKUPS;
  const { backupEveryHours: everyHours, backupKeep: keep } = config;
  const key = openExportKey(config);
  const kept = { server: embedded, archive, key, clock, log, everyHours, keep };
  return new BackupKeeper(kept);
}

/** Makes a copy now, and deletes old ones. */
export async function backUpNow(
  options: Omit<BackupOptions, "log"> & { readonly onProgress: CopyProgress },
): Promise<{
  readonly manifest: BackupManifest;
  readonly folder: string;
  readonly pruned: number;
}> {
  const { config, backend, clock, onProgress } = options;
  const server = backend.embedded;
  if (server === undefined) {
    throw new BackupFault(
      "DATABASE_URL names a PostgreSQL of yours, which has its own backups; see docs/operating/backups.md",
    );
  }
  const { archive } = server;
  if (archive === undefined) {
    throw new BackupFault(
      "backup.folder (TM_BACKUP_FOLDER) is not set; name a folder on another disk",
    );
  }
  const key = openExportKey(config);
  const done = await withBackupLock(server, async (client) => {
    const manifest = await createBackup(client, { server, archive, key, clock, onProgress });
    const pruned = await pruneBackups(archive, config.backupKeep);
    return { manifest, folder: archive.folder, pruned: pruned.backups };
  });
  if (done === undefined) throw new BackupFault(LOCK_WAIT_FAULT);
  return done.value;
}

const NO_BACKUPS: RunningBackups = {
  figures: NO_FIGURES,
  close: () => Promise.resolve(),
};

/** Asks a PostgreSQL of yours how far its own archiving is. */
class ForeignBackups implements RunningBackups {
  readonly #backend: Pick<Backend, "walUnarchivedS">;
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  #work: Promise<void> = Promise.resolve();
  #isFailing = false;
  figures: BackupFigures = NO_FIGURES;

  constructor(backend: Pick<Backend, "walUnarchivedS">, log: Logger) {
    this.#backend = backend;
    this.#log = log;
    this.#timer = setInterval(() => {
      this.#work = this.#ask();
    }, ASK_EVERY_MS).unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#work;
  }

  async #ask(): Promise<void> {
    try {
      const walUnarchivedS = await this.#backend.walUnarchivedS();
      this.figures = { ...NO_FIGURES, walUnarchivedS };
      this.#isFailing = false;
    } catch (fault) {
      if (!this.#isFailing) this.#log.warn({ err: fault }, "the state of archiving is not known");
      this.#isFailing = true;
    }
  }
}
