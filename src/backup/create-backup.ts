import { open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

import type { Client } from "pg";

import type { Clock } from "../core/index.ts";
import type { SigningKey } from "../ledger/index.ts";
import { type EmbeddedArchive, flushPath } from "../storage/index.ts";
import {
  BackupFault,
  type BackupManifest,
  signBackup,
  type AccountSums,
} from "./backup-manifest.ts";
import { type BackupServer, readSums } from "./backup-server.ts";
import { copyCluster, type CopyProgress, readVersion } from "./copy-cluster.ts";
import { FILE_MODE, makeFolder, sideBySide, writePieces } from "./files.ts";
import { lineOf, segmentOf } from "./wal-segments.ts";
import { WalStore } from "./wal-store.ts";

export interface CreateOptions {
  readonly server: BackupServer;
  readonly archive: EmbeddedArchive;
  readonly key: SigningKey;
  readonly clock: Clock;
  readonly onProgress?: CopyProgress;
  /** Ends a copy that is under way; nothing of it is left. */
  readonly signal?: AbortSignal;
}

/** In which a copy's files are, beside its `backup.json`. */
export const FILES = "files";
export const MANIFEST = "backup.json";
const LABEL = "backup_label";
export const BASE_NAME: RegExp = /^base-\d{8}T\d{6}Z$/;

const ARCHIVE_WAIT_MS = 120_000;
const ARCHIVE_POLL_MS = 50;
/** Writers of the books wait for the sums at most so long, and the sums for them. */
const SUMS_LOCK_TIMEOUT_MS = 1_000;
const SUMS_TRIES = 20;
const SUMS_PAUSE_MS = 250;

/**
 * Makes a base copy of the running server over SQL alone: start, copy, end, then a named point in
 * the log at which the sums of all accounts are known exactly. It is there, whole, once its folder
 * has its name. `client` has the lock of the backups.
 */
export async function createBackup(
  client: Client,
  options: CreateOptions,
): Promise<BackupManifest> {
  const { archive, server, clock, key } = options;
  await dropUnfinished(archive);
  const startedAt = new Date(clock.nowMs()).toISOString();
  const name = `base-${startedAt.replaceAll(/[-:]|\.\d+/g, "")}`;
  const staged = join(archive.folder, `${name}.partial`);
  try {
    await makeFolder(staged);
    const copy = await copyFiles(client, name, join(staged, FILES), options);
    const point = await markPoint(client, `tokenmarket-${archive.life}-${name}`);
    const lastSegment = segmentOf(lineOf(copy.firstSegment), point.lsn, copy.segmentBytes);
    const store = new WalStore(archive.folder, archive.life);
    await waitUntilArchived(store, lastSegment, options);
    await store.takeIn(key, clock);
    const manifest: BackupManifest = {
      name,
      life: archive.life,
      startedAt,
      finishedAt: point.at,
      postgresVersion: await readVersion(server.cluster),
      schema: await readSchema(client),
      firstSegment: copy.firstSegment,
      lastSegment,
      segmentBytes: copy.segmentBytes,
      restorePoint: point.name,
      sums: point.sums,
      folders: copy.folders,
      files: copy.files,
    };
    await publish(archive, staged, manifest, signBackup(manifest, key));
    return manifest;
  } catch (fault) {
    await rm(staged, { recursive: true, force: true });
    throw fault;
  }
}

type Copy = Pick<BackupManifest, "files" | "firstSegment" | "folders" | "segmentBytes">;

async function copyFiles(
  client: Client,
  name: string,
  target: string,
  { server, onProgress, signal }: CreateOptions,
): Promise<Copy> {
  await refuseUnlessArchiving(client, server);
  await client.query("select pg_backup_start($1, true)", [name]);
  const copied = await copyCluster(server.cluster, target, { onProgress, signal });
  const { rows } = await client.query<{
    label: string;
    tablespaces: string;
    segment_bytes: string;
  }>(STOP_SQL);
  const [end] = rows;
  const firstSegment = /^START WAL LOCATION: .*\(file ([0-9A-F]{24})\)/.exec(end?.label ?? "")?.[1];
  if (end === undefined || firstSegment === undefined || end.tablespaces !== "") {
    throw new BackupFault("PostgreSQL did not end the base copy as expected");
  }
  // A server that starts on a copy without it would take the copy for a whole database.
  const label = await writePieces(join(target, LABEL), Readable.from([Buffer.from(end.label)]));
  return {
    folders: copied.folders,
    files: [...copied.files, { path: LABEL, ...label }],
    firstSegment,
    segmentBytes: Number(end.segment_bytes),
  };
}

const STOP_SQL = `select labelfile as label, coalesce(spcmapfile, '') as tablespaces,
  (select setting from pg_settings where name = 'wal_segment_size') as segment_bytes
  from pg_backup_stop(false)`;

async function refuseUnlessArchiving(client: Client, { archive }: BackupServer): Promise<void> {
  const { rows } = await client.query<{ mode: string; folder: string | null }>(
    `select current_setting('archive_mode') as mode,
      current_setting('basic_archive.archive_directory', true) as folder`,
  );
  if (rows[0]?.mode === "on" && rows[0].folder === archive?.wal) return;
  throw new BackupFault(
    "the embedded PostgreSQL was started before backup.folder was set, and archives nothing: stop every " +
      "program that uses this data folder, then start again",
  );
}

interface RestorePoint {
  readonly name: string;
  readonly at: string;
  readonly lsn: string;
  readonly sums: AccountSums;
}

/**
 * A point in the log, and the sums of the accounts at exactly that point: no account changes
 * between the two, since the table is locked for as long as its rows are added up.
 */
async function markPoint(client: Client, name: string): Promise<RestorePoint> {
  for (let tried = 1; ; tried++) {
    try {
      await client.query("begin");
      await client.query(`set local lock_timeout = ${SUMS_LOCK_TIMEOUT_MS}`);
      await client.query("lock table account in share mode");
      const sums = await readSums(client);
      const { rows } = await client.query<{ lsn: string; at: string }>(POINT_SQL, [name]);
      await client.query("commit");
      // Ended early, so that the copy is whole now and not in a minute.
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

async function waitUntilArchived(
  store: WalStore,
  segment: string,
  { server: { dataDir }, signal }: CreateOptions,
): Promise<void> {
  for (let waitedMs = 0; waitedMs < ARCHIVE_WAIT_MS; waitedMs += ARCHIVE_POLL_MS) {
    if (await store.has(segment)) return;
    await sleep(ARCHIVE_POLL_MS, undefined, { signal });
  }
  throw new BackupFault(
    `the server does not archive its log; ${join(dataDir, "postgres.log")} says why`,
  );
}

async function readSchema(client: Client): Promise<string> {
  const { rows } = await client.query<{ name: string }>(
    "select name from schema_step order by name desc limit 1",
  );
  return rows[0]?.name ?? "";
}

/** The manifest comes last within the folder, and the name of the folder last of all. */
async function publish(
  archive: EmbeddedArchive,
  staged: string,
  { name, files, folders }: BackupManifest,
  text: string,
): Promise<void> {
  const made = ["", ...folders, ...files.map(({ path }) => path)];
  await sideBySide(made, (path) => flushPath(join(staged, FILES, path)));
  const file = await open(join(staged, MANIFEST), "wx", FILE_MODE);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await flushPath(staged);
  await rename(staged, join(archive.folder, name));
  await flushPath(archive.folder);
}

/** What a run that was killed left behind. */
async function dropUnfinished({ folder }: EmbeddedArchive): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!/^base-\w+\.partial$/.test(name)) continue;
    await rm(join(folder, name), { recursive: true, force: true });
  }
}
