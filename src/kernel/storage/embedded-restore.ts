import { chmodSync, chownSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "../core/fault.ts";
import type { Logger } from "../core/log.ts";
import { findEmbeddedBinaries } from "./embedded-binaries.ts";
import { type EmbeddedHome, openEmbeddedHome, readOrMakePasswords } from "./embedded-home.ts";
import { choosePort, rememberPort } from "./embedded-port.ts";
import { emptyCluster, findServer, launch, resetPassword, stopServer } from "./embedded-process.ts";
import { withStartLock } from "./start-lock.ts";

export class RestoreFault extends Fault {}

export interface EmbeddedRestore {
  /** The data folder, which must not contain a database. */
  readonly dataDir: string;
  readonly log: Logger;
  /** Writes a base backup and its write-ahead log, but no `PG_VERSION`, into the folder. */
  readonly fill: (cluster: string) => Promise<void>;
  /** Content of `PG_VERSION`, which is written last: without it, the folder is not a database. */
  readonly version: string;
  /** The restore point at which the replay ends. A write-ahead log without it is refused. */
  readonly restorePoint: string;
}

/** Replaying a write-ahead log may take hours. If a server stalls, an operator must stop it. */
const REPLAY_WAIT_MS = 24 * 3_600_000;

/**
 * Restores a base backup into an empty data folder and lets the server replay the write-ahead log.
 * Returns the folder that later starts use. After a failure, empties PostgreSQL's folder again.
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
      // The folder has the whole write-ahead log already, so there is nothing to fetch.
      restore_command: "false",
      recovery_target_timeline: "current",
      recovery_target_name: options.restorePoint,
      recovery_target_action: "promote",
      // Without hot standby, the server reports that it is ready only after the replay.
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

/** Makes PostgreSQL's user the owner, and the folders private, as PostgreSQL requires. */
function own(home: EmbeddedHome, folder: string): void {
  const { user } = home;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) own(home, path);
    if (user !== undefined) chownSync(path, user.uid, user.gid);
  }
  chmodSync(folder, 0o700);
}
