import { open } from "node:fs/promises";

/**
 * Flushes a file, or the entries of a folder, to disk. Write all files first and flush them
 * afterwards: most of their data is then on disk already.
 */
export async function flushPath(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
