import type { Pool, PoolClient } from "pg";

import type { Migration } from "./migration-files.ts";

/** A schema that this program cannot work with, and what the operator does about it. */
export class SchemaFault extends Error {
  override readonly name = "SchemaFault";
}

/** How the schema of a database compares with this program's. */
export interface SchemaState {
  /** Whether the database has tables of tokenmarket. */
  readonly isThere: boolean;
  /** Whether a program that was never published made them. */
  readonly isUnpublished: boolean;
  /** Of this program, and not in the database. */
  readonly missing: readonly Migration[];
  /** Of the database, and not in this program: a newer one made them. */
  readonly unknown: readonly string[];
  /** Of both, with another text. */
  readonly changed: readonly string[];
}

/** Reads the list of applied migrations; changes nothing. */
export async function readSchemaState(
  database: Pool | PoolClient,
  own: readonly Migration[],
): Promise<SchemaState> {
  const { rows: tables } = await database.query<{ has_list: boolean; has_old_list: boolean }>(
    `select to_regclass('schema_migration') is not null as has_list,
      to_regclass('kysely_migration') is not null as has_old_list`,
  );
  const hasList = tables[0]?.has_list === true;
  const { rows } = hasList
    ? await database.query<{ name: string; sha256: string }>(
        "select name, sha256 from schema_migration order by name",
      )
    : { rows: [] };
  const applied = new Map(rows.map(({ name, sha256 }) => [name, sha256]));
  const ownNames = new Set(own.map(({ name }) => name));
  return {
    isThere: applied.size > 0,
    isUnpublished: !hasList && tables[0]?.has_old_list === true,
    missing: own.filter(({ name }) => !applied.has(name)),
    unknown: [...applied.keys()].filter((name) => !ownNames.has(name)),
    changed: own
      .filter(({ name, sha256, otherSha256 }) => {
        const found = applied.get(name) ?? sha256;
        return found !== sha256 && !otherSha256.includes(found);
      })
      .map(({ name }) => name),
  };
}

/** A schema that no migration of this program leads on from is never touched, by no command. */
export function assertUpgradable({ isUnpublished, unknown, changed }: SchemaState): void {
  if (isUnpublished) {
    throw new SchemaFault(
      "the database was made by a version of tokenmarket before the first release, and cannot be " +
        "migrated: use an empty database, and create its tables with `tokenmarket migrate`",
    );
  }
  if (unknown.length > 0) {
    throw new SchemaFault(
      `the database is newer than this program: it has ${unknown.join(", ")}; use the version of ` +
        "tokenmarket that made it or a newer one (`tokenmarket migrate` never downgrades)",
    );
  }
  if (changed.length > 0) {
    throw new SchemaFault(
      `the database was made by another program: its ${changed.join(", ")} is not the one of this ` +
        "version; use the version of tokenmarket that made it, or install this one again",
    );
  }
}

/** For everything but `serve` and `migrate`: the schema is this program's, or nothing is done. */
export function assertUsable(state: SchemaState): void {
  assertUpgradable(state);
  const { isThere, missing } = state;
  if (missing.length === 0) return;
  throw new SchemaFault(
    isThere
      ? `the database is older than this program: ${missing.map(({ name }) => name).join(", ")} ` +
          "is missing; migrate it with `tokenmarket migrate`"
      : "the database has no tokenmarket tables yet; create them with `tokenmarket migrate`",
  );
}
