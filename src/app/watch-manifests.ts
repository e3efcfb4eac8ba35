import { existsSync, watch, type FSWatcher } from "node:fs";
import { basename, dirname, resolve } from "node:path";

const SETTLE_MS = 200;

/**
 * Calls `changed` shortly after a file of the folder changed, or the missing folder was made; returns
 * how to stop watching.
 */
export function watchManifests(folder: string, changed: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let watcher: FSWatcher;
  const path = resolve(folder);
  const schedule = (): void => {
    // Editors write a file in several steps: wait until they are done.
    clearTimeout(timer);
    timer = setTimeout(changed, SETTLE_MS);
    timer.unref();
  };
  const watchFolder = (): FSWatcher => follow(path, schedule);
  const watchParent = (): FSWatcher =>
    follow(dirname(path), (name) => {
      if (name !== basename(path) || !existsSync(path)) return;
      watcher.close();
      watcher = watchFolder();
      schedule();
    });
  watcher = existsSync(path) ? watchFolder() : watchParent();
  return () => {
    clearTimeout(timer);
    watcher.close();
  };
}

function follow(folder: string, onChange: (name: string | null) => void): FSWatcher {
  const watcher = watch(folder, { persistent: false }, (_event, name) => onChange(name));
  watcher.on("error", () => watcher.close());
  return watcher;
}
