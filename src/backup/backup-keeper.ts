import type { Client } from "pg";

import type { Clock, Logger } from "../core/index.ts";
import type { SigningKey } from "../ledger/index.ts";
import type { EmbeddedArchive } from "../storage/index.ts";
import { type BackupFigures, NO_FIGURES, readFigures } from "./backup-figures.ts";
import { findBackups, type FoundBackup, ManifestReader } from "./backup-folder.ts";
import { type BackupServer, withBackupLock } from "./backup-server.ts";
import { createBackup } from "./create-backup.ts";
import { pruneBackups } from "./prune-backups.ts";
import { chainFrom, type SegmentName } from "./wal-segments.ts";
import { WalStore } from "./wal-store.ts";

export interface KeeperOptions {
  readonly server: BackupServer;
  readonly archive: EmbeddedArchive;
  readonly key: SigningKey;
  readonly clock: Clock;
  readonly log: Logger;
  readonly everyHours: number;
  readonly keep: number;
  /** Milliseconds between two checks; default 15 s. */
  readonly lookEveryMs?: number;
}

const LOOK_EVERY_MS = 15_000;
/** After a copy that failed: the next one may take as long, and fail as well. */
const RETRY_MS = 5 * 60_000;
const HOUR_MS = 3_600_000;

/**
 * Takes in the archived log, makes copies when they are due, and deletes old ones. Every process
 * on a database has one; of all of them one at a time does the work.
 */
export class BackupKeeper {
  readonly #options: KeeperOptions;
  readonly #stopping = new AbortController();
  readonly #manifests = new ManifestReader();
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<void> = Promise.resolve();
  #figures: BackupFigures = NO_FIGURES;
  #notBeforeMs = 0;

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#schedule(0);
  }

  get figures(): BackupFigures {
    return this.#figures;
  }

  /** Ends a copy that is under way, which leaves nothing; the next start makes it. */
  async close(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#work;
  }

  /** Never keeps the process alive. */
  #schedule(delayMs: number): void {
    const { lookEveryMs = LOOK_EVERY_MS } = this.#options;
    if (this.#stopping.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#work = this.#look().finally(() => this.#schedule(lookEveryMs));
    }, delayMs).unref();
  }

  async #look(): Promise<void> {
    const { log, server } = this.#options;
    try {
      try {
        await withBackupLock(server, (client) => this.#keep(client));
      } finally {
        // Most of all where it failed: alerts read them.
        this.#figures = await readFigures(server, this.#manifests);
      }
    } catch (fault) {
      if (this.#stopping.signal.aborted) return;
      this.#notBeforeMs = this.#options.clock.monotonicMs() + RETRY_MS;
      log.error({ err: fault, folder: this.#options.archive.folder }, "the backup failed");
    }
  }

  async #keep(client: Client): Promise<void> {
    const { archive, clock, everyHours, keep, key, log } = this.#options;
    const store = new WalStore(archive.folder, archive.life);
    await store.takeIn(key, clock);
    const backups = await findBackups(archive.folder, this.#manifests);
    const state = { backups, segments: await store.names() };
    if (clock.monotonicMs() < this.#notBeforeMs || !isDue(state, clock.nowMs(), everyHours)) return;
    const startedMs = clock.monotonicMs();
    const made = await createBackup(client, { ...this.#options, signal: this.#stopping.signal });
    const bytes = made.files.reduce((sum, file) => sum + file.bytes, 0);
    const tookMs = Math.round(clock.monotonicMs() - startedMs);
    log.info(
      { backup: made.name, folder: archive.folder, bytes, tookMs },
      "the database is backed up",
    );
    const pruned = await pruneBackups(archive, keep);
    if (pruned.backups > 0) log.info(pruned, "old backups are deleted");
  }
}

/**
 * A copy is due by its age, and when the log behind the newest one has a hole: no restore passes
 * it.
 */
export function isDue(
  state: {
    readonly backups: readonly FoundBackup[];
    readonly segments: ReadonlySet<SegmentName>;
  },
  nowMs: number,
  everyHours: number,
): boolean {
  const good = state.backups.flatMap(({ manifest }) =>
    typeof manifest === "string" || !manifest.isSigned ? [] : [manifest],
  );
  const newest = good.at(-1);
  if (newest === undefined) return true;
  if (nowMs - Date.parse(newest.finishedAt) >= everyHours * HOUR_MS) return true;
  const chain = chainFrom(state.segments, newest.firstSegment, newest.segmentBytes);
  return chain.missing !== undefined;
}
