import { createHash } from "node:crypto";
import type { Dirent } from "node:fs";
import { type FileHandle, mkdir, open, readdir } from "node:fs/promises";

/** A backup contains every customer's data, so other users of the machine must not read it. */
export const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const AT_ONCE = 8;
const PIECE_BYTES = 256 * 1024;

export async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: FOLDER_MODE });
}

/** Copies a file and hashes the written bytes. The copy is durable only after `flushPath`. */
export async function copyFile(from: string, to: string) {
  // Reads without a stream: a stream that fails before it is read would end the process.
  const source = await open(from, "r");
  try {
    return await writeFile(to, readPieces(source));
  } finally {
    await source.close();
  }
}

/** All chunks share one buffer, so each must be used before the next one is requested. */
async function* readPieces(file: FileHandle): AsyncGenerator<Buffer> {
  const { size } = await file.stat();
  const buffer = Buffer.allocUnsafe(Math.min(size + 1, PIECE_BYTES));
  for (;;) {
    const { bytesRead } = await file.read({ buffer });
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

export async function writeFile(path: string, pieces: AsyncIterable<Buffer> | Iterable<Buffer>) {
  const file = await open(path, "w", FILE_MODE);
  try {
    const hash = createHash("sha256");
    let bytes = 0;
    for await (const piece of pieces) {
      hash.update(piece);
      await file.writeFile(piece);
      bytes += piece.length;
    }
    return { bytes, sha256: hash.digest("hex") };
  } finally {
    await file.close();
  }
}

/** Does 8 items at a time. After a fault, starts no more, and throws when the running ones end. */
export async function sideBySide<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const workNext = async (): Promise<void> => {
    for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) {
      try {
        await work(item);
      } catch (fault) {
        waiting.length = 0;
        throw fault;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, workNext));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

/** Returns no entries for a missing folder. */
export async function readEntries(folder: string): Promise<readonly Dirent[]> {
  return await readdir(folder, { withFileTypes: true }).catch((fault: unknown) => {
    if (isMissing(fault)) return [];
    throw fault;
  });
}

export function isMissing(fault: unknown): boolean {
  return fault instanceof Error && "code" in fault && fault.code === "ENOENT";
}
