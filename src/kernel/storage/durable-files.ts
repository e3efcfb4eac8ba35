import { open } from "node:fs/promises";

/** Flushes a file or a folder's entries. Call it after all writes: it then has less to do. */
export async function flushPath(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
