import type { KeyObject } from "node:crypto";
import { join } from "node:path";

import type { Logger } from "../core/index.ts";
import { restoreEmbedded, type RestoredDatabase } from "../storage/index.ts";
import { findBackups, type FoundBackup } from "./backup-folder.ts";
import { BackupFault, type CopiedFile, type SignedBackup } from "./backup-manifest.ts";
import { FILES } from "./create-backup.ts";
import { isMissing, makeFolder, piecesOf, sideBySide, writePieces } from "./files.ts";
import { chainFrom, lineOf, nextSegment, type SegmentName, segmentOf } from "./wal-segments.ts";
import { type StoredSegment, WalStore } from "./wal-store.ts";

export interface RestoreOptions {
  /** All backups, those of one database, or one copy. */
  readonly from: string;
  /**
   * ISO 8601; the default is all that was archived. `point`: the copy's own point, and no more.
   */
  readonly at: { readonly time: string } | "end" | "point";
  /**
   * Whose signature is trusted; `own`: of the key that the copy names, which proves no origin.
   */
  readonly trusted: KeyObject | "own";
  /** The data folder; it must have no database. */
  readonly dataDir: string;
  readonly log: Logger;
  readonly onProgress?: (line: string) => void;
}

export interface Restored extends RestoredDatabase {
  readonly backup: FoundBackup & { readonly manifest: SignedBackup };
  readonly segments: number;
  /** Segments that the program had not signed yet when the machine was lost. */
  readonly unsignedSegments: number;
}

/**
 * Segments behind the time that was asked for: one of them has a transaction that ends the replay.
 */
const SEGMENTS_BEHIND = 64;
const PROGRESS_FILES = 2_000;
const PROGRESS_SEGMENTS = 200;

/**
 * Restores a base copy and the log behind it into an empty data folder. Refuses what is not
 * signed, what was changed and what is missing, and says which; the folder is empty again then.
 */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const { onProgress = () => undefined, dataDir, log, at } = options;
  const backup = chooseBackup(await findBackups(options.from), options);
  const { manifest } = backup;
  onProgress(`restoring ${backup.folder}, a copy of ${manifest.finishedAt}`);
  const trusted = options.trusted === "own" ? manifest.publicKey : options.trusted;
  const store = new WalStore(backup.lifeFolder, manifest.life);
  const wal = await neededSegments(store, { manifest, trusted, at });
  const last = wal.segments.at(-1) ?? "";
  const restored = await restoreEmbedded({
    dataDir,
    log,
    version: manifest.postgresVersion,
    fill: async (cluster) => {
      await layFiles(backup, cluster, onProgress);
      await laySegments(store, wal, { folder: join(cluster, "pg_wal"), onProgress });
      onProgress("PostgreSQL replays the log");
    },
    judgeEnd: (endLsn) => {
      // A damaged record ends a replay without a word.
      const end = segmentOf(lineOf(last), endLsn, manifest.segmentBytes);
      if (at !== "end" || end >= last) return;
      throw new BackupFault(
        `the log cannot be replayed beyond segment ${end}: it is damaged there`,
      );
    },
    until: targetOf(manifest, at),
  });
  const unsignedSegments = wal.segments.filter((name) => !wal.stored.has(name)).length;
  return { ...restored, backup, segments: wal.segments.length, unsignedSegments };
}

/** The newest good copy that ends before the time that was asked for. */
export function chooseBackup(
  found: readonly FoundBackup[],
  { from, at, trusted }: Pick<RestoreOptions, "at" | "from" | "trusted">,
): FoundBackup & { readonly manifest: SignedBackup } {
  const problems: string[] = [];
  for (const backup of [...found].reverse()) {
    const { folder, manifest } = backup;
    const problem = problemOf(backup, trusted);
    if (problem !== undefined || typeof manifest === "string") {
      problems.push(problem ?? folder);
      continue;
    }
    if (typeof at === "object" && Date.parse(manifest.finishedAt) > Date.parse(at.time)) {
      problems.push(`${folder} ends at ${manifest.finishedAt}`);
      continue;
    }
    return { ...backup, manifest };
  }
  if (found.length === 0) {
    throw new BackupFault(`there is no backup in ${from}; check --from`);
  }
  const asked = typeof at === "object" ? ` that ends before ${at.time}` : "";
  throw new BackupFault(`there is no usable backup${asked}: ${problems.join("; ")}`);
}

/** What is wrong with a copy's manifest. */
export function problemOf(
  { folder, manifest }: FoundBackup,
  trusted: RestoreOptions["trusted"],
): string | undefined {
  if (typeof manifest === "string") return manifest;
  if (!manifest.isSigned) return `${folder}: the signature is wrong: backup.json was changed`;
  if (trusted === "own" || manifest.publicKey.equals(trusted)) return undefined;
  return `${folder}: the signature is wrong: it is of another key than the one that is trusted`;
}

