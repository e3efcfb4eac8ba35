import { chmodSync, chownSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "../core/log.ts";
import { findEmbeddedBinaries } from "./embedded-binaries.ts";
import { type EmbeddedHome, openEmbeddedHome, readOrMakePasswords } from "./embedded-home.ts";
import { choosePort, rememberPort } from "./embedded-port.ts";
import { findServer, launch, resetPassword, stopServer } from "./embedded-process.ts";
import { withStartLock } from "./start-lock.ts";

/** A database that cannot be restored there, and why. */
class RestoreFault extends Error {
  override readonly name = "RestoreFault";
}

export interface EmbeddedRestore {
  /** The data folder; it must have no database. */
  readonly dataDir: string;
  readonly log: Logger;
  /** Puts the files of a base copy and its log into the folder, all but `PG_VERSION`. */
  readonly fill: (cluster: string) => Promise<void>;
  /** The content of that file; without it nothing takes the folder for a database. */
  readonly version: string;
  /** The named point up to which the log is replayed; a log that does not reach it is refused. */
  readonly restorePoint: string;
}

/** A long log takes its time; a server that does not get on is ended by its operator. */
const REPLAY_WAIT_MS = 24 * 3_600_000;

/**
 * Makes the database of an empty data folder from a base copy: fills it, has the server replay the
 * log, and leaves a database that any later start takes as its own. Returns where that is. After a
 * failure the folder is empty again.
 */
export async function restoreEmbedded(options: EmbeddedRestore): Promise<string> {
  const home = openEmbeddedHome(options.dataDir);
  return await withStartLock(home.folder, async () => {
    refuseUnlessEmpty(home);
    try {
      await options.fill(home.cluster);
      writeFileSync(join(home.cluster, "recovery.signal"), "", { mode: 0o600 });
      writeFileSync(join(home.cluster, "PG_VERSION"), options.version, { mode: 0o600 });
      own(home, home.cluster);
      await replay(home, options);
      return home.folder;
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

async function replay(home: EmbeddedHome, options: EmbeddedRestore): Promise<void> {
  const binaries = findEmbeddedBinaries(home.user, home.binariesRoot);
  const port = await choosePort(home, options.log);
  const failure = await launch(home, {
    binaries,
    port,
    signal: new AbortController().signal,
    settings: {
      // The whole log lies in the folder already, so there is nowhere to fetch it from.
      restore_command: "false",
      recovery_target_timeline: "current",
      recovery_target_name: options.restorePoint,
      recovery_target_action: "promote",
      // The server is ready only when the replay is over.
      hot_standby: "off",
    },
    readyWaitMs: REPLAY_WAIT_MS,
  });
  if (failure !== undefined) {
    throw new RestoreFault(`the copy could not be replayed: ${failure}`);
  }
  rememberPort(home, port);
  await stopServer(home);
  resetPassword(home, { binaries, port }, readOrMakePasswords(home).adminPassword);
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
