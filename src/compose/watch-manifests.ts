import { watch } from "node:fs";

const SETTLE_MS = 200;

/** Calls `changed` shortly after a file of the folder changed; returns how to stop watching. */
export function watchManifests(folder: string, changed: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const watcher = watch(folder, { persistent: false }, () => {
    // Editors write a file in several steps: wait until they are done.
    clearTimeout(timer);
    timer = setTimeout(changed, SETTLE_MS);
    timer.unref();
  });
  watcher.on("error", () => watcher.close());
  return () => {
    clearTimeout(timer);
    watcher.close();
  };
}
