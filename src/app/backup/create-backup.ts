import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import type { Client } from "pg";

import { type Clock, type EmbeddedPostgres, flushPath, openClient } from "../../kernel/index.ts";
import {
  BackupFault,
  type BackupManifest,
  type CopiedFile,
  writeManifest,
} from "./backup-manifest.ts";
import { copyFile, isMissing, makeFolder, readEntries, sideBySide, writeFile } from "./files.ts";

export type BackupServer = Pick<EmbeddedPostgres, "adminConnectionString" | "cluster">;

type OnProgress = (line: string) => void;

export const FILES = "files";
export const MANIFEST = "backup.json";
export const BASE_NAME: RegExp = /^base-\d{8}T\d{6}Z$/;
const LABEL = "backup_label";

const CONNECT_TIMEOUT_MS = 5_000;
/** Maximum wait for the lock on `account`. It is short, because other writers wait behind it. */
const SUMS_LOCK_TIMEOUT_MS = 1_000;
const SUMS_TRIES = 20;
const SUMS_PAUSE_MS = 250;

/**
 * Copies the data folder of a running server and its write-ahead log up to a named restore point,
 * with the totals of all accounts at that point. It needs only SQL and file access. The backup is
 * complete when its folder has its final name; a failure before that removes the unfinished copy.
 */
export async function createBackup(
  server: BackupServer,
  options: { readonly to: string; readonly clock: Clock; readonly onProgress?: OnProgress },
): Promise<{ readonly folder: string; readonly manifest: BackupManifest }> {
  const { to, clock, onProgress = () => undefined } = options;
  const name = `base-${new Date(clock.nowMs()).toISOString().replaceAll(/[-:]|\.\d+/g, "")}`;
  const folder = join(resolve(to), name);
  const staged = `${folder}.partial`;
  await makeFolder(to);
  // Without `recursive`, `mkdir` fails if another backup has made this folder in the same second.
  await mkdir(staged, { mode: 0o700 });
  try {
    const { cluster } = server;
    const task = { cluster, target: join(staged, FILES), name, onProgress };
    const manifest = await onServer(server, (client) => copyServer(client, task));
    const made = ["", ...manifest.folders, ...manifest.files.map(({ path }) => path)];
    await sideBySide(made, (path) => flushPath(join(staged, FILES, path)));
    await writeFile(join(staged, MANIFEST), [Buffer.from(writeManifest(manifest))]);
    await flushPath(join(staged, MANIFEST));
    await flushPath(staged);
    await rename(staged, folder);
    await flushPath(resolve(to));
    return { folder, manifest };
  } catch (fault) {
    await rm(staged, { recursive: true, force: true });
    throw fault;
  }
}

const SQLSTATE_ADMIN_SHUTDOWN = "57P01";

async function onServer<T>(
  { adminConnectionString }: BackupServer,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = openClient(adminConnectionString, {
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: "tokenmarket-backup",
  });
  let isLost = false;
  client.on("error", () => (isLost = true));
  try {
    await client.connect();
    return await work(client);
  } catch (fault) {
    const { code } = fault as { readonly code?: string };
    if (!isLost && code !== SQLSTATE_ADMIN_SHUTDOWN) throw fault;
    throw new BackupFault(
      "the server ended the connection: it stopped, or wrote more log meanwhile than it keeps for " +
        "a copy; copy again, at a quieter time or to a faster disk",
      { cause: fault },
    );
  } finally {
    await client.end().catch(() => undefined);
  }
}

interface CopyTask {
  readonly cluster: string;
  readonly target: string;
  readonly name: string;
  readonly onProgress: OnProgress;
}

async function copyServer(client: Client, task: CopyTask): Promise<BackupManifest> {
  const { cluster, target, name, onProgress } = task;
  await keepLog(client);
  const { rows: started } = await client.query<{ lsn: string }>(
    "select pg_backup_start($1, true)::text as lsn",
    [name],
  );
  const copied = await copyCluster(cluster, target, onProgress);
  const label = await stopBackup(client);
  // Without the file `backup_label`, a server would mistake the copy for a complete database.
  const written = await writeFile(join(target, LABEL), [Buffer.from(label)]);
  const point = await markPoint(client, `tokenmarket-${name}`);
  const log = await copyLog(client, task, [started[0]?.lsn ?? "", point.lsn]);
  return {
    finished_at: point.at,
    restore_point: point.name,
    postgres_version: await readFile(join(cluster, "PG_VERSION"), "utf8"),
    sums: point.sums,
    folders: copied.folders,
    files: [...copied.files, { path: LABEL, ...written }, ...log],
  };
}

