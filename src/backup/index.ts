export { BackupFault } from "./backup-manifest.ts";
export { type BackupServer, createBackup } from "./create-backup.ts";
export { restoreBackup } from "./restore-backup.ts";
export { verifyBackup } from "./verify-backup.ts";
