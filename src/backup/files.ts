import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open } from "node:fs/promises";

/** Backups hold every customer's data: other users of the machine cannot read them. */
export const FILE_MODE = 0o600;
export const FOLDER_MODE = 0o700;
const AT_ONCE = 8;
const PIECE_BYTES = 256 * 1024;

export interface WrittenFile {
  readonly bytes: number;
  readonly sha256: string;
}

export async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: FOLDER_MODE });
}

/**
 * Writes a new file of these pieces; `flushPath` of storage makes it durable. The hash is of what was
 * written.
 */
export async function writePieces(
  path: string,
  pieces: AsyncIterable<Buffer>,
): Promise<WrittenFile> {
  return await withNewFile(path, async (file, hash) => {
    let bytes = 0;
    for await (const piece of pieces) {
      hash.update(piece);
      await writeAll(file, piece, bytes);
      bytes += piece.length;
    }
    return bytes;
  });
}

/**
 * The same, with holes in place of zeros: a segment of the log that was ended early is nearly
 * empty, and takes its full size only where it is really written.
 */
export async function writeWithHoles(
  path: string,
  pieces: AsyncIterable<Buffer>,
): Promise<WrittenFile> {
  return await withNewFile(path, async (file, hash) => {
    let bytes = 0;
    for await (const piece of pieces) {
      hash.update(piece);
      if (!isZero(piece)) await writeAll(file, piece, bytes);
      bytes += piece.length;
    }
    await file.truncate(bytes);
    return bytes;
  });
}

/** The bytes of a file, a piece at a time. */
export function piecesOf(path: string): AsyncIterable<Buffer> {
  return createReadStream(path, { highWaterMark: PIECE_BYTES }) as AsyncIterable<Buffer>;
}

/**
 * Works on many files, a few at a time since each waits for the disk. After a fault no other is
 * begun, and it is thrown when nothing is under way any more.
 */
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

export function isMissing(fault: unknown): boolean {
  return fault instanceof Error && Object.hasOwn(fault, "code") && codeOf(fault) === "ENOENT";
}

function codeOf(fault: Error): unknown {
  return (fault as NodeJS.ErrnoException).code;
}

async function withNewFile(
  path: string,
  write: (file: FileHandle, hash: Hash) => Promise<number>,
): Promise<WrittenFile> {
  const file = await open(path, "w", FILE_MODE);
  try {
    const hash = createHash("sha256");
    const bytes = await write(file, hash);
    return { bytes, sha256: hash.digest("hex") };
  } finally {
    await file.close();
  }
}

async function writeAll(file: FileHandle, piece: Buffer, position: number): Promise<void> {
  for (let done = 0; done < piece.length;) {
    const { bytesWritten } = await file.write(piece, done, piece.length - done, position + done);
    done += bytesWritten;
  }
}

const ZEROS = Buffer.alloc(PIECE_BYTES);

function isZero(piece: Buffer): boolean {
  return piece.length <= ZEROS.length && piece.equals(ZEROS.subarray(0, piece.length));
}
