import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { BackupFault, type CopiedFile } from "./backup-manifest.ts";
import { isMissing, makeFolder, piecesOf, sideBySide, writePieces } from "./files.ts";

/** What a copy is made of, in the order of their paths. */
export interface CopiedCluster {
  readonly folders: readonly string[];
  readonly files: readonly CopiedFile[];
}

/** How far a long copy has come. */
export type CopyProgress = (done: { readonly files: number; readonly bytes: number }) => void;

const PROGRESS_FILES = 2_000;
/** Only these folders themselves: a server that starts on a copy makes their content. */
const EMPTY_FOLDERS = new Set([
  "pg_dynshmem",
  "pg_notify",
  "pg_replslot",
  "pg_serial",
  "pg_snapshots",
  "pg_stat_tmp",
  "pg_subtrans",
  "pg_wal",
]);
/** Of the running server, and of a restore that this database may come from. */
const LEFT_OUT = new Set([
  "postmaster.pid",
  "postmaster.opts",
  "postgresql.auto.conf.tmp",
  "current_logfiles.tmp",
  "backup_label",
  "backup_label.old",
  "tablespace_map",
  "tablespace_map.old",
  "recovery.signal",
  "standby.signal",
  "backup_manifest",
]);
const LEFT_OUT_ANYWHERE = /^(?:pgsql_tmp|pg_internal\.init)/;
/** Last: it says how far the copy's log has to be replayed at least. */
const CONTROL_FILE = "global/pg_control";

/**
 * Copies the data folder of a running server between the start and the end of a base copy. Files
 * change and go away meanwhile: the log, replayed, makes up for both.
 */
export async function copyCluster(
  cluster: string,
  target: string,
  options: {
    readonly onProgress: CopyProgress | undefined;
    readonly signal: AbortSignal | undefined;
  },
): Promise<CopiedCluster> {
  const { onProgress = () => undefined, signal } = options;
  const found = await walk(cluster);
  for (const folder of ["", ...found.folders]) await makeFolder(join(target, folder));
  const files: CopiedFile[] = [];
  let bytes = 0;
  const ordinary = found.files.filter((path) => path !== CONTROL_FILE);
  await sideBySide(ordinary, async (path) => {
    signal?.throwIfAborted();
    const copied = await copyFile(cluster, target, path);
    if (copied === undefined) return;
    files.push(copied);
    bytes += copied.bytes;
    if (files.length % PROGRESS_FILES === 0) onProgress({ files: files.length, bytes });
  });
  const control = await copyFile(cluster, target, CONTROL_FILE);
  if (control === undefined) throw new BackupFault(`${cluster} has no ${CONTROL_FILE}`);
  files.push(control);
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { folders: found.folders, files };
}

/** Undefined: it has gone meanwhile. */
async function copyFile(
  cluster: string,
  target: string,
  path: string,
): Promise<CopiedFile | undefined> {
  try {
    return { path, ...(await writePieces(join(target, path), piecesOf(join(cluster, path)))) };
  } catch (fault) {
    if (isMissing(fault)) return undefined;
    throw fault;
  }
}

async function walk(cluster: string): Promise<{ folders: string[]; files: string[] }> {
  const folders: string[] = [];
  const files: string[] = [];
  const waiting = [""];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    for (const entry of await entriesOf(join(cluster, folder))) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (LEFT_OUT.has(path) || LEFT_OUT_ANYWHERE.test(entry.name)) continue;
      if (entry.isSymbolicLink()) {
        throw new BackupFault(
          `${path} leads out of the data folder: tablespaces are not backed up`,
        );
      }
      if (entry.isFile()) files.push(path);
      if (!entry.isDirectory()) continue;
      folders.push(path);
      if (!EMPTY_FOLDERS.has(path)) waiting.push(path);
    }
  }
  // Made even where the walk has not met it: a server does not start without.
  if (!folders.includes("pg_wal/archive_status")) folders.push("pg_wal/archive_status");
  return { folders: folders.sort(), files };
}

async function entriesOf(folder: string): ReturnType<typeof readEntries> {
  try {
    return await readEntries(folder);
  } catch (fault) {
    if (isMissing(fault)) return [];
    throw fault;
  }
}

function readEntries(folder: string): Promise<import("node:fs").Dirent[]> {
  return readdir(folder, { withFileTypes: true });
}

export async function readVersion(cluster: string): Promise<string> {
  return await readFile(join(cluster, "PG_VERSION"), "utf8");
}
