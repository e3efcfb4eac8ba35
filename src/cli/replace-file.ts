import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { open, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";

import { type CommandIo, UsageFault } from "./command-context.ts";

/**
 * Writes pieces to standard output, or to a new file that only its owner can read, because exports
 * name customers. A failure leaves no file, because a partial export looks like a complete one.
 */
export async function writeOut(
  { stdout }: Pick<CommandIo, "stdout">,
  out: string | undefined,
  pieces: AsyncIterable<string | Buffer>,
): Promise<void> {
  // A pipeline waits for a slow reader, because an export may not fit into memory.
  if (out === undefined) return await pipeline(pieces, stdout, { end: false });
  const file = await open(out, "wx", 0o600);
  try {
    await pipeline(pieces, file.createWriteStream({ flush: true }));
  } catch (fault) {
    await rm(out, { force: true });
    throw fault;
  }
}

export interface Replacement {
  readonly read: { readonly file: string; readonly text: string };
  readonly text: string;
}

/**
 * Replaces files that were read before, and keeps their permissions. All new texts are written
 * beforehand; if one of the files was edited in the meantime, none is replaced.
 */
export function replaceFiles(all: readonly Replacement[]): void {
  const targets = all.map((each) => {
    const path = realpathSync(each.read.file);
    // The draft's name does not end in `.json`, so no reader takes it for a manifest.
    return { ...each, path, draft: join(dirname(path), `.${basename(path)}.${process.pid}.new`) };
  });
  try {
    for (const each of targets) writeDraft(each);
    for (const { draft, path } of targets) renameSync(draft, path);
  } catch (fault) {
    for (const { draft } of targets) rmSync(draft, { force: true });
    throw fault;
  }
}

function writeDraft(target: Replacement & Readonly<Record<"path" | "draft", string>>): void {
  const { read, text, path, draft } = target;
  const handle = openSync(draft, "wx", statSync(path).mode);
  try {
    writeSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  if (readFileSync(path, "utf8") !== read.text) {
    throw new UsageFault(`${read.file}: was edited while it was refreshed; run it again`);
  }
}
