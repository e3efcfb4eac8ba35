import { rename, rm } from "node:fs/promises";

import type { EmbeddedArchive } from "../storage/index.ts";
import { findBackups, type FoundBackup } from "./backup-folder.ts";
import type { SegmentName } from "./wal-segments.ts";
import { WalStore } from "./wal-store.ts";

/** What is not needed any more. */
export interface PrunePlan {
  readonly backups: readonly FoundBackup[];
  /** No copy that is kept needs a segment before this one; undefined: every segment is kept. */
  readonly beforeSegment: SegmentName | undefined;
}

/**
 * Which copies of one database go: all but the newest `keep` good ones. One that cannot be read is
 * never counted as kept, and goes when every kept one is newer. `backups` are the oldest first.
 */
export function planPrune(backups: readonly FoundBackup[], keep: number): PrunePlan {
  const good = backups.filter(({ manifest }) => typeof manifest !== "string" && manifest.isSigned);
  const [oldest] = good.slice(-keep);
  if (oldest === undefined || typeof oldest.manifest === "string") {
    return { backups: [], beforeSegment: undefined };
  }
  return {
    backups: backups.slice(0, backups.indexOf(oldest)),
    beforeSegment: oldest.manifest.firstSegment,
  };
}

/** Deletes old copies of this database, and the log that only they needed. */
export async function pruneBackups(
  archive: EmbeddedArchive,
  keep: number,
): Promise<{ readonly backups: number; readonly segments: number }> {
  const plan = planPrune(await findBackups(archive.folder), keep);
  for (const { folder } of plan.backups) {
    // Under a name that is not a copy's, should this process be killed half-way.
    await rename(folder, `${folder}.partial`);
    await rm(`${folder}.partial`, { recursive: true, force: true });
  }
  const { beforeSegment } = plan;
  const store = new WalStore(archive.folder, archive.life);
  const segments = beforeSegment === undefined ? 0 : await store.prune(beforeSegment);
  return { backups: plan.backups.length, segments };
}
