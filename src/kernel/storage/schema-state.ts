import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import type { Pool, PoolClient } from "pg";

/** A schema that this program cannot work with, and what the operator does about it. */
export class SchemaFault extends Error {
  override readonly name = "SchemaFault";
}

/** How the schema of a database compares with this program's. */
export interface SchemaState {
  /** Whether the database has tables of tokenmarket. */
  readonly isThere: boolean;
  /** Whether a program of before the first release made them, which had other steps. */
  readonly isEarly: boolean;
  /** The highest level of a step in the database. */
  readonly databaseLevel: number;
  readonly programLevel: number;
  /** The steps that this program has and the database has not. */
  readonly missing: readonly Migration[];
  /** Newer than this program, and it works with them. */
  readonly newer: readonly string[];
  /** Newer than this program, and it does not: the first that it would have to know. */
  readonly refusing: { readonly name: string; readonly programMin: number } | undefined;
  /** Not of this program, though not newer: a program of another line made them. */
  readonly foreign: readonly string[];
  /** The steps that both have, with another text. */
  readonly changed: readonly string[];
}

interface AppliedStep {
  readonly name: string;
  readonly level: number;
  readonly programMin: number;
  readonly sha256: string;
}

/** Compares the steps that the database has with this program's; changes nothing. */
export async function readSchemaState(
  database: Pool | PoolClient,
  own: readonly Migration[],
): Promise<SchemaState> {
  const { rows: tables } = await database.query<Record<"steps" | "early", boolean>>(
    `select to_regclass('schema_step') is not null as steps,
      coalesce(to_regclass('schema_migration'), to_regclass('kysely_migration')) is not null as early`,
  );
  const applied = tables[0]?.steps === true ? await readSteps(database) : [];
  const isUnlisted = tables[0]?.early === true && applied.length === 0;
  // Their steps had numbers in front.
  const isEarly = isUnlisted || applied.some(({ name }) => /^\d/.test(name));
  return { ...compared(applied, own), isEarly };
}

/** Nothing is left for `migrate` to do. */
export function isCurrent({ isThere, missing }: SchemaState): boolean {
  return isThere && missing.length === 0;
}

/** A schema that no step of this program leads on from is never touched, by no command. */
export function assertUpgradable(state: SchemaState): void {
  const { isEarly, refusing, foreign, changed, programLevel } = state;
  if (isEarly) {
    throw new SchemaFault(
      "the database was made by a version of tokenmarket before the first release, whose schema no " +
        "step leads on from: export what you need with that version, then use an empty database or " +
        "data folder, and create its tables with `tokenmarket migrate`",
    );
  }
  if (refusing !== undefined) {
    throw new SchemaFault(
      `the database is newer than this program: its ${refusing.name} needs a program of level ` +
        `${refusing.programMin} or higher, and this one has level ${programLevel}; use a newer ` +
        "version of tokenmarket (`tokenmarket migrate` never downgrades)",
    );
  }
  if (foreign.length > 0) {
    throw new SchemaFault(
      `the database was made by another program: it has ${foreign.join(", ")}, which this version ` +
        "does not know and should; use the version of tokenmarket that made it",
    );
  }
  if (changed.length > 0) {
    throw new SchemaFault(
      `the database was made by another program: its ${changed.join(", ")} is not the one of this ` +
        "version; use the version of tokenmarket that made it, or install this one again",
    );
  }
}

/** For everything but `serve` and `migrate`: the schema has what this program needs, or nothing is done. */
export function assertUsable(state: SchemaState): void {
  assertUpgradable(state);
  if (isCurrent(state)) return;
  throw new SchemaFault(
    state.isThere
      ? `the database is older than this program: ${missingNames(state)} is missing; migrate it with ` +
          "`tokenmarket migrate`"
      : "the database has no tokenmarket tables yet; create them with `tokenmarket migrate`",
  );
}

function missingNames({ missing }: SchemaState): string {
  return missing.map(({ name }) => name).join(", ");
}

function compared(
  applied: readonly AppliedStep[],
  own: readonly Migration[],
): Omit<SchemaState, "isEarly"> {
  const programLevel = computeLevel(own);
  const ownNames = new Set(own.map(({ name }) => name));
  const texts = new Map(applied.map(({ name, sha256 }) => [name, sha256]));
  const unknown = applied.filter(({ name }) => !ownNames.has(name));
  return {
    isThere: applied.length > 0,
    databaseLevel: Math.max(0, ...applied.map(({ level }) => level)),
    programLevel,
    missing: own.filter(({ name }) => !texts.has(name)),
    newer: unknown.filter(({ level }) => level > programLevel).map(({ name }) => name),
    // Includes steps that this program knows, because a newer program may have raised their
    // minimum.
    refusing: applied.find(({ programMin }) => programMin > programLevel),
    foreign: unknown.filter(({ level }) => level <= programLevel).map(({ name }) => name),
    changed: own
      .filter(({ name, sha256 }) => (texts.get(name) ?? sha256) !== sha256)
      .map(({ name }) => name),
  };
}

async function readSteps(database: Pool | PoolClient): Promise<readonly AppliedStep[]> {
  const { rows } = await database.query<AppliedStep>(
    `select name, level, program_min as "programMin", sha256 from schema_step order by level`,
  );
  return rows;
}

/** A step of the schema: SQL that every database runs once. */
export interface Migration {
  readonly name: string;
  /** Its place among the steps, from 1 on. The level of a program is that of its last step. */
  readonly level: number;
  /** The lowest level of a program that works on a schema with this step. */
  readonly programMin: number;
  readonly text: string;
  /** The SHA-256 of the text, in hexadecimal digits. */
  readonly sha256: string;
}

/**
 * In the order in which they run. Once published, a text never changes: what comes later is a file
 * of its own, named at the end, which says `-- program_min: N` where programs of before work with it.
 */
const STEPS: readonly string[] = ["schema", "functions"];

/**
 * The published SQL. The path is the same in the sources, in the built program and in a bundle, as
 * each file is one folder below `src` or `dist`.
 */
const FOLDER = resolve(import.meta.dirname, "../storage/migrations");

/** The steps of this program. */
export function ownSteps(): readonly Migration[] {
  return STEPS.map((name, at) =>
    toMigration({ name, level: at + 1, text: readFileSync(join(FOLDER, `${name}.sql`), "utf8") }),
  );
}

export function toMigration(step: Pick<Migration, "name" | "level" | "text">): Migration {
  // A step that does not say otherwise keeps out every program that does not know it.
  const said = /^-- program_min: (\d+)$/m.exec(step.text)?.[1];
  return {
    ...step,
    programMin: said === undefined ? step.level : Number(said),
    sha256: createHash("sha256").update(step.text).digest("hex"),
  };
}

/** The level of a program with these steps. */
export function computeLevel(own: readonly Migration[]): number {
  return Math.max(0, ...own.map(({ level }) => level));
}
