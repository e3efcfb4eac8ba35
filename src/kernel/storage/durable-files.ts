import { open } from "node:fs/promises";

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
