import {
  chmodSync,
  chownSync,
  closeSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { Logger } from "../core/index.ts";
import { forgetArchive } from "./embedded-archive.ts";
import { findEmbeddedBinaries } from "./embedded-binaries.ts";
import { type EmbeddedHome, openEmbeddedHome, readOrMakePasswords } from "./embedded-home.ts";
import { choosePort, rememberPort } from "./embedded-port.ts";
import { findServer, launch, resetPassword, stopServer } from "./embedded-process.ts";
import { withStartLock } from "./start-lock.ts";

/** A database that cannot be restored there, or not as it was asked, and why. */
class RestoreFault extends Error {
  override readonly name = "RestoreFault";
}

export interface EmbeddedRestore {
  /** The data folder; it must have no database. */
  readonly dataDir: string;
  readonly log: Logger;
  /** Puts the files of a base copy and its log into the folder, all but `PG_VERSION`. */
  readonly fill: (cluster: string) => Promise<void>;
  /** Its content; without it nothing takes the folder for a database. */
  readonly version: string;
  /**
   * Throws where the replay ended too early. Positions are as PostgreSQL writes them: `0/3000028`.
   */
  readonly judgeEnd: (endLsn: string) => void;
  /** How far the log is replayed: to a named point, to a time (ISO 8601), or to its end. */
  readonly until: { readonly by: "name" | "time"; readonly value: string } | undefined;
}

export interface RestoredDatabase {
  /** Where it really is: see `EmbeddedPostgres`. */
  readonly dataDir: string;
  /**
   * Of the last transaction that is there, as the server wrote it; undefined: none was replayed.
   */
  readonly lastCommit: string | undefined;
}

/** A long log takes its time; a server that does not get on is ended by its operator. */
const REPLAY_WAIT_MS = 24 * 3_600_000;
const LOG_BYTES_MAX = 256 * 1024;

/**
 * Makes the database of an empty data folder from a base copy: fills it, has the server replay the
 * log to its end, and leaves a database that any later start takes as its own. Where that fails,
 * the folder is empty again.
 */
export async function restoreEmbedded(options: EmbeddedRestore): Promise<RestoredDatabase> {
  const home = openEmbeddedHome(options.dataDir);
  return await withStartLock(home.folder, async () => {
    refuseUnlessEmpty(home);
    try {
      // Another database from here on: what it archives must not meet what the old one did.
      forgetArchive(home);
      await options.fill(home.cluster);
      writeFileSync(join(home.cluster, "recovery.signal"), "", { mode: 0o600 });
      writeFileSync(join(home.cluster, "PG_VERSION"), options.version, { mode: 0o600 });
      own(home, home.cluster);
      return await replay(home, options);
    } catch (fault) {
      await stopServer(home);
      emptyCluster(home);
      throw fault;
    }
  });
}

function refuseUnlessEmpty(home: EmbeddedHome): void {
  if (findServer(home) !== undefined) {
    throw new RestoreFault(
      `a database runs in ${home.folder}: nothing is restored over it. Name an empty folder with --data`,
    );
  }
  if (readdirSync(home.cluster).length === 0) return;
  throw new RestoreFault(
    `${home.cluster} is not empty: nothing is restored over a database. Name an empty folder with ` +
      "--data, or move that one away",
  );
}

async function replay(home: EmbeddedHome, options: EmbeddedRestore): Promise<RestoredDatabase> {
  const { log } = options;
  const binaries = findEmbeddedBinaries(home.user, home.binariesRoot);
  const port = await choosePort(home, log);
  const logFile = join(home.folder, "postgres.log");
  const before = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
  const failure = await launch(home, {
    binaries,
    port,
    signal: new AbortController().signal,
    settings: recoverySettings(options.until),
    readyWaitMs: REPLAY_WAIT_MS,
  });
  const written = readEnd(logFile, before);
  if (failure !== undefined) throw replayFault(failure, written);
  rememberPort(home, port);
  const endLsn = readEndLsn(home);
  options.judgeEnd(endLsn);
  await stopServer(home);
  resetPassword(home, { binaries, port }, readOrMakePasswords(home).adminPassword);
  return { dataDir: home.folder, lastCommit: lastCommitOf(written) };
}

/** The whole log lies in the folder already, so there is nowhere to fetch it from. */
function recoverySettings(until: EmbeddedRestore["until"]): Record<string, string> {
  return {
    archive_mode: "off",
    restore_command: "false",
    recovery_target_timeline: "current",
    // Ready only when the replay is over.
    hot_standby: "off",
    ...(until === undefined
      ? {}
      : { recovery_target_action: "promote", [`recovery_target_${until.by}`]: until.value }),
  };
}

function replayFault(failure: string, written: string): Error {
  if (/recovery ended before configured recovery target/.test(`${written} ${failure}`)) {
    const last = lastCommitOf(written);
    return new RestoreFault(
      "the archived log ends before that time" +
        (last === undefined ? "" : `: its last transaction is of ${last}`) +
        "; name an earlier time with --at, or none for all there is",
    );
  }
  return new RestoreFault(`the copy could not be replayed: ${failure}`);
}

function lastCommitOf(written: string): string | undefined {
  return /last completed transaction was at log time (.+)/.exec(written)?.[1]?.trim();
}

/** The history of the line that began when the replay ended says where that was. */
function readEndLsn(home: EmbeddedHome): string {
  const folder = join(home.cluster, "pg_wal");
  const newest = readdirSync(folder)
    .filter((name) => /^[0-9A-F]{8}\.history$/.test(name))
    .sort()
    .at(-1);
  const lines = newest === undefined ? "" : readFileSync(join(folder, newest), "utf8");
  const lsn = lines.trimEnd().split("\n").at(-1)?.split("\t")[1];
  if (lsn !== undefined && /^[0-9A-F]+\/[0-9A-F]+$/.test(lsn)) return lsn;
  throw new RestoreFault("the server did not say where the replayed log ended");
}

function readEnd(path: string, from: number): string {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const start = Math.max(from > size ? 0 : from, size - LOG_BYTES_MAX);
    const buffer = Buffer.alloc(size - start);
    readSync(file, buffer, 0, buffer.length, start);
    return buffer.toString("utf8");
  } finally {
    closeSync(file);
  }
}

/** PostgreSQL starts only on files that are private to its own user. */
function own(home: EmbeddedHome, folder: string): void {
  const { user } = home;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) own(home, path);
    if (user !== undefined) chownSync(path, user.uid, user.gid);
  }
  chmodSync(folder, 0o700);
}

function emptyCluster(home: EmbeddedHome): void {
  for (const name of readdirSync(home.cluster)) {
    rmSync(join(home.cluster, name), { recursive: true, force: true });
  }
}
