import { createHash, type KeyObject, sign, verify } from "node:crypto";
import { createReadStream } from "node:fs";
import { appendFile, readdir, readFile, rename, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough, pipeline } from "node:stream";
import { createGunzip, createGzip } from "node:zlib";

import type { Clock } from "../core/index.ts";
import type { SigningKey } from "../ledger/index.ts";
import { flushPath, replaceText } from "../storage/index.ts";
import { BackupFault } from "./backup-manifest.ts";
import { FILE_MODE, isMissing, piecesOf, writePieces, writeWithHoles } from "./files.ts";
import { isSegmentName, type SegmentName } from "./wal-segments.ts";

/** A line of the list: one segment that was taken in. */
export interface StoredSegment {
  readonly name: SegmentName;
  /** Of the segment itself, not of its compressed file. */
  readonly sha256: string;
  /** When it was taken in, which is after its last transaction. */
  readonly storedAt: string;
}

/** What reading the list of segments found. */
export interface WalList {
  readonly stored: ReadonlyMap<SegmentName, StoredSegment>;
  /** Lines that the key did not sign. */
  readonly unsigned: number;
}

/**
 * The archived log of one database. The server puts each segment there whole; this takes it in:
 * compressed, since a segment that was ended after a minute is nearly empty, and with a signed
 * line in the list.
 */
export class WalStore {
  readonly #life: string;
  readonly #wal: string;
  readonly #list: string;

  constructor(folder: string, life: string) {
    this.#life = life;
    this.#wal = join(folder, "wal");
    this.#list = join(folder, "wal.ndjson");
  }

