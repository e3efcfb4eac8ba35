import { type Static, type TString, Type } from "typebox";

import { documentParts, documentReader, Fault, List } from "../../kernel/index.ts";

const FORMAT = "tokenmarket-backup-2";

export class BackupFault extends Fault {}

const text = (pattern: string): TString => Type.String({ pattern });
const size = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
/** Matches a path that stays inside the copy: no segment is empty, `.` or `..`. */
const insidePath = text(String.raw`^(?!\.{0,2}(?:/|$))[^/\0\\]+(?:/(?!\.{0,2}(?:/|$))[^/\0\\]+)*$`);
/** Paths are relative to PostgreSQL's data folder. */
const copiedFile = Type.Object({ path: insidePath, bytes: size, sha256: documentParts.sha256() });
export type CopiedFile = Readonly<Static<typeof copiedFile>>;

const manifest = Type.Object({
  format: documentParts.format(FORMAT),
  /** The instant of the restore point, up to which a restore replays the write-ahead log. */
  finished_at: text(String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$`),
  restore_point: text(String.raw`^[\w-]{1,63}$`),
  postgres_version: text(String.raw`^\d+\n$`),
  /** The totals of all accounts in micro-dollars at the restore point, as one text to compare. */
  sums: text("^[\\w ,-]{1,256}$"),
  folders: List(insidePath),
  files: List(copiedFile),
});
export type BackupManifest = Readonly<Omit<Static<typeof manifest>, "format">>;
const read = documentReader(manifest);

export function writeManifest(written: BackupManifest): string {
  return `${JSON.stringify({ format: FORMAT, ...written })}\n`;
}

/** Validates the form of `backup.json`, because the file may come from an untrusted source. */
export function readManifest(file: string, path: string): BackupManifest {
  const found = read(file);
  if (found.ok) return found.document;
  throw new BackupFault(`${path} is damaged, or not of the format ${FORMAT}: ${found.problem}`);
}
