import { open } from "node:fs/promises";

/** Flushes a file or a folder's entries. Write all files first: most data is then on disk. */
export async function flushPath(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