function targetOf(
  manifest: SignedBackup,
  at: RestoreOptions["at"],
): { readonly by: "name" | "time"; readonly value: string } | undefined {
  if (at === "end") return undefined;
  // That moment has a name, which is more exact than any time.
  if (at === "point" || at.time === manifest.finishedAt) {
    return { by: "name", value: manifest.restorePoint };
  }
  // At its start PostgreSQL knows no names of time zones yet, not even Z.
  return { by: "time", value: at.time.replace("T", " ").replace(/Z$/, "+00") };
}

interface NeededLog {
  readonly segments: readonly SegmentName[];
  readonly stored: ReadonlyMap<SegmentName, StoredSegment>;
}

/** The segments to replay, without a hole. */
export async function neededSegments(
  store: WalStore,
  asked: {
    readonly manifest: SignedBackup;
    readonly trusted: KeyObject;
    readonly at: RestoreOptions["at"];
  },
): Promise<NeededLog> {
  const { manifest, trusted, at } = asked;
  const { firstSegment, lastSegment, segmentBytes } = manifest;
  const { stored, unsigned } = await store.read(trusted);
  if (unsigned > 0) {
    throw new BackupFault(`wal.ndjson: ${unsigned} lines have a wrong signature: it was changed`);
  }
  const present = await store.names();
  const { segments } = chainFrom(present, firstSegment, segmentBytes);
  // The newest were not taken in yet when the machine was lost.
  const waiting = await store.waiting();
  const unlisted = segments.find((name) => !stored.has(name) && !waiting.has(name));
  if (unlisted !== undefined) {
    throw new BackupFault(`segment ${unlisted} of the log is not in wal.ndjson: it was changed`);
  }
  const needed = segments.slice(0, neededCount(segments, { manifest, stored, at }));
  // Some are behind what is needed: whatever is missing later is not asked for.
  if (needed.length < segments.length) return { segments: needed, stored };
  const known = [...present, ...stored.keys(), lastSegment];
  const missing = firstMissing(known, segments, { firstSegment, segmentBytes });
  if (missing === undefined) return { segments, stored };
  throw new BackupFault(
    `segment ${missing} of the log is missing; restore from another copy, or to a time before it`,
  );
}

/** The segment behind the last one that is there, when a later one was ever known. */
function firstMissing(
  known: readonly SegmentName[],
  segments: readonly SegmentName[],
  chain: { readonly firstSegment: SegmentName; readonly segmentBytes: number },
): SegmentName | undefined {
  const last = segments.at(-1);
  const next = last === undefined ? chain.firstSegment : nextSegment(last, chain.segmentBytes);
  return known.some((name) => lineOf(name) === lineOf(next) && name >= next) ? next : undefined;
}

/** A little more than up to the time; the copy alone needs no more than it names. */
function neededCount(
  segments: readonly SegmentName[],
  asked: Pick<NeededLog, "stored"> & {
    readonly manifest: SignedBackup;
    readonly at: RestoreOptions["at"];
  },
): number {
  const { manifest, stored, at } = asked;
  const fromLast = segments.indexOf(manifest.lastSegment);
  if (at === "end" || fromLast < 0) return segments.length;
  if (at === "point") return fromLast + 1;
  const isBehind = (name: SegmentName): boolean =>
    Date.parse(stored.get(name)?.storedAt ?? "") > Date.parse(at.time);
  const found = segments.findIndex(isBehind);
  return found < 0 ? segments.length : Math.max(found, fromLast) + SEGMENTS_BEHIND;
}

async function layFiles(
  { folder, manifest }: Restored["backup"],
  cluster: string,
  onProgress: (line: string) => void,
): Promise<void> {
  for (const path of manifest.folders) await makeFolder(join(cluster, path));
  // Without this file nothing takes the folder for a database: it comes last, from the manifest.
  const files = manifest.files.filter(({ path }) => path !== "PG_VERSION");
  let done = 0;
  await sideBySide(files, async (file) => {
    await layFile(join(folder, FILES), cluster, file);
    done += 1;
    if (done % PROGRESS_FILES === 0) onProgress(`${done} of ${files.length} files`);
  });
}

async function layFile(from: string, cluster: string, file: CopiedFile): Promise<void> {
  try {
    const source = piecesOf(join(from, file.path));
    const { sha256, bytes } = await writePieces(join(cluster, file.path), source);
    if (sha256 === file.sha256 && bytes === file.bytes) return;
  } catch (fault) {
    if (!isMissing(fault)) throw fault;
    throw new BackupFault(`${join(from, file.path)} is missing`, { cause: fault });
  }
  throw new BackupFault(`${join(from, file.path)} is not what was copied: it was changed`);
}

async function laySegments(
  store: WalStore,
  { segments, stored }: NeededLog,
  to: { readonly folder: string; readonly onProgress: (line: string) => void },
): Promise<void> {
  await makeFolder(to.folder);
  for (const [index, name] of segments.entries()) {
    await store.lay(name, join(to.folder, name), stored.get(name));
    if (index % PROGRESS_SEGMENTS === PROGRESS_SEGMENTS - 1) {
      to.onProgress(`${index + 1} of ${segments.length} segments of the log`);
    }
  }
}
