import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline, Readable } from "node:stream";
import { pipeline as piped } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";

import { flushPath } from "../../kernel/index.ts";
import { type Day, dayFiles } from "./retention-tally.ts";

/** Exports name every customer: other users of the machine cannot read them. */
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

/** Exported days as files in a folder. */
export class DayFolder {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Writes the day's rows, compressed, under a name that marks it as unfinished. */
  async stage(day: Day, csv: AsyncIterable<string>): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: FOLDER_MODE });
    const file = createWriteStream(stagedName(this.#rows(day)), { mode: FILE_MODE, flush: true });
    // One page ahead is enough: they are large.
    await piped(Readable.from(csv, { highWaterMark: 1 }), createGzip(), file);
  }

  /** The uncompressed bytes of the staged file, as the disk has them. */
  readStaged(day: Day): AsyncIterable<Uint8Array> {
    return unzipped(stagedName(this.#rows(day)));
  }

  /** Gives the staged rows their name and writes the manifest beside them. */
  async publish(day: Day, manifestText: string): Promise<void> {
    const manifest = join(this.folder, dayFiles(day).manifest);
    await writeFile(stagedName(manifest), manifestText, { mode: FILE_MODE, flush: true });
    await rename(stagedName(this.#rows(day)), this.#rows(day));
    // The manifest comes last: where there is one, its rows are there.
    await rename(stagedName(manifest), manifest);
    await flushPath(this.folder);
  }

  /** Undefined if this folder has no such day. */
  async readManifest(day: Day): Promise<string | undefined> {
    try {
      return await readFile(join(this.folder, dayFiles(day).manifest), "utf8");
    } catch (fault) {
      if (isMissing(fault)) return undefined;
      throw fault;
    }
  }

  readPublished(day: Day): AsyncIterable<Uint8Array> {
    return unzipped(this.#rows(day));
  }

  #rows(day: Day): string {
    return join(this.folder, dayFiles(day).rows);
  }
}

function stagedName(path: string): string {
  return `${path}.partial`;
}

function unzipped(path: string): AsyncIterable<Uint8Array> {
  // Whatever goes wrong reaches the reader of the last stream.
  return pipeline(createReadStream(path), createGunzip(), () => undefined);
}

function isMissing(fault: unknown): boolean {
  return fault instanceof Error && "code" in fault && fault.code === "ENOENT";
}
