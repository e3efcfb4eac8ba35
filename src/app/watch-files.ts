import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** A change is noticed within 30 seconds, a mount that is slow for once included. */
const LOOK_EVERY_MS = 10_000;
const SETTLE_MS = 200;
const SETTLE_ROUNDS_MAX = 25;
const BYTES_MAX = 1_048_576;

/**
 * Calls `changed` when one of these files has other contents than before, or is made or gone;
 * returns how to stop. The contents are compared: a file that is replaced through links, as Kubernetes
 * does it, raises no event. Nothing waits for a file system that hangs.
 */
export function watchFiles(
  paths: readonly string[],
  changed: () => void,
  everyMs: number = LOOK_EVERY_MS,
): () => void {
  if (paths.length === 0) return () => undefined;
  const stop = new AbortController();
  const { signal } = stop;
  const watch = async (): Promise<void> => {
    let seen = await look(paths);
    while (!signal.aborted) {
      await sleep(everyMs, undefined, { ref: false, signal });
      const now = await settled(paths, seen, signal);
      if (now !== seen && !signal.aborted) changed();
      seen = now;
    }
  };
  // It ends by the signal only.
  watch().catch(() => undefined);
  return () => stop.abort();
}

/** What the files say once two readings in a row are the same: who writes one may do it in steps. */
async function settled(
  paths: readonly string[],
  seen: string,
  signal: AbortSignal,
): Promise<string> {
  let before = seen;
  for (let round = 0; round < SETTLE_ROUNDS_MAX; round += 1) {
    const now = await look(paths);
    if (now === before) return now;
    before = now;
    await sleep(SETTLE_MS, undefined, { ref: false, signal });
  }
  return before;
}

/** Another text for other contents; it says nothing about them. */
async function look(paths: readonly string[]): Promise<string> {
  return (await Promise.all(paths.map(digest))).join(" ");
}

async function digest(path: string): Promise<string> {
  try {
    const file = await open(path, "r");
    try {
      const stat = await file.stat();
      // Nothing of this program is so large, and a pipe would be waited for.
      if (!stat.isFile() || stat.size > BYTES_MAX) return `unread ${stat.mtimeMs}`;
      return createHash("sha256")
        .update(await file.readFile())
        .digest("base64");
    } finally {
      await file.close();
    }
  } catch (fault) {
    return (fault as { readonly code?: string }).code ?? "away";
  }
}