/**
 * Creates a replication slot, which makes the server keep its write-ahead log until this connection
 * ends or the log outgrows `max_slot_wal_keep_size`. All backups use the same slot name, so that
 * only one backup can run at a time.
 */
async function keepLog(client: Client): Promise<void> {
  try {
    await client.query(
      "select pg_create_physical_replication_slot('tokenmarket_backup', true, true)",
    );
  } catch (fault) {
    if ((fault as { readonly code?: string }).code !== "42710") throw fault;
    throw new BackupFault("another program makes a backup of this database; wait for its end", {
      cause: fault,
    });
  }
}

async function stopBackup(client: Client): Promise<string> {
  const { rows } = await client.query<{ labelfile: string; spcmapfile: string | null }>(
    "select labelfile, spcmapfile from pg_backup_stop(false)",
  );
  const [end] = rows;
  if (end !== undefined && (end.spcmapfile ?? "") === "") return end.labelfile;
  throw new BackupFault("PostgreSQL did not end the base copy as expected");
}

/** Copies the complete segments of the write-ahead log from one position to another. */
async function copyLog(
  client: Client,
  { cluster, target }: CopyTask,
  positions: readonly [from: string, until: string],
): Promise<readonly CopiedFile[]> {
  const { rows } = await client.query<{ name: string }>(SEGMENTS_SQL, [...positions]);
  const files: CopiedFile[] = [];
  for (const { name } of rows) files.push(await copyPresent(cluster, target, `pg_wal/${name}`));
  return files;
}

const SEGMENTS_SQL = `select segment as name from pg_settings s
    cross join generate_series(0, div($2::pg_lsn - $1::pg_lsn, s.setting::numeric) + 1) n
    cross join pg_walfile_name($1::pg_lsn + n * s.setting::numeric) segment
  where s.name = 'wal_segment_size' and segment collate "C" <= pg_walfile_name($2::pg_lsn)
  order by n`;

/** Locks `account` while it makes the restore point, so that the totals are those at that point. */
async function markPoint(client: Client, name: string) {
  for (let tried = 1; ; tried++) {
    try {
      await client.query("begin");
      await client.query(`set local lock_timeout = ${SUMS_LOCK_TIMEOUT_MS}`);
      await client.query("lock table account in share mode");
      const sums = await readSums(client);
      const { rows } = await client.query<{ lsn: string; at: string }>(POINT_SQL, [name]);
      await client.query("commit");
      // Ends the segment that contains the restore point, so that the whole segment can be copied.
      await client.query("select pg_switch_wal()");
      return { name, sums, lsn: rows[0]?.lsn ?? "", at: rows[0]?.at ?? "" };
    } catch (fault) {
      await client.query("rollback");
      const isBusy = (fault as { readonly code?: string }).code === "55P03";
      if (!isBusy || tried === SUMS_TRIES) throw fault;
      await sleep(SUMS_PAUSE_MS);
    }
  }
}

const POINT_SQL = `select pg_create_restore_point($1)::text as lsn,
  to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at`;

/** Reads the totals over all accounts in one statement, and therefore from one snapshot. */
export async function readSums(client: Pick<Client, "query">): Promise<string> {
  const { rows } = await client.query<{ sums: string }>(SUMS_SQL);
  return rows[0]?.sums ?? "";
}

const SUMS_SQL = `select format('%s accounts, debits %s, credits %s, reserved %s', count(*),
  coalesce(sum(debits), 0), coalesce(sum(credits), 0), coalesce(sum(reserved), 0)) as sums
  from account`;

const PROGRESS_FILES = 2_000;
/** Copied without their content. A start needs only that of `pg_wal`, which `copyLog` copies. */
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
/** Files that are not copied: those of the running server process, and those left by a restore. */
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
/** The file that is copied last: it records up to where the write-ahead log must be replayed. */
const CONTROL_FILE = "global/pg_control";

/** Call it in backup mode: the replay of the log repairs files that change during the copy. */
async function copyCluster(
  cluster: string,
  target: string,
  onProgress: OnProgress,
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

async function copyPresent(cluster: string, target: string, path: string): Promise<CopiedFile> {
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
  // The loop does not enter `pg_wal`, so its subfolder, which each server has, is added here.
  folders.push("pg_wal/archive_status");
  return { folders: folders.sort(), files };
}
