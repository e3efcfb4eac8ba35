import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { Job } from "../kernel/index.ts";

const LOOK_EVERY_MS = 2_000;
const SETTLE_MS = 200;
const SETTLE_ROUNDS_MAX = 25;

/**
 * Calls `changed` at first and whenever `look` gives another text than before; returns how to stop.
 * It looks again and again: no event tells of a file that is replaced through links, as Kubernetes
 * does it, or of one on the file system of a network.
 */
export function watchState(
  look: () => Promise<string>,
  changed: () => void,
  everyMs: number = LOOK_EVERY_MS,
): () => void {
  let seen = "";
  const job = new Job(
    everyMs,
    async (isStopping) => {
      const now = await settled(look, seen);
      if (now !== seen && !isStopping()) changed();
      seen = now;
    },
    // Who reloads what is there finds the fault too, and says it.
    changed,
  );
  job.startNow();
  return () => void job.close();
}

/** What is there once two looks in a row are the same: who writes files may do it in steps. */
async function settled(look: () => Promise<string>, seen: string): Promise<string> {
  let before = seen;
  for (let round = 0; round < SETTLE_ROUNDS_MAX; round += 1) {
    const now = await look();
    if (now === before) return now;
    before = now;
    await sleep(SETTLE_MS, undefined, { ref: false });
  }
  return before;
}

/** Another text when one of these was written, replaced, made or is gone. Of a folder: its `*.json`. */
export async function stateOf(paths: readonly string[]): Promise<string> {
  const states = paths.map(async (path): Promise<string> => {
    try {
      const file = await stat(path);
      if (!file.isDirectory()) return `${file.ino} ${file.size} ${file.mtimeMs} ${file.ctimeMs}`;
      const names = (await readdir(path)).filter((name) => name.endsWith(".json")).toSorted();
      return `${names.join("/")} ${await stateOf(names.map((name) => join(path, name)))}`;
    } catch (fault) {
      return (fault as { readonly code?: string }).code ?? "away";
    }
  });
  return (await Promise.all(states)).join("\n");
}
