import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";

import { BackupFault, type CopiedFile } from "./backup-manifest.ts";
import { copyFile, isMissing, makeFolder, sideBySide } from "./files.ts";

const PROGRESS_FILES = 2_000;
/** Only these folders themselves are copied: a server that starts on a copy makes their content. */
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
/** These files belong to the running server, or to a restore that this database came from. */
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
/** It is copied last, because it says how far the log has to be replayed at least. */
const CONTROL_FILE = "global/pg_control";

/**
 * Copies the data folder of a running server between the start and the end of a base copy. Files
 * change and go away meanwhile: the log, replayed, makes up for both.
 */
export async function copyCluster(
  cluster: string,
  target: string,
  onProgress: (line: string) => void,
): Promise<{ readonly folders: readonly string[]; readonly files: CopiedFile[] }> {
  const found = await walk(cluster);
  for (const folder of ["", ...found.folders]) await makeFolder(join(target, folder));
  const files: CopiedFile[] = [];
  const ordinary = found.files.filter((path) => path !== CONTROL_FILE);
  await sideBySide(ordinary, async (path) => {
    const copied = await copyUnlessGone(cluster, target, path);
    if (copied === undefined) return;
    files.push(copied);
    if (files.length % PROGRESS_FILES === 0) onProgress(`${files.length} files are copied`);
  });
  files.push(await copyPresent(cluster, target, CONTROL_FILE));
  return { folders: found.folders, files };
}

/** Copies a file that has to be there. */
export async function copyPresent(
  cluster: string,
  target: string,
  path: string,
): Promise<CopiedFile> {
  const copied = await copyUnlessGone(cluster, target, path);
  if (copied === undefined) throw new BackupFault(`${cluster} has no ${path}`);
  return copied;
}

async function copyUnlessGone(
  cluster: string,
  target: string,
  path: string,
): Promise<CopiedFile | undefined> {
  try {
    return { path, ...(await copyFile(join(cluster, path), join(target, path))) };
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
    for (const entry of await readEntries(join(cluster, folder))) {
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
  // The walk does not enter `pg_wal`, and a server does not start without this folder.
  folders.push("pg_wal/archive_status");
  return { folders: folders.sort(), files };
}

async function readEntries(folder: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (fault) {
    if (isMissing(fault)) return [];
    throw fault;
  }
}
