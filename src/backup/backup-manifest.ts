const FORMAT = "tokenmarket-backup-2";

/** A copy that cannot be made or cannot be used, and why. */
export class BackupFault extends Error {
  override readonly name = "BackupFault";
}

/** One file of a copy; the path is within the data folder of PostgreSQL. */
export interface CopiedFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** The content of `backup.json`. */
export interface BackupManifest {
  /** When the log has the point at which the sums hold; a restore replays the log up to it. */
  readonly finished_at: string;
  readonly restore_point: string;
  /** Content of `PG_VERSION`: the major version. */
  readonly postgres_version: string;
  /** The sums of all accounts in micro-dollars, as the database writes them; only compared. */
  readonly sums: string;
  readonly folders: readonly string[];
  /** The files of the database, and the segments of the log that it needs. */
  readonly files: readonly CopiedFile[];
}

export function writeManifest(manifest: BackupManifest): string {
  return `${JSON.stringify({ format: FORMAT, ...manifest })}\n`;
}

/** Reads `backup.json`, which may be of any origin: a path in it leads nowhere else. */
export function readManifest(text: string, path: string): BackupManifest {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (fault) {
    throw new BackupFault(`${path} is damaged`, { cause: fault });
  }
  if (isManifest(document)) return document;
  throw new BackupFault(`${path} is damaged, or not of the format ${FORMAT}`);
}

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/;

function isManifest(document: unknown): document is BackupManifest {
  if (!isObject(document) || document["format"] !== FORMAT) return false;
  const { folders, files } = document;
  return (
    isText(document["finished_at"], INSTANT) &&
    isText(document["restore_point"], /^[\w-]{1,63}$/) &&
    isText(document["postgres_version"], /^\d+\n$/) &&
    isText(document["sums"], /^[\w ,-]{1,256}$/) &&
    Array.isArray(folders) &&
    folders.every(isInsidePath) &&
    Array.isArray(files) &&
    files.every(isCopiedFile)
  );
}

function isCopiedFile(file: unknown): boolean {
  return (
    isObject(file) &&
    isInsidePath(file["path"]) &&
    Number.isSafeInteger(file["bytes"]) &&
    isText(file["sha256"], /^[0-9a-f]{64}$/)
  );
}

function isInsidePath(value: unknown): boolean {
  return (
    isText(value, /^[^\0\\]+$/) &&
    value.split("/").every((part) => part !== "" && part !== ".." && part !== ".")
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function isText(value: unknown, pattern: RegExp): value is string {
  return typeof value === "string" && pattern.test(value);
}
