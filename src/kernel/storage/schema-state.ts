import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import type { Pool, PoolClient } from "pg";

import { Fault } from "../core/fault.ts";

/** Thrown if this program cannot use the schema. The message tells the operator what to do. */
export class SchemaFault extends Fault {}

export interface SchemaState {
  /** False for a database without tables of this program. */
  readonly isThere: boolean;
  /** True if a version before the first release created the tables, with other steps. */
  readonly isEarly: boolean;
  readonly databaseLevel: number;
  readonly programLevel: number;
  readonly missing: readonly Migration[];
  /** Unknown steps of newer programs. This program works with them unless `refusing` is set. */
  readonly newer: readonly string[];
  /** A step that needs a program of a higher level. */
  readonly refusing: { readonly name: string; readonly programMin: number } | undefined;
  /** Unknown steps at a level that this program has too: a program with other steps ran them. */
  readonly foreign: readonly string[];
  /** Steps whose text in the database differs from that of this program. */
  readonly changed: readonly string[];
}

type AppliedStep = Omit<Migration, "text">;

export async function readSchemaState(
  database: Pool | PoolClient,
  own: readonly Migration[],
): Promise<SchemaState> {
  const { rows: tables } = await database.query<Record<"steps" | "early", boolean>>(
    `select to_regclass('schema_step') is not null as steps,
      coalesce(to_regclass('schema_migration'), to_regclass('kysely_migration')) is not null as early`,
  );
  const { rows: applied } =
    tables[0]?.steps === true ? await database.query<AppliedStep>(STEPS_SQL) : { rows: [] };
  const isUnlisted = tables[0]?.early === true && applied.length === 0;
  // Versions before the first release named their steps with a number at the beginning.
  const isEarly = isUnlisted || applied.some(({ name }) => /^\d/.test(name));
  return { ...compared(applied, own), isEarly };
}

export function isCurrent({ isThere, missing }: SchemaState): boolean {
  return isThere && missing.length === 0;
}

/** Throws a `SchemaFault` unless this program's steps can run on this schema, or have run. */
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

/** Throws a `SchemaFault` unless the database has every step of this program. */
export function assertUsable(state: SchemaState): void {
  assertUpgradable(state);
  if (isCurrent(state)) return;
  const missing = names(state.missing).join(", ");
  throw new SchemaFault(
    state.isThere
      ? `the database is older than this program: ${missing} is missing; migrate it with ` +
          "`tokenmarket migrate`"
      : "the database has no tokenmarket tables yet; create them with `tokenmarket migrate`",
  );
}

function names(steps: readonly Pick<Migration, "name">[]): readonly string[] {
  return steps.map(({ name }) => name);
}

function compared(
  applied: readonly AppliedStep[],
  own: readonly Migration[],
): Omit<SchemaState, "isEarly"> {
  const programLevel = computeLevel(own);
  const ownNames = new Set(names(own));
  const texts = new Map(applied.map(({ name, sha256 }) => [name, sha256]));
  const unknown = applied.filter(({ name }) => !ownNames.has(name));
  return {
    isThere: applied.length > 0,
    databaseLevel: Math.max(0, ...applied.map(({ level }) => level)),
    programLevel,
    missing: own.filter(({ name }) => !texts.has(name)),
    newer: names(unknown.filter(({ level }) => level > programLevel)),
    // All steps count: a newer program may have raised the minimum of a known step.
    refusing: applied.find(({ programMin }) => programMin > programLevel),
    foreign: names(unknown.filter(({ level }) => level <= programLevel)),
    changed: names(own.filter(({ name, sha256 }) => (texts.get(name) ?? sha256) !== sha256)),
  };
}

const STEPS_SQL = `select name, level, program_min as "programMin", sha256
  from schema_step order by level`;

/** A step of the schema: SQL that every database runs once. */
export interface Migration {
  readonly name: string;
  /** Position among the steps, from 1 on. A program has the level of its last step. */
  readonly level: number;
  /** The lowest program level that works with this step. */
  readonly programMin: number;
  readonly text: string;
  readonly sha256: string;
}

/**
 * The steps in the order in which they run. A published text never changes: a later change is a new
 * file at the end of this list, with `-- program_min: N` if older programs work with it.
 */
const STEPS: readonly string[] = ["schema", "functions"];

/** The same path leads to the SQL files from the sources, the built program and a bundle. */
const FOLDER = resolve(import.meta.dirname, "../storage/migrations");

export function ownSteps(): readonly Migration[] {
  return STEPS.map((name, at) =>
    toMigration({ name, level: at + 1, text: readFileSync(join(FOLDER, `${name}.sql`), "utf8") }),
  );
}

export function toMigration(step: Pick<Migration, "name" | "level" | "text">): Migration {
  // Without `program_min`, older programs refuse the schema.
  const said = /^-- program_min: (\d+)$/m.exec(step.text)?.[1];
  return {
    ...step,
    programMin: said === undefined ? step.level : Number(said),
    sha256: createHash("sha256").update(step.text).digest("hex"),
  };
}

export function computeLevel(own: readonly Migration[]): number {
  return Math.max(0, ...own.map(({ level }) => level));
}