  /**
   * Takes in what the server has archived since; a crash at any point is repaired by the next run.
   */
  async takeIn(key: SigningKey, clock: Clock): Promise<void> {
    for (const name of await this.#filesLike(isSegmentName)) {
      const raw = join(this.#wal, name);
      const hash = createHash("sha256");
      await writePieces(`${this.#packed(name)}.partial`, compressed(raw, hash));
      await flushPath(`${this.#packed(name)}.partial`);
      await rename(`${this.#packed(name)}.partial`, this.#packed(name));
      await flushPath(this.#wal);
      const storedAt = new Date(clock.nowMs()).toISOString();
      await this.#append({ name, sha256: hash.digest("hex"), storedAt }, key);
      await unlink(raw);
    }
  }

  /** The segments that were not taken in yet. */
  async waiting(): Promise<ReadonlySet<SegmentName>> {
    return new Set(await this.#filesLike(isSegmentName));
  }

  /** Every segment that is there, taken in or not yet. */
  async names(): Promise<ReadonlySet<SegmentName>> {
    const raw = await this.waiting();
    const packed = await this.#filesLike((name) => isSegmentName(name.replace(/\.gz$/, "")));
    return new Set([...raw, ...packed.map((name) => name.replace(/\.gz$/, ""))].sort());
  }

  async has(name: SegmentName): Promise<boolean> {
    return (await isFile(this.#packed(name))) || (await isFile(join(this.#wal, name)));
  }

  async read(trusted: KeyObject): Promise<WalList> {
    const stored = new Map<SegmentName, StoredSegment>();
    let unsigned = 0;
    for (const line of (await this.#listText()).split("\n")) {
      if (line === "") continue;
      const segment = readLine(line);
      // Cut by a crash: that segment was taken in again, on a line of its own.
      if (segment === undefined) continue;
      if (verify(null, signedText(this.#life, segment), trusted, segment.signature)) {
        stored.set(segment.name, segment);
      } else unsigned += 1;
    }
    return { stored, unsigned };
  }

  /** Writes a segment where a server can replay it. Throws when it is not what the list says. */
  async lay(name: SegmentName, path: string, listed: StoredSegment | undefined): Promise<void> {
    const { sha256 } = await writeWithHoles(path, this.#piecesOf(name, await this.#isRaw(name)));
    this.#expect(name, sha256, listed);
  }

  /** Reads a segment whole and compares it with the list. */
  async check(name: SegmentName, listed: StoredSegment | undefined): Promise<void> {
    const hash = createHash("sha256");
    const pieces = this.#piecesOf(name, await this.#isRaw(name));
    for await (const piece of pieces) hash.update(piece);
    this.#expect(name, hash.digest("hex"), listed);
  }

  /** Deletes the segments before this one, and their lines. Returns how many. */
  async prune(before: SegmentName): Promise<number> {
    const old = (await this.#filesLike(() => true)).filter(
      (name) => isSegmentName(name.slice(0, 24)) && name.slice(0, 24) < before,
    );
    if (old.length === 0) return 0;
    const lines = (await this.#listText()).split("\n");
    const kept = lines.filter((line) => line !== "" && (nameOf(line) ?? before) >= before);
    await replaceText(this.#list, kept.map((line) => `${line}\n`).join(""));
    for (const name of old) await unlink(join(this.#wal, name));
    return old.length;
  }

  #expect(name: SegmentName, found: string, listed: StoredSegment | undefined): void {
    if (listed === undefined || listed.sha256 === found) return;
    throw new BackupFault(`segment ${name} of the log is not what was archived: it was changed`);
  }

  async *#piecesOf(name: SegmentName, isRaw: boolean): AsyncIterable<Buffer> {
    try {
      yield* isRaw ? piecesOf(join(this.#wal, name)) : unpacked(this.#packed(name));
    } catch (fault) {
      throw isMissing(fault)
        ? new BackupFault(`segment ${name} of the log is missing`)
        : new BackupFault(`segment ${name} of the log cannot be read`, { cause: fault });
    }
  }

  #isRaw(name: SegmentName): Promise<boolean> {
    return isFile(join(this.#wal, name));
  }

  async #append(segment: StoredSegment, key: SigningKey): Promise<void> {
    const { name, sha256, storedAt } = segment;
    const signature = sign(null, signedText(this.#life, segment), key.privateKey);
    const line = { name, sha256, stored_at: storedAt, signature: signature.toString("base64") };
    // A line that a crash has cut ends here.
    const text = `\n${JSON.stringify(line)}\n`;
    await appendFile(this.#list, text, { mode: FILE_MODE, flush: true });
  }

  async #listText(): Promise<string> {
    try {
      return await readFile(this.#list, "utf8");
    } catch (fault) {
      if (isMissing(fault)) return "";
      throw fault;
    }
  }

  async #filesLike(isWanted: (name: string) => boolean): Promise<string[]> {
    try {
      return (await readdir(this.#wal)).filter(isWanted).sort();
    } catch (fault) {
      if (isMissing(fault)) return [];
      throw fault;
    }
  }

  #packed(name: SegmentName): string {
    return join(this.#wal, `${name}.gz`);
  }
}

/** Undefined: it is not a whole line. */
function readLine(line: string): (StoredSegment & { readonly signature: Buffer }) | undefined {
  try {
    const parsed = JSON.parse(line) as Readonly<Record<string, unknown>>;
    const { name, sha256, stored_at: storedAt, signature } = parsed;
    const isWhole = [name, sha256, storedAt, signature].every((each) => typeof each === "string");
    if (!isWhole) return undefined;
    const bytes = Buffer.from(signature as string, "base64");
    return { ...({ name, sha256, storedAt } as StoredSegment), signature: bytes };
  } catch {
    return undefined;
  }
}

function nameOf(line: string): string | undefined {
  return /"name":"([0-9A-F]{24})"/.exec(line)?.[1];
}

function signedText(life: string, { name, sha256, storedAt }: StoredSegment): Buffer {
  return Buffer.from(`tokenmarket-wal-1 ${life} ${name} ${sha256} ${storedAt}`);
}

function compressed(raw: string, hash: ReturnType<typeof createHash>): AsyncIterable<Buffer> {
  const hashed = new PassThrough();
  hashed.on("data", (piece: Buffer) => hash.update(piece));
  // Whatever goes wrong reaches the reader of the last stream.
  return pipeline(createReadStream(raw), hashed, createGzip(), () => undefined);
}

function unpacked(path: string): AsyncIterable<Buffer> {
  return pipeline(createReadStream(path), createGunzip(), () => undefined);
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (fault) {
    if (isMissing(fault)) return false;
    throw fault;
  }
}
