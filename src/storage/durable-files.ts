import { open, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

/** Other users of the machine cannot read the files of an installation. */
const PRIVATE_MODE = 0o600;

/**
 * Replaces a small file at once: a reader finds the old text or the new one, whole, also after a
 * crash.
 */
export async function replaceText(path: string, text: string): Promise<void> {
  await writeFile(`${path}.partial`, text, { mode: PRIVATE_MODE, flush: true });
  await rename(`${path}.partial`, path);
  await flushPath(dirname(path));
}

/**
 * Makes a file durable, or the names in a folder. Of many new files all are written first, which
 * leaves little to wait for at each.
 */
export async function flushPath(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
