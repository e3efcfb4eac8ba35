import type { Pool } from "pg";

/** A schema that this program cannot work with, and what the operator does about it. */
export class SchemaFault extends Error {
  override readonly name = "SchemaFault";
}

/** Which of this program's migrations a database has, and which it has besides. */
export interface SchemaState {
  /** Of the database. */
  readonly present: readonly string[];
  /** Of this program, and not in the database. */
  readonly missing: readonly string[];
  /** Of the database, and not in this program: a newer one made them. */
  readonly unknown: readonly string[];
}

/** Reads the migrator's own table; changes nothing. */
export async function readSchemaState(pool: Pool, own: readonly string[]): Promise<SchemaState> {
  const found = await pool.query<{ none: boolean }>(
    "select to_regclass('kysely_migration') is null as none",
  );
  const present =
    found.rows[0]?.none === true
      ? []
      : (
          await pool.query<{ name: string }>("select name from kysely_migration order by name")
        ).rows.map((row) => row.name);
  return {
    present,
    missing: own.filter((name) => !present.includes(name)),
    unknown: present.filter((name) => !own.includes(name)),
  };
}

/** A newer program's schema is never touched, by no command. */
export function assertNotNewer({ unknown }: SchemaState): void {
  if (unknown.length === 0) return;
  throw new SchemaFault(
    `the database is newer than this program: it has ${unknown.join(", ")}; use the version of ` +
      "tokenmarket that made it or a newer one (`tokenmarket migrate` never downgrades)",
  );
}

/** For everything but `serve` and `migrate`: the schema is this program's, or nothing is done. */
export function assertUsable(state: SchemaState): void {
  assertNotNewer(state);
  const { present, missing } = state;
  if (missing.length === 0) return;
  throw new SchemaFault(
    present.length === 0
      ? "the database has no tokenmarket tables yet; create them with `tokenmarket migrate`"
      : `the database is older than this program: ${missing.join(", ")} is missing; migrate it ` +
          "with `tokenmarket migrate`",
  );
}
