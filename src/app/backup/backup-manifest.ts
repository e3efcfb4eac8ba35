import { type TString, Type } from "typebox";

import { documentParts, documentReader } from "../../kernel/index.ts";

const FORMAT = "tokenmarket-backup-2";

export class BackupFault extends Error {
  override readonly name = "BackupFault";
}

/** `path` is relative to PostgreSQL's data folder. */
export interface CopiedFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface BackupManifest {
  /** The instant of the restore point, up to which a restore replays the write-ahead log. */
  readonly finished_at: string;
  readonly restore_point: string;
  readonly postgres_version: string;
  /** The totals of all accounts in micro-dollars at the restore point, as one text to compare. */
  readonly sums: string;
  readonly folders: readonly string[];
  readonly files: readonly CopiedFile[];
}

export function writeManifest(manifest: BackupManifest): string {
  return `${JSON.stringify({ format: FORMAT, ...manifest })}\n`;
}

const text = (pattern: string): TString => Type.String({ pattern });
const size = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
/** A path stays inside the copy: no segment is empty, `.` or `..`. */
const insidePath = text(String.raw`^(?!\.{0,2}(?:/|$))[^/\0\\]+(?:/(?!\.{0,2}(?:/|$))[^/\0\\]+)*$`);
const read = documentReader(
  Type.Object({
    format: documentParts.format(FORMAT),
    finished_at: text(String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$`),
    restore_point: text(String.raw`^[\w-]{1,63}$`),
    postgres_version: text(String.raw`^\d+\n$`),
    sums: text("^[\\w ,-]{1,256}$"),
    folders: Type.Array(insidePath),
    files: Type.Array(
      Type.Object({ path: insidePath, bytes: size, sha256: documentParts.sha256() }),
    ),
  }),
);

/** Validates the form of `backup.json`, because the file may come from an untrusted source. */
export function readManifest(file: string, path: string): BackupManifest {
  const manifest = read(file);
  if (manifest.ok) return manifest.document;
  throw new BackupFault(`${path} is damaged, or not of the format ${FORMAT}: ${manifest.problem}`);
}
