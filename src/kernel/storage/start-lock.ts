import {
  linkSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isAlive, ownIdentity } from "./process-identity.ts";

const POLL_MS = 50;
const WAIT_MS = 90_000;
let locksTaken = 0;

/**
 * Runs `work` while no other process (nor other work of this one) holds the lock of `folder`. A lock
 * whose holder was killed is taken over at once; one of a living holder never. `signal` ends the wait.
 */
export async function withStartLock<T>(
  folder: string,
  work: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const path = join(folder, "start.lock");
  await acquire(path, signal);
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}

async function acquire(path: string, signal: AbortSignal | undefined): Promise<void> {
  const mine = `${path}.${process.pid}.${locksTaken++}`;
  // Where process numbers are repeated, a killed starter of this number may have left its file, and
  // it may be a link to the lock: what is written to it would be written to the lock.
  rmSync(mine, { force: true });
  writeFileSync(mine, ownIdentity());
  try {
    for (let waitedMs = 0; ; waitedMs += POLL_MS) {
      if (tryLink(mine, path)) break;
      dropIfStale(mine, path);
      signal?.throwIfAborted();
      if (waitedMs >= WAIT_MS) throw new Error(`another process has held ${path} for too long`);
      await sleep(POLL_MS);
    }
    dropLeftOver(path);
  } finally {
    rmSync(mine, { force: true });
  }
}

/** A link is made with its content at once, so a half-written owner is never read. */
function tryLink(mine: string, path: string): boolean {
  try {
    linkSync(mine, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/**
 * Removes the lock of a dead holder. Only who has the guard may: between another waiter's check and
 * its removal the lock could else have gone to a living process.
 */
function dropIfStale(mine: string, path: string): void {
  if (!isDead(readOwner(path))) return;
  const guard = `${path}.guard`;
  if (tryLink(mine, guard)) {
    if (isDead(readOwner(path))) unlinkSync(path);
    unlinkSync(guard);
    return;
  }
  // Killed within those three calls: renamed first, so that of several only one removes it.
  const owner = readOwner(guard);
  if (!isDead(owner)) return;
  const aside = `${mine}.aside`;
  try {
    renameSync(guard, aside);
  } catch {
    return;
  }
  if (readOwner(aside) !== owner) tryLink(aside, guard);
  rmSync(aside, { force: true });
}

/** Removes files that killed waiters left lying about. */
function dropLeftOver(path: string): void {
  const folder = dirname(path);
  const waiting = new RegExp(`^${basename(path)}\\.\\d+\\.\\d+`);
  for (const name of readdirSync(folder).filter((each) => waiting.test(each))) {
    const owner = readOwner(join(folder, name));
    // Without a word it is just being written.
    if (owner !== "" && isDead(owner)) rmSync(join(folder, name), { force: true });
  }
}

function isDead(owner: string | undefined): boolean {
  return owner !== undefined && !isAlive(owner);
}

function readOwner(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
