import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** A file of SQL that every database runs once. */
export interface Migration {
  /** The file's name without its ending; migrations run in the order of their names. */
  readonly name: string;
  readonly text: string;
  /** Of the file, in hexadecimal digits. */
  readonly sha256: string;
  /** Of texts of the file that were published too, and differ from it in comments only. */
  readonly otherSha256: readonly string[];
}

/**
 * The SQL that is published with the program. The path is right in the sources, in the built
 * program and in a bundle of it: each file is one folder below `src` or `dist`.
 */
export const MIGRATIONS_FOLDER: string = resolve(import.meta.dirname, "../storage/migrations");

const ENDING = ".sql";

/** One published version explained `reported_cost_pico` differently. */
const REWORDED: Readonly<Record<string, readonly string[]>> = {
  "0003-features": ["d4dcbd80e12e07dcd8fb975dada8de33cebbe4376aa8d89cc20c0ca38a027b72"],
};

export function readMigrations(folder: string): readonly Migration[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(ENDING))
    .sort()
    .map((file) => {
      const bytes = readFileSync(join(folder, file));
      const name = file.slice(0, -ENDING.length);
      return {
        name,
        text: bytes.toString("utf8"),
        sha256: createHash("sha256").update(bytes).digest("hex"),
        otherSha256: REWORDED[name] ?? [],
      };
    });
}
