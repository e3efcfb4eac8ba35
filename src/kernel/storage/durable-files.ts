import { open } from "node:fs/promises";

/**
 * Flushes a file, or the names in a folder, to disk. If there are many new files, write them all
 * first: then little is left to wait for at each.
 */
export async function flushPath(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
