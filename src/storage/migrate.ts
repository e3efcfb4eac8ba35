import type { Pool } from "pg";

import { MIGRATIONS_FOLDER, readMigrations } from "./migration-files.ts";
import { assertUpgradable, assertUsable, readSchemaState, SchemaFault } from "./schema-state.ts";
import { inTransaction } from "./transaction.ts";

/** Throws unless the database has this program's schema; changes nothing. */
export async function checkSchema(pool: Pool): Promise<void> {
  assertUsable(await readSchemaState(pool, readMigrations(MIGRATIONS_FOLDER)));
}

/**
 * Brings the database to this program's schema: all missing files in one transaction, of several
 * processes at once by one. Returns the names of the migrations it ran.
 */
export async function migrateDatabase(
  pool: Pool,
  folder: string = MIGRATIONS_FOLDER,
): Promise<readonly string[]> {
  const own = readMigrations(folder);
  try {
    return await inTransaction(pool, async (client) => {
      await client.query("select pg_advisory_xact_lock(hashtext('tokenmarket schema'))");
      // Behind the lock: another process may have run them meanwhile.
      const state = await readSchemaState(client, own);
      assertUpgradable(state);
      if (state.missing.length === 0) return [];
      await client.query(BOOKKEEPING_SQL);
      for (const { name, text, sha256 } of state.missing) {
        await client.query(text);
        await client.query(APPLIED_SQL, [name, sha256]);
      }
      return state.missing.map(({ name }) => name);
    });
  } catch (error) {
    if (error instanceof SchemaFault) throw error;
    throw new Error("the database schema cannot be updated", { cause: error });
  }
}

/** Number of the newest step that this program has. */
export function programSchemaLevel(): number {
  const newest = readMigrations(MIGRATIONS_FOLDER).at(-1)?.name ?? "0";
  return Number.parseInt(newest, 10);
}

const BOOKKEEPING_SQL = `
  create table if not exists schema_migration (
    name text primary key,
    sha256 text not null,
    applied_at timestamptz not null default now()
  )`;

const APPLIED_SQL = "insert into schema_migration (name, sha256) values ($1, $2)";
