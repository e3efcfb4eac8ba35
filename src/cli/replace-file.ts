import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

import { UsageFault } from "./command-context.ts";

/**
 * Puts a new text where the one that was read is: whole or not at all, with the rights of the old
 * file. A file that was edited since is left as it is.
 */
export function replaceFile(
  read: { readonly file: string; readonly text: string },
  text: string,
): void {
  const path = realpathSync(read.file);
  // No reader of a folder takes a name like this for a manifest.
  const draft = join(dirname(path), `.${basename(path)}.${process.pid}.new`);
  try {
    const handle = openSync(draft, "wx", statSync(path).mode);
    try {
      writeSync(handle, text);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    if (readFileSync(path, "utf8") !== read.text) {
      throw new UsageFault(`${read.file}: was edited while it was refreshed; run it again`);
    }
    renameSync(draft, path);
  } catch (fault) {
    rmSync(draft, { force: true });
    throw fault;
  }
}
