import { chmod, mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { basename, join, resolve } from "node:path";

import {
  checkSchema,
  isAlive,
  type Logger,
  openPool,
  ownIdentity,
  restoreEmbedded,
  RestoreFault,
  startEmbeddedPostgres,
} from "../../kernel/index.ts";
import { auditLedger } from "../../ledger/index.ts";
import {
  BackupFault,
  type BackupManifest,
  type CopiedFile,
  readManifest,
} from "./backup-manifest.ts";
import { BASE_NAME, FILES, MANIFEST, readSums } from "./create-backup.ts";
import { copyFile, isMissing, makeFolder, readEntries, sideBySide } from "./files.ts";

interface RestoreOptions {
  /** A backup, or a folder of backups, of which the newest is used. */
  readonly from: string;
  /** The data folder. It must not contain a database. */
  readonly dataDir: string;
  readonly log: Logger;
  readonly onProgress?: (line: string) => void;
}

interface Restored {
  readonly folder: string;
  readonly manifest: BackupManifest;
  /** The folder used: not the requested one if PostgreSQL's user cannot access that. */
  readonly dataDir: string;
}

const PROGRESS_FILES = 2_000;

/** If a file is changed or missing, throws a fault that names it, and leaves the folder empty. */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const { onProgress = () => undefined, log } = options;
  const folder = await findNewest(options.from);
  const manifest = await loadManifest(folder);
  onProgress(`restoring ${folder}, a copy of ${manifest.finished_at}`);
  const dataDir = await restoreEmbedded({
    dataDir: options.dataDir,
    log,
    version: manifest.postgres_version,
    restorePoint: manifest.restore_point,
    fill: async (cluster) => {
      await layFiles({ folder, manifest }, cluster, onProgress);
      onProgress("PostgreSQL replays the log");
    },
  });
  return { folder, manifest, dataDir };
}

async function findNewest(from: string): Promise<string> {
  const path = resolve(from);
  if (BASE_NAME.test(basename(path))) return path;
  const names = (await readEntries(path)).map(({ name }) => name);
  // The folder names contain the time of the backup, so alphabetical order is chronological.
  const newest = names
    .filter((name) => BASE_NAME.test(name))
    .toSorted()
    .at(-1);
  if (newest === undefined) throw new BackupFault(`there is no backup in ${from}; check --from`);
  return join(path, newest);
}

async function loadManifest(folder: string): Promise<BackupManifest> {
  const path = join(folder, MANIFEST);
  try {
    return readManifest(await readFile(path, "utf8"), path);
  } catch (fault) {
    if (!isMissing(fault)) throw fault;
    throw new BackupFault(`${path} is missing`, { cause: fault });
  }
}

async function layFiles(
  { folder, manifest }: Pick<Restored, "folder" | "manifest">,
  cluster: string,
  onProgress: (line: string) => void,
): Promise<void> {
  for (const path of manifest.folders) await makeFolder(join(cluster, path));
  // `PG_VERSION` is written last: without it, no program mistakes the folder for a database.
  const files = manifest.files.filter(({ path }) => path !== "PG_VERSION");
  let done = 0;
  await sideBySide(files, async (file) => {
    await layFile(join(folder, FILES), cluster, file);
    done += 1;
    if (done % PROGRESS_FILES === 0) onProgress(`${done} of ${files.length} files`);
  });
}

async function layFile(from: string, cluster: string, file: CopiedFile): Promise<void> {
  const source = join(from, file.path);
  try {
    const { sha256, bytes } = await copyFile(source, join(cluster, file.path));
    if (sha256 === file.sha256 && bytes === file.bytes) return;
  } catch (fault) {
    if (!isMissing(fault)) throw fault;
    throw new BackupFault(`${source} is missing`, { cause: fault });
  }
  throw new BackupFault(`${source} is not what was copied: it was changed`);
}

interface BackupCheck {
  readonly id: "copy" | "sums" | "books";
  readonly ok: boolean;
  readonly detail: string;
}

/**
 * Ledger checks whose failures are ignored: they also test the age of open attempts, which in a
 * restored copy is at least the age of the backup.
 */
const ASK_FOR_AGES = new Set(["I9", "I15"]);

/**
 * Restores a backup into a temporary folder, compares the totals of the accounts with the manifest,
 * and audits the ledger. A damaged or incomplete backup gives a failed check, not an exception.
 */
export async function verifyBackup(
  options: Omit<RestoreOptions, "dataDir"> & { readonly scratchDir: string },
): Promise<{ readonly folder: string; readonly checks: readonly BackupCheck[] }> {
  const { log, scratchDir } = options;
  const from = await findNewest(options.from);
  await mkdir(scratchDir, { recursive: true });
  await removeLeftovers(scratchDir);
  const dataDir = await mkdtemp(join(scratchDir, `verify-${ownIdentity()}-`));
  // PostgreSQL's user must be able to enter this folder, to reach the folders below, which it owns.
  await chmod(dataDir, 0o711);
  let home: string | undefined;
  try {
    const restored = await restoreBackup({ ...options, from, dataDir });
    home = restored.dataDir;
    const copied = `${restored.manifest.files.length} files are as they were copied`;
    const checks: readonly BackupCheck[] = [
      { id: "copy", ok: true, detail: copied },
      ...(await checkBooks(dataDir, log, restored)),
    ];
    return { folder: restored.folder, checks };
  } catch (fault) {
    if (!(fault instanceof BackupFault || fault instanceof RestoreFault)) throw fault;
    return { folder: from, checks: [{ id: "copy", ok: false, detail: fault.message }] };
  } finally {
    await rm(dataDir, { recursive: true, force: true });
    // If PostgreSQL's user has no access to `dataDir`, the restored database is in another folder.
    if (home !== undefined) await rm(home, { recursive: true, force: true });
  }
}

/** Removes databases of killed runs. If one of their servers still runs, it stops without files. */
async function removeLeftovers(scratchDir: string): Promise<void> {
  for (const name of await readdir(scratchDir)) {
    const owner = /^verify-(\d+-\d+)-\w{6}$/.exec(name)?.[1];
    if (owner === undefined || isAlive(owner)) continue;
    await rm(join(scratchDir, name), { recursive: true, force: true, maxRetries: 5 });
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
    const sums = isSame ? found : `found ${found}; noted ${manifest.sums}`;
    const failed = `failed checks: ${broken.map(({ id }) => id).join(", ")}`;
    const ok = broken.length === 0;
    return [
      { id: "sums", ok: isSame, detail: sums },
      { id: "books", ok, detail: ok ? "they balance" : failed },
    ];
  } finally {
    await pool.end();
    await server.stop();
  }
}
