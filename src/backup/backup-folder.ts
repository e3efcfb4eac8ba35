import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

import { BackupFault, readBackup, type SignedBackup } from "./backup-manifest.ts";
import { BASE_NAME, MANIFEST } from "./create-backup.ts";
import { isMissing, replaceText } from "./files.ts";

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
 * copy. None, where there is no such folder.
 */
export async function findBackups(folder: string): Promise<readonly FoundBackup[]> {
  const path = resolve(folder);
  if (BASE_NAME.test(basename(path))) return [await readFound(path)];
  const names = await namesIn(path);
  const own = names.filter((name) => BASE_NAME.test(name)).map((name) => join(path, name));
  const lives = names.filter((name) => LIFE_NAME.test(name));
  const inLives: string[] = [];
  for (const life of lives) {
    const bases = (await namesIn(join(path, life))).filter((name) => BASE_NAME.test(name));
    inLives.push(...bases.map((name) => join(path, life, name)));
  }
  const found: FoundBackup[] = [];
  for (const each of [...own, ...inLives]) found.push(await readFound(each));
  return found.sort((a, b) => (basename(a.folder) < basename(b.folder) ? -1 : 1));
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

async function readFound(folder: string): Promise<FoundBackup> {
  return {
    folder,
    lifeFolder: dirname(folder),
    manifest: await readManifest(folder),
    verifiedAt: await readVerified(folder),
  };
}

async function readManifest(folder: string): Promise<SignedBackup | string> {
  try {
    const read = readBackup(await readFile(join(folder, MANIFEST), "utf8"));
    if (typeof read === "string") return `${join(folder, MANIFEST)}: ${read}`;
    return read;
  } catch (fault) {
    if (isMissing(fault)) return `${join(folder, MANIFEST)} is missing`;
    throw fault;
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (fault) {
    if (isMissing(fault)) return [];
    throw new BackupFault(`${folder} cannot be read`, { cause: fault });
  }
}
