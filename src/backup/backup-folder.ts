import type { BigIntStats } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

import { replaceText } from "../storage/index.ts";
import { BackupFault, readBackup, type SignedBackup } from "./backup-manifest.ts";
import { BASE_NAME, MANIFEST } from "./create-backup.ts";
import { isMissing } from "./files.ts";

const LIFE_NAME = /^[0-9a-f]{12}$/;
const VERIFIED = "verified.json";

/** A base copy in a folder. */
export interface FoundBackup {
  /** Of the copy. */
  readonly folder: string;
  /** Of all copies of the same database, and of its log. */
  readonly lifeFolder: string;
  /** A text says what is wrong with its `backup.json`. */
  readonly manifest: SignedBackup | string;
  /** When `backup verify` last proved it, ISO 8601; undefined: never. */
  readonly verifiedAt: string | undefined;
}

/**
 * The copies in a folder, oldest first: the folder of all backups, that of one database, or one
 * copy. None, where there is no such folder. A caller that asks again and again gives the reader.
 */
export async function findBackups(
  folder: string,
  reader: ManifestReader = new ManifestReader(),
): Promise<readonly FoundBackup[]> {
  const path = resolve(folder);
  const copies = await copiesIn(path);
  const found: FoundBackup[] = [];
  for (const each of copies) found.push(await readFound(each, reader));
  reader.keepOnly(copies);
  return found.sort((a, b) => (basename(a.folder) < basename(b.folder) ? -1 : 1));
}

/**
 * Reads `backup.json` of copies, and each only once: it names every file of its copy, and what it
 * says does not change.
 */
export class ManifestReader {
  readonly #read = new Map<string, { readonly stamp: string; readonly manifest: Manifest }>();

  async read(folder: string): Promise<Manifest> {
    const path = join(folder, MANIFEST);
    try {
      const stamp = stampOf(await stat(path, { bigint: true }));
      const known = this.#read.get(folder);
      if (known?.stamp === stamp) return known.manifest;
      const read = readBackup(await readFile(path, "utf8"));
      const manifest = typeof read === "string" ? `${path}: ${read}` : read;
      this.#read.set(folder, { stamp, manifest });
      return manifest;
    } catch (fault) {
      if (isMissing(fault)) return `${path} is missing`;
      throw fault;
    }
  }

  /** Forgets every other copy. */
  keepOnly(folders: readonly string[]): void {
    for (const folder of this.#read.keys()) {
      if (!folders.includes(folder)) this.#read.delete(folder);
    }
  }
}

type Manifest = FoundBackup["manifest"];

/** Another one for whatever is written there, or put in its place. */
function stampOf({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [ino, size, mtimeNs, ctimeNs].join(" ");
}

async function copiesIn(path: string): Promise<readonly string[]> {
  if (BASE_NAME.test(basename(path))) return [path];
  const names = await namesIn(path);
  const own = names.filter((name) => BASE_NAME.test(name)).map((name) => join(path, name));
  const lives = names.filter((name) => LIFE_NAME.test(name));
  const inLives: string[] = [];
  for (const life of lives) {
    const bases = (await namesIn(join(path, life))).filter((name) => BASE_NAME.test(name));
    inLives.push(...bases.map((name) => join(path, life, name)));
  }
  return [...own, ...inLives];
}

/** Notes beside a copy that it was proved. */
export async function noteVerified(folder: string, at: string): Promise<void> {
  await replaceText(join(folder, VERIFIED), `${JSON.stringify({ verified_at: at })}\n`);
}

/** When any copy of this database was last proved. */
export async function readVerified(folder: string): Promise<string | undefined> {
  try {
    const note: unknown = JSON.parse(await readFile(join(folder, VERIFIED), "utf8"));
    const at = (note as { readonly verified_at?: unknown }).verified_at;
    return typeof at === "string" && !Number.isNaN(Date.parse(at)) ? at : undefined;
  } catch {
    return undefined;
  }
}

async function readFound(folder: string, reader: ManifestReader): Promise<FoundBackup> {
  return {
    folder,
    lifeFolder: dirname(folder),
    manifest: await reader.read(folder),
    verifiedAt: await readVerified(folder),
  };
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (fault) {
    if (isMissing(fault)) return [];
    throw new BackupFault(`${folder} cannot be read`, { cause: fault });
  }
}
