import { chmodSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { openPostgresBackend } from "../../src/app/open-postgres-backend.ts";
import type { BackupManifest } from "../../src/backup/backup-manifest.ts";
import { withBackupLock } from "../../src/backup/backup-server.ts";
import { createBackup } from "../../src/backup/create-backup.ts";
import { type OrgId, systemClock as clock } from "../../src/core/index.ts";
import { openSigningKey, type SigningKey } from "../../src/ledger/index.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../src/storage/index.ts";
import { silentLog } from "./silent-log.ts";
import { testOperator } from "./test-operator.ts";

/** An embedded PostgreSQL with books in it that is backed up. */
export interface BackupFixture {
  /** A folder of the test's own; below it `data` and `backups`. */
  readonly root: string;
  readonly backups: string;
  readonly key: SigningKey;
  readonly server: EmbeddedPostgres;
  readonly backend: PostgresBackend;
  readonly orgId: OrgId;
  backUp(): Promise<BackupManifest>;
  /** Folder of the newest copy. */
  newest(): string;
  close(): Promise<void>;
}

export async function openBackupFixture(): Promise<BackupFixture> {
  const root = mkdtempSync(join(tmpdir(), "tokenmarket-backup-"));
  chmodSync(root, 0o755);
  const backups = join(root, "backups");
  const options = { dataDir: join(root, "data"), log: silentLog, backupRoot: backups };
  const server = await startEmbeddedPostgres(options);
  const backend = openPostgresBackend({ ...server, log: silentLog });
  await backend.migrate();
  const { orgId } = await backend.accountStore.createOrg(
    { name: "Backed up", email: "books@example.com" },
    testOperator,
  );
  const key = openSigningKey(join(root, "key.pem"));
  const { archive } = server;
  if (archive === undefined) throw new Error("nothing is archived");
  return {
    root,
    backups,
    key,
    server,
    backend,
    orgId,
    backUp: async () => {
      const made = await withBackupLock(server, (client) =>
        createBackup(client, { server, archive, key, clock }),
      );
      if (made === undefined) throw new Error("the lock of the backups is taken");
      return made.value;
    },
    newest: () => {
      const names = readdirSync(archive.folder).filter((name) => /^base-\w+$/.test(name));
      return join(archive.folder, names.sort().at(-1) ?? "");
    },
    close: async () => {
      await backend.close();
      await server.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}
