import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";

import type { Clock, Logger } from "../core/index.ts";
import { auditLedger } from "../ledger/index.ts";
import { checkSchema, openPool, startEmbeddedPostgres } from "../storage/index.ts";
import { type AccountSums, BackupFault } from "./backup-manifest.ts";
import { noteVerified } from "./backup-folder.ts";
import { readSums } from "./backup-server.ts";
import {
  neededSegments,
  type Restored,
  restoreBackup,
  type RestoreOptions,
} from "./restore-backup.ts";
import { WalStore } from "./wal-store.ts";

export interface VerifyOptions extends Pick<
  RestoreOptions,
  "from" | "log" | "onProgress" | "trusted"
> {
  /** Where the copy is restored to for a while; it needs space for one. */
  readonly scratchDir: string;
  readonly clock: Clock;
}

/** One thing that was proved, or was not. */
export interface BackupCheck {
  readonly id: "copy" | "log" | "sums" | "books";
  readonly ok: boolean;
  readonly detail: string;
}

export interface VerifiedBackup {
  readonly folder: string;
  readonly checks: readonly BackupCheck[];
}

/** They ask how long attempts have been open, and in a copy all of them have been. */
const ASK_FOR_AGES = new Set(["I9", "I15"]);

/**
 * Proves the newest copy: restores it beside, to its own point, starts a server on it, compares
 * the sums and audits the books; then reads the log behind it to its end. Leaves only a note.
 */
export async function verifyBackup(options: VerifyOptions): Promise<VerifiedBackup> {
  const { clock, log, scratchDir } = options;
  await mkdir(scratchDir, { recursive: true });
  const dataDir = await mkdtemp(join(scratchDir, "verify-"));
  // The database's user passes; what is below is its own.
  await chmod(dataDir, 0o711);
  let home: string | undefined;
  try {
    const restored = await restoreBackup({ ...options, at: "point", dataDir });
    home = restored.dataDir;
    const { manifest, folder } = restored.backup;
    const copied = `${manifest.files.length} files and ${restored.segments} segments are as signed`;
    const checks: readonly BackupCheck[] = [
      { id: "copy", ok: true, detail: copied },
      ...(await checkBooks(dataDir, log, restored)),
      await checkLog(options, restored),
    ];
    if (checks.every(({ ok }) => ok)) {
      await noteVerified(folder, new Date(clock.nowMs()).toISOString());
    }
    return { folder, checks };
  } finally {
    await rm(dataDir, { recursive: true, force: true });
    // Where the database's user could not enter the folder, it was another one.
    if (home !== undefined) await rm(home, { recursive: true, force: true });
  }
}

async function checkBooks(
  dataDir: string,
  log: Logger,
  { backup }: Restored,
): Promise<readonly BackupCheck[]> {
  const server = await startEmbeddedPostgres({ dataDir, log });
  const pool = openPool(server.connectionString, log, 2);
  try {
    await checkSchema(pool);
    const sums = await readSums(pool);
    const broken = (await auditLedger(pool)).filter(
      ({ id, violations }) => violations > 0 && !ASK_FOR_AGES.has(id),
    );
    return [
      compareSums(sums, backup.manifest.sums),
      {
        id: "books",
        ok: broken.length === 0,
        detail:
          broken.length === 0
            ? "they balance"
            : `failed checks: ${broken.map(({ id }) => id).join(", ")}`,
      },
    ];
  } finally {
    await pool.end();
    await server.stop();
  }
}

function compareSums(found: AccountSums, signed: AccountSums): BackupCheck {
  const ok =
    found.accounts === signed.accounts &&
    found.debits === signed.debits &&
    found.credits === signed.credits &&
    found.reserved === signed.reserved;
  const detail = ok
    ? `${signed.accounts} accounts have the sums that were signed`
    : `found ${sumsText(found)}; signed ${sumsText(signed)}`;
  return { id: "sums", ok, detail };
}

function sumsText({ accounts, debits, credits, reserved }: AccountSums): string {
  return `${accounts} accounts, debits ${debits}, credits ${credits}, reserved ${reserved}`;
}

/** The log behind the copy, which a restore to a later time needs. */
async function checkLog(options: VerifyOptions, { backup }: Restored): Promise<BackupCheck> {
  const { manifest, lifeFolder } = backup;
  const trusted = options.trusted === "own" ? manifest.publicKey : options.trusted;
  const store = new WalStore(lifeFolder, manifest.life);
  try {
    const { segments, stored } = await neededSegments(store, { manifest, trusted, at: "end" });
    for (const name of segments) await store.check(name, stored.get(name));
    const until = stored.get(segments.at(-1) ?? "")?.storedAt;
    const end = until === undefined ? "" : `, until ${until}`;
    const detail = `${segments.length} segments without a hole${end}`;
    return { id: "log", ok: true, detail };
  } catch (fault) {
    if (!(fault instanceof BackupFault)) throw fault;
    return { id: "log", ok: false, detail: fault.message };
  }
}
