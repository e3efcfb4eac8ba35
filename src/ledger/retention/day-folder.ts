import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline, Readable } from "node:stream";
import { pipeline as piped } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";

import { flushPath } from "../../kernel/index.ts";
import { type Day, dayFiles } from "./retention-tally.ts";

/** Exports name customers, so other users of the machine must not read them. */
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

export class DayFolder {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Compresses the day's rows into a file whose name ends in `.partial`. */
  async stage(day: Day, csv: AsyncIterable<string>): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: FOLDER_MODE });
    const file = createWriteStream(stagedName(this.#rows(day)), { mode: FILE_MODE, flush: true });
    // Pages are large, so at most one waits in memory to be compressed.
    await piped(Readable.from(csv, { highWaterMark: 1 }), createGzip(), file);
  }

  readStaged(day: Day): AsyncIterable<Uint8Array> {
    return unzipped(stagedName(this.#rows(day)));
  }

  async publish(day: Day, manifestText: string): Promise<void> {
    const manifest = join(this.folder, dayFiles(day).manifest);
    await writeFile(stagedName(manifest), manifestText, { mode: FILE_MODE, flush: true });
    await rename(stagedName(this.#rows(day)), this.#rows(day));
    // The manifest is renamed last, so that a folder with a manifest has the rows too.
    await rename(stagedName(manifest), manifest);
    await flushPath(this.folder);
  }

  async readManifest(day: Day): Promise<string | undefined> {
    try {
      return await readFile(join(this.folder, dayFiles(day).manifest), "utf8");
    } catch (fault) {
      if (fault instanceof Error && "code" in fault && fault.code === "ENOENT") return undefined;
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
  // The reader of the returned stream gets every error, so the callback ignores it.
  return pipeline(createReadStream(path), createGunzip(), () => undefined);
}
