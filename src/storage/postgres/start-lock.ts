import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isAlive, ownIdentity } from "./process-identity.ts";

const POLL_MS = 50;
const WAIT_MS = 90_000;
let locksTaken = 0;

/** Runs `work` while no other process (nor other work of this one) holds the lock of `folder`. */
export async function withStartLock<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const path = join(folder, "start.lock");
  await acquire(path);
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}

async function acquire(path: string): Promise<void> {
  const mine = `${path}.${process.pid}.${locksTaken++}`;
  writeFileSync(mine, ownIdentity());
  try {
    for (let waitedMs = 0; ; waitedMs += POLL_MS) {
      if (tryLink(mine, path)) return;
      dropIfStale(path, `${mine}.stale`);
      if (waitedMs >= WAIT_MS) throw new Error(`another process holds ${path} for too long`);
      await sleep(POLL_MS);
    }
  } finally {
    rmSync(mine, { force: true });
  }
}

/** A link is made with its content at once, so nobody ever reads a half-written owner. */
function tryLink(mine: string, path: string): boolean {
  try {
    linkSync(mine, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function dropIfStale(path: string, aside: string): void {
  const owner = readOwner(path);
  if (owner === undefined || isAlive(owner)) return;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  // Between reading and moving, another waiter may have taken it over: then it goes back.
  if (readOwner(aside) !== owner) tryLink(aside, path);
  rmSync(aside, { force: true });
}

function readOwner(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
