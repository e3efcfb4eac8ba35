import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { type PostgresBackend, openPostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { createBackup } from "../../src/app/backup/create-backup.ts";
import {
  type OrgId,
  systemClock as clock,
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from "../../src/kernel/index.ts";
import { addOrg } from "./add-key.ts";
import { silentLog } from "./silent-log.ts";

/** An embedded PostgreSQL with an organization in it, and a folder for copies of the database. */
export interface BackupFixture {
  /** A folder of this test, which contains `data` and `backups`. */
  readonly root: string;
  readonly backups: string;
  readonly server: EmbeddedPostgres;
  readonly backend: PostgresBackend;
  readonly orgId: OrgId;
  backUp(): ReturnType<typeof createBackup>;
  close(): Promise<void>;
}

export async function openBackupFixture(): Promise<BackupFixture> {
  const root = mkdtempSync(join(tmpdir(), "tokenmarket-backup-"));
  chmodSync(root, 0o755);
  const backups = join(root, "backups");
  const server = await startEmbeddedPostgres({ dataDir: join(root, "data"), log: silentLog });
  const backend = openPostgresBackend({ ...server, log: silentLog });
  await backend.migrate();
  const orgId = await addOrg(backend);
  return {
    root,
    backups,
    server,
    backend,
    orgId,
    backUp: () => createBackup(server, { to: backups, clock }),
    close: async () => {
      await backend.close();
      await server.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}
