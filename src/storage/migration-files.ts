import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** A step of the schema: a file of SQL that every database runs once. */
export interface Migration {
  /** The file's name without its ending; steps run in the order of their names. */
  readonly name: string;
  /** The number in its name. The level of a program is that of its last step. */
  readonly level: number;
  /** The lowest level of a program that works on a schema with this step. */
  readonly programMin: number;
  /** Whether it has indexes only, which are built outside a transaction while writes go on. */
  readonly isConcurrent: boolean;
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

/**
 * The level of version 0.1.0. That program reads `schema_migration` alone, and starts on a schema
 * whose list there is its own: steps after it are noted in `schema_step` only.
 */
export const FIRST_RELEASE_LEVEL = 11;

const ENDING = ".sql";

/** One published version explained `reported_cost_pico` differently. */
const REWORDED: Readonly<Record<string, readonly string[]>> = {
  "0003-features": ["d4dcbd80e12e07dcd8fb975dada8de33cebbe4376aa8d89cc20c0ca38a027b72"],
};

export function readMigrations(folder: string): readonly Migration[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(ENDING))
    .sort()
    .map((file) => readMigration(file, readFileSync(join(folder, file))));
}

/** The level of a program with these steps. */
export function levelOf(own: readonly Migration[]): number {
  return Math.max(0, ...own.map(({ level }) => level));
}

/** The number that the name of a step begins with. */
export function levelOfName(name: string): number {
  return Number.parseInt(name, 10);
}

function readMigration(file: string, bytes: Buffer): Migration {
  const name = file.slice(0, -ENDING.length);
  const level = levelOfName(name);
  const text = bytes.toString("utf8");
  // A step that does not say otherwise keeps out every program that does not know it.
  const said = /^-- program_min: (\d+)$/m.exec(text)?.[1];
  return {
    name,
    level,
    programMin: said === undefined ? level : Number(said),
    isConcurrent: /^-- concurrently$/m.test(text),
    text,
    sha256: createHash("sha256").update(bytes).digest("hex"),
    otherSha256: REWORDED[name] ?? [],
  };
}
