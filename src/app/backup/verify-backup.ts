import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";

import { type Logger, checkSchema, openPool, startEmbeddedPostgres } from "../../kernel/index.ts";
import { auditLedger } from "../../ledger/index.ts";
import { readSums } from "./create-backup.ts";
import { type Restored, restoreBackup, type RestoreOptions } from "./restore-backup.ts";

export interface VerifyOptions extends Pick<RestoreOptions, "from" | "log" | "onProgress"> {
  /** Where the copy is restored to for a while; it needs space for one. */
  readonly scratchDir: string;
}

/** One thing that was proved, or was not. */
export interface BackupCheck {
  readonly id: "copy" | "sums" | "books";
  readonly ok: boolean;
  readonly detail: string;
}

export interface VerifiedBackup {
  readonly folder: string;
  readonly checks: readonly BackupCheck[];
}

/** These checks ask how long attempts have been open, and in a copy all of them have been. */
const ASK_FOR_AGES = new Set(["I9", "I15"]);

/**
 * Proves a copy: restores it beside, starts a server on it, compares the sums and audits the books.
 * Leaves nothing.
 */
export async function verifyBackup(options: VerifyOptions): Promise<VerifiedBackup> {
  const { log, scratchDir } = options;
  await mkdir(scratchDir, { recursive: true });
  const dataDir = await mkdtemp(join(scratchDir, "verify-"));
  // The database's user has to pass this folder; what is below it is that user's own.
  await chmod(dataDir, 0o711);
  let home: string | undefined;
  try {
    const restored = await restoreBackup({ ...options, dataDir });
    home = restored.dataDir;
    const copied = `${restored.manifest.files.length} files are as they were copied`;
    const checks: readonly BackupCheck[] = [
      { id: "copy", ok: true, detail: copied },
      ...(await checkBooks(dataDir, log, restored)),
    ];
    return { folder: restored.folder, checks };
  } finally {
    await rm(dataDir, { recursive: true, force: true });
    // Where the database's user could not enter the folder, the database is in another one.
    if (home !== undefined) await rm(home, { recursive: true, force: true });
  }
}

async function checkBooks(
  dataDir: string,
  log: Logger,
  { manifest }: Restored,
): Promise<readonly BackupCheck[]> {
  const server = await startEmbeddedPostgres({ dataDir, log });
  const pool = openPool(server.connectionString, log, 2);
  try {
    await checkSchema(pool);
    const found = await readSums(pool);
    const isSame = found === manifest.sums;
    const broken = (await auditLedger(pool)).filter(
      ({ id, violations }) => violations > 0 && !ASK_FOR_AGES.has(id),
    );
    const failed = `failed checks: ${broken.map(({ id }) => id).join(", ")}`;
    const ok = broken.length === 0;
    return [
      {
        id: "sums",
        ok: isSame,
        detail: isSame ? found : `found ${found}; noted ${manifest.sums}`,
      },
      { id: "books", ok, detail: ok ? "they balance" : failed },
    ];
  } finally {
    await pool.end();
    await server.stop();
  }
}
