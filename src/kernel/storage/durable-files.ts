import { open } from "node:fs/promises";

/** Flushes a file or a folder's entries. Call it after all writes, when less is left to flush. */
export async function flushPath(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
