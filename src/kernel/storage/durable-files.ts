import { open } from "node:fs/promises";

/** Flushes a file or a folder's entries. Cheaper after all writes: most is then on disk already. */
export async function flushPath(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
