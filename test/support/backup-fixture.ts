import { rmSync } from "node:fs";
import { join } from "node:path";

import { openPostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { createBackup } from "../../src/app/backup/create-backup.ts";
import { systemClock as clock, startEmbeddedPostgres } from "../../src/kernel/index.ts";
import { addOrg } from "./add-key.ts";
import { newFolder } from "./run-folder.ts";
import { silentLog } from "./silent-log.ts";

/** Opens an embedded PostgreSQL with an organization, and a folder for copies of the database. */
export async function openBackupFixture() {
  const root = newFolder("backup");
  const backups = join(root, "backups");
  const server = await startEmbeddedPostgres({ dataDir: join(root, "data"), log: silentLog });
  const backend = openPostgresBackend({ ...server, log: silentLog });
  await backend.migrate();
  const orgId = await addOrg(backend);
  return {
    /** Contains `data` and `backups`. */
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
