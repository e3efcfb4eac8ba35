import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** A step of the schema: SQL that every database runs once. */
export interface Migration {
  readonly name: string;
  /** Its place among the steps, from 1 on. The level of a program is that of its last step. */
  readonly level: number;
  /** The lowest level of a program that works on a schema with this step. */
  readonly programMin: number;
  readonly text: string;
  /** Of the text, in hexadecimal digits. */
  readonly sha256: string;
}

/**
 * In the order in which they run. Once published, a text never changes: what comes later is a file
 * of its own, named at the end, which says `-- program_min: N` where programs of before work with it.
 */
const STEPS: readonly string[] = ["schema", "functions"];

/**
 * The SQL that is published with the program. The path is right in the sources, in the built
 * program and in a bundle of it: each file is one folder below `src` or `dist`.
 */
const FOLDER = resolve(import.meta.dirname, "../storage/migrations");

/** The steps of this program. */
export function ownSteps(): readonly Migration[] {
  return STEPS.map((name, at) =>
    stepOf({ name, level: at + 1, text: readFileSync(join(FOLDER, `${name}.sql`), "utf8") }),
  );
}

export function stepOf(step: Pick<Migration, "name" | "level" | "text">): Migration {
  // A step that does not say otherwise keeps out every program that does not know it.
  const said = /^-- program_min: (\d+)$/m.exec(step.text)?.[1];
  return {
    ...step,
    programMin: said === undefined ? step.level : Number(said),
    sha256: createHash("sha256").update(step.text).digest("hex"),
  };
}

/** The level of a program with these steps. */
export function levelOf(own: readonly Migration[]): number {
  return Math.max(0, ...own.map(({ level }) => level));
}
