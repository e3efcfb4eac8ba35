import { readdir, readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";

import { type Logger, restoreEmbedded } from "../../kernel/index.ts";
import {
  BackupFault,
  type BackupManifest,
  type CopiedFile,
  readManifest,
} from "./backup-manifest.ts";
import { BASE_NAME, FILES, MANIFEST } from "./create-backup.ts";
import { copyFile, isMissing, makeFolder, sideBySide } from "./files.ts";

export interface RestoreOptions {
  /** One copy, or a folder of copies, of which the newest is meant. */
  readonly from: string;
  /** The data folder; it must have no database. */
  readonly dataDir: string;
  readonly log: Logger;
  readonly onProgress?: (line: string) => void;
}

export interface Restored {
  /** The folder of the copy. */
  readonly folder: string;
  readonly manifest: BackupManifest;
  /** Where the database really is: see `EmbeddedPostgres`. */
  readonly dataDir: string;
}

const PROGRESS_FILES = 2_000;

/**
 * Restores a copy into an empty data folder, up to the point of its sums. A file that was changed
 * or is missing is refused by its name, and the folder is empty again.
 */
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
  const names = await readdir(path).catch((fault: unknown) => {
    if (isMissing(fault)) return [];
    throw fault;
  });
  // The names are times, in the order of the alphabet.
  const newest = names
    .filter((name) => BASE_NAME.test(name))
    .sort()
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
  // Without `PG_VERSION` nothing takes the folder for a database: it comes last, from the manifest.
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
