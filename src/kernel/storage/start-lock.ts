import { linkSync, readdirSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isAlive, ownIdentity, readOptional } from "./process-identity.ts";

const POLL_MS = 50;
const WAIT_MS = 90_000;
let locksTaken = 0;

/**
 * Runs `work` while nothing else, in this process or another, has the lock of `folder`. The lock of
 * a dead process is taken over at once, that of a living process never. Throws after 90 s of
 * waiting, or if `signal` is aborted.
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
  // A killed process with the same pid may have left this file. It could be a link to the lock, and
  // writing to it would overwrite the lock.
  rmSync(mine, { force: true });
  try {
    writeFileSync(mine, ownIdentity());
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

/** Makes a hard link to a complete file, so that no process reads a half-written owner. */
function tryLink(mine: string, path: string): boolean {
  try {
    linkSync(mine, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Removes a dead process's lock. The guard file keeps others from taking the lock in between. */
function dropIfStale(mine: string, path: string): void {
  if (!isDead(readOptional(path))) return;
  const guard = `${path}.guard`;
  if (tryLink(mine, guard)) {
    if (isDead(readOptional(path))) unlinkSync(path);
    unlinkSync(guard);
    return;
  }
  // The guard's owner may be dead. The rename lets only one of several waiters remove the guard.
  const owner = readOptional(guard);
  if (!isDead(owner)) return;
  const aside = `${mine}.aside`;
  try {
    renameSync(guard, aside);
  } catch {
    return;
  }
  if (readOptional(aside) !== owner) tryLink(aside, guard);
  rmSync(aside, { force: true });
}

function dropLeftOver(path: string): void {
  const folder = dirname(path);
  const waiting = new RegExp(`^${basename(path)}\\.\\d+\\.\\d+`);
  for (const name of readdirSync(folder).filter((each) => waiting.test(each))) {
    const owner = readOptional(join(folder, name));
    // An empty file is kept: a living process may be about to write its identity into it.
    if (owner !== "" && isDead(owner)) rmSync(join(folder, name), { force: true });
  }
}

function isDead(owner: string | undefined): boolean {
  return owner !== undefined && !isAlive(owner);
}
