import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Pool } from "pg";
import { beforeEach, describe, expect, test } from "vitest";

import { emptyDatabase, type FreshDatabase } from "../../test/support/postgres.ts";
import { silentLog } from "../../test/support/silent-log.ts";
import { withResource } from "../../test/support/with-resource.ts";
import { openPool } from "./connection.ts";
import { checkSchema, migrateDatabase } from "./migrate.ts";
import { MIGRATIONS_FOLDER, readMigrations } from "./migration-files.ts";

const PROCESSES = 4;
const NAMES = readMigrations(MIGRATIONS_FOLDER).map(({ name }) => name);

const folder = withResource(
  () => ({ path: mkdtempSync(join(tmpdir(), "tokenmarket-migrations-")) }),
  ({ path }) => rmSync(path, { recursive: true, force: true }),
);

let database: FreshDatabase;
let pools: Pool[];
let pool: Pool;

beforeEach(async () => {
  cpSync(MIGRATIONS_FOLDER, folder.path, { recursive: true });
  database = await emptyDatabase();
  pools = Array.from({ length: PROCESSES }, () => openPool(database.connectionString, silentLog));
  [pool] = pools as [Pool];
  return async () => {
    for (const each of pools) await each.end();
    await database.drop();
    rmSync(join(folder.path, "0099-more.sql"), { force: true });
  };
});

async function applied(): Promise<readonly string[]> {
  const { rows } = await pool.query<{ name: string }>(
    "select name from schema_migration order by name",
  );
  return rows.map(({ name }) => name);
}

test("of several processes that start together one runs every migration, once", async () => {
  const ran = await Promise.all(pools.map((each) => migrateDatabase(each)));
  expect(ran.flat()).toEqual(NAMES);
  expect(await applied()).toEqual(NAMES);
  await checkSchema(pool);
  expect(await migrateDatabase(pool)).toEqual([]);
});

test("a newer program runs what is missing, in order, and the older one stops", async () => {
  await migrateDatabase(pool);
  writeFileSync(join(folder.path, "0099-more.sql"), "create table more (only_row boolean);");
  expect(await migrateDatabase(pool, folder.path)).toEqual(["0099-more"]);
  const isNewer = "the database is newer than this program: it has 0099-more;";
  await expect(migrateDatabase(pool)).rejects.toThrow(isNewer);
  await expect(checkSchema(pool)).rejects.toThrow(isNewer);
});

test("a database with a text that was published before, and reads the same, goes on", async () => {
  const file = join(folder.path, "0003-features.sql");
  const now = "-- What the provider reports that it cost, whoever pays for it.";
  const before = "-- The cost that the provider reports, also where no customer pays for it.";
  writeFileSync(file, readFileSync(file, "utf8").replace(now, before));
  await migrateDatabase(pool, folder.path);
  await checkSchema(pool);
  expect(await migrateDatabase(pool)).toEqual([]);
});

test("a migration that fails leaves nothing behind, not even of those before it", async () => {
  writeFileSync(join(folder.path, "0099-more.sql"), "create table more (a text); select 1 / 0;");
  await expect(migrateDatabase(pool, folder.path)).rejects.toMatchObject({
    message: "the database schema cannot be updated",
    cause: { message: "division by zero" },
  });
  const { rows } = await pool.query(
    "select from pg_class where relnamespace = 'public'::regnamespace",
  );
  expect(rows).toHaveLength(0);
  expect(await migrateDatabase(pool)).toEqual(NAMES);
});

describe("a database that is refused and stays as it is", () => {
  test("one with another text of a migration", async () => {
    const first = join(folder.path, "0001-accounts.sql");
    writeFileSync(first, readFileSync(first, "utf8").replace("text not null", "text  not null"));
    await migrateDatabase(pool, folder.path);
    const isOther = "its 0001-accounts is not the one of this version";
    await expect(checkSchema(pool)).rejects.toThrow(isOther);
    await expect(migrateDatabase(pool)).rejects.toThrow(isOther);
  });

  test("one of a program that was never published", async () => {
    await pool.query("create table kysely_migration (name text)");
    const isEarly = "before the first release";
    await expect(checkSchema(pool)).rejects.toThrow(isEarly);
    await expect(migrateDatabase(pool)).rejects.toThrow(isEarly);
    const { rows } = await pool.query("select to_regclass('schema_migration') as made");
    expect(rows).toEqual([{ made: null }]);
  });
});
