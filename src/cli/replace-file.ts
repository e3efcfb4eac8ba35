import {
  chmodSync,
  chownSync,
  existsSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";

import { type CommandIo, UsageFault } from "./command-context.ts";

/**
 * Writes pieces to standard output, or to a new file that only its owner can read, because exports
 * name customers. It gets its name once it is complete, because a part looks like the whole.
 */
export async function writeOut(
  { stdout }: Pick<CommandIo, "stdout">,
  out: string | undefined,
  pieces: AsyncIterable<string | Buffer>,
): Promise<void> {
  // A pipeline waits for a slow reader, because an export may not fit into memory.
  if (out === undefined) return await pipeline(pieces, stdout, { end: false });
  const refuseTaken = (): void => {
    if (!existsSync(out)) return;
    throw new UsageFault(`${out}: is there already, and is not replaced; name another file`);
  };
  refuseTaken();
  const partial = `${out}.${process.pid}.partial`;
  await rm(partial, { force: true });
  const file = await open(partial, "wx", 0o600);
  try {
    await pipeline(pieces, file.createWriteStream({ flush: true }));
    refuseTaken();
    await rename(partial, out);
  } catch (fault) {
    await rm(partial, { force: true });
    throw fault;
  }
}

export interface Replacement {
  readonly read: { readonly file: string; readonly text: string };
  readonly text: string;
}

/**
 * Replaces files that were read before. All new texts are written
 * beforehand; if one of the files was edited in the meantime, none is replaced.
 */
export function replaceFiles(all: readonly Replacement[]): void {
  putInPlace(
    all.map(({ read, text }) => ({ file: read.file, text })),
    () => {
      const edited = all.find(({ read }) => readFileSync(read.file, "utf8") !== read.text);
      if (edited === undefined) return;
      throw new UsageFault(`${edited.read.file}: was edited while it was refreshed; run it again`);
    },
  );
}

/** Writes a new file, or replaces one: if the disk is full, what was there stays. */
export function writeWhole(file: string, text: string | Uint8Array, mode = 0o666): void {
  // A device or a pipe has no earlier text, and cannot be replaced.
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === false) writeFileSync(file, text);
  else putInPlace([{ file, text, mode }]);
}

function putInPlace(
  all: readonly {
    readonly file: string;
    readonly text: string | Uint8Array;
    readonly mode?: number;
  }[],
  check?: () => void,
): void {
  const targets = all.map(({ file, text, mode }) => {
    const was = statSync(file, { throwIfNoEntry: false });
    const path = was === undefined ? file : realpathSync(file);
    // The draft's name does not end in `.json`, so no reader takes it for a manifest.
    const draft = join(dirname(path), `.${basename(path)}.${process.pid}.new`);
    return { text, path, draft, mode, was };
  });
  try {
    for (const { draft, text, mode, was } of targets) {
      // Another process of this number may have been killed, as in a container.
      rmSync(draft, { force: true });
      writeFileSync(draft, text, { flag: "wx", mode: was?.mode ?? mode, flush: true });
      if (was !== undefined) keepAccess(draft, was);
    }
    check?.();
    for (const { draft, path } of targets) renameSync(draft, path);
  } catch (fault) {
    for (const { draft } of targets) rmSync(draft, { force: true });
    throw fault;
  }
}

/** The process that reads the file may run as another user than the one that replaces it. */
function keepAccess(draft: string, { uid, gid, mode }: Stats): void {
  if (process.getuid?.() === 0) chownSync(draft, uid, gid);
  chmodSync(draft, mode);
}
