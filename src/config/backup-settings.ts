import { integer, type Setting, text } from "./setting.ts";

export interface BackupConfig {
  readonly backupFolder: string;
  readonly backupEveryHours: number;
  readonly backupKeep: number;
}

/** Backups of the embedded PostgreSQL; a PostgreSQL of yours has its own. */
export const BACKUP_SETTINGS: { readonly [K in keyof BackupConfig]: Setting<BackupConfig[K]> } = {
  backupFolder: text(
    "backup.folder",
    "",
    "Where the embedded PostgreSQL is backed up: its log within a minute, and whole copies. Use another " +
      "disk or a mounted share. Empty: nothing is backed up.",
  ),
  backupEveryHours: integer(
    "backup.every_hours",
    24,
    1,
    "Hours between two whole copies. A restore replays the log since the last one before its time.",
  ),
  backupKeep: integer(
    "backup.keep",
    7,
    1,
    "Whole copies that are kept. Older ones are deleted, with the log that only they need.",
  ),
};
