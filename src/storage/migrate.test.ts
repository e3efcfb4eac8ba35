import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Pool } from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { emptyDatabase, freshDatabase, type FreshDatabase } from "../../test/support/postgres.ts";
import { silentLog } from "../../test/support/silent-log.ts";
import { openPool } from "./connection.ts";
import { checkSchema, migrateDatabase, type MigrateOptions, planMigration } from "./migrate.ts";
import { levelOf, MIGRATIONS_FOLDER, readMigrations } from "./migration-files.ts";
import { RUNNER_TIMES, SchemaBusyFault } from "./migration-runner.ts";

const PROCESSES = 4;
const NAMES = readMigrations(MIGRATIONS_FOLDER).map(({ name }) => name);
const LEVEL = levelOf(readMigrations(MIGRATIONS_FOLDER));
const RELEASED = NAMES.slice(0, 11);
/** Quick tries, so that what is in the way shows soon. */
const times = { ...RUNNER_TIMES, firstLockTimeoutMs: 30, pauseMs: 10, pollMs: 20, waitMs: 100 };

let folder: string;
let database: FreshDatabase;
let pools: Pool[];
let pool: Pool;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tokenmarket-migrations-"));
  cpSync(MIGRATIONS_FOLDER, folder, { recursive: true });
});
afterEach(async () => {
  for (const each of pools) await each.end();
  await database.drop();
  rmSync(folder, { recursive: true });
});

async function on(opened: Promise<FreshDatabase>): Promise<void> {
  database = await opened;
  pools = Array.from({ length: PROCESSES }, () => openPool(database.connectionString, silentLog));
  [pool] = pools as [Pool];
}

/** A program whose steps are those of this one and this file. */
function newer(file: string, text: string): MigrateOptions {
  writeFileSync(join(folder, file), text);
  return { folder, times };
}

async function namesIn(table: "schema_step" | "schema_migration"): Promise<readonly string[]> {
  const { rows } = await pool.query<{ name: string }>(`select name from ${table} order by name`);
  return rows.map(({ name }) => name);
}

describe("on an empty database", () => {
  beforeEach(() => on(emptyDatabase()));

  test("of several processes that start together one runs every step, once", async () => {
    const long = { ...times, waitMs: 30_000 };
    const ran = await Promise.all(pools.map((each) => migrateDatabase(each, { times: long })));
    expect(ran.flat()).toEqual(NAMES);
    expect(await namesIn("schema_step")).toEqual(NAMES);
    // So that version 0.1.0 starts on it too.
    expect(await namesIn("schema_migration")).toEqual(RELEASED);
    await checkSchema(pool);
    expect(await migrateDatabase(pool)).toEqual([]);
  });

  test("a step that fails changes nothing, says why, and those before it stay", async () => {
    const options = newer("0099-more.sql", "create table more (a text); select 1 / 0;");
    await expect(migrateDatabase(pool, options)).rejects.toThrow(
      /step 0099-more fails and has changed nothing: division by zero; .*`tokenmarket migrate`/,
    );
    const { rows } = await pool.query("select to_regclass('more') as made");
    expect(rows).toEqual([{ made: null }]);
    expect(await namesIn("schema_step")).toEqual(NAMES);
    const corrected = newer("0099-more.sql", "create table more (a text);");
    expect(await migrateDatabase(pool, corrected)).toEqual(["0099-more"]);
  });

  test("a database of a program that was never published is refused and stays as it is", async () => {
    await pool.query("create table kysely_migration (name text)");
    const isEarly = "before the first release";
    await expect(checkSchema(pool)).rejects.toThrow(isEarly);
    await expect(migrateDatabase(pool)).rejects.toThrow(isEarly);
    const { rows } = await pool.query("select to_regclass('schema_step') as made");
    expect(rows).toEqual([{ made: null }]);
  });

  test("a database with a text that was published before, and reads the same, goes on", async () => {
    const file = join(folder, "0003-features.sql");
    const now = "-- What the provider reports that it cost, whoever pays for it.";
    const before = "-- The cost that the provider reports, also where no customer pays for it.";
    writeFileSync(file, readFileSync(file, "utf8").replace(now, before));
    await migrateDatabase(pool, { folder });
    await checkSchema(pool);
    expect(await migrateDatabase(pool)).toEqual([]);
  });

  test("one with another text of a step is refused", async () => {
    const first = join(folder, "0001-accounts.sql");
    writeFileSync(first, readFileSync(first, "utf8").replace("text not null", "text  not null"));
    await migrateDatabase(pool, { folder });
    const isOther = "its 0001-accounts is not the one of this version";
    await expect(checkSchema(pool)).rejects.toThrow(isOther);
    await expect(migrateDatabase(pool)).rejects.toThrow(isOther);
  });

  test("what the runner of version 0.1.0 has made is taken over, and nothing of it runs again", async () => {
    const released = readMigrations(MIGRATIONS_FOLDER).slice(0, RELEASED.length);
    await pool.query(
      "create table schema_migration (name text primary key, sha256 text not null, " +
        "applied_at timestamptz not null default now())",
    );
    for (const { name, text, sha256 } of released) {
      await pool.query(text);
      await pool.query("insert into schema_migration values ($1, $2)", [name, sha256]);
    }
    await expect(checkSchema(pool)).rejects.toThrow("is older than this program");
    expect((await planMigration(pool)).steps.map(({ name }) => name)).toEqual(NAMES.slice(11));
    expect(await migrateDatabase(pool)).toEqual(NAMES.slice(11));
    expect(await namesIn("schema_step")).toEqual(NAMES);
    expect(await namesIn("schema_migration")).toEqual(RELEASED);
    await checkSchema(pool);
  });
});

describe("on a database with this program's schema", () => {
  beforeEach(() => on(freshDatabase()));

  test("a newer program's step is no hindrance for the older one that it was written for", async () => {
    const more = `-- program_min: ${LEVEL}\ncreate table more (only_row boolean);`;
    expect(await migrateDatabase(pool, newer("0099-more.sql", more))).toEqual(["0099-more"]);
    await checkSchema(pool);
    expect(await migrateDatabase(pool)).toEqual([]);
    expect((await planMigration(pool)).state).toMatchObject({ databaseLevel: 99, missing: [] });
  });

  test("a step that needs a newer program stops the older one, and version 0.1.0 too", async () => {
    const options = newer("0099-less.sql", "-- program_min: 98\nselect 1;");
    writeFileSync(join(folder, "0098-before.sql"), "-- program_min: 11\nselect 1;");
    await migrateDatabase(pool, options);
    const isNewer = "its 0099-less needs a program of level 98 or higher";
    await expect(migrateDatabase(pool)).rejects.toThrow(isNewer);
    await expect(checkSchema(pool)).rejects.toThrow(isNewer);
    await expect(planMigration(pool)).rejects.toThrow(isNewer);
    expect(await namesIn("schema_migration")).toEqual([...RELEASED, "0099-less"]);
  });

  test("a step that does not say for whom it is keeps every older program out", async () => {
    await migrateDatabase(pool, newer("0099-silent.sql", "select 1;"));
    await expect(checkSchema(pool)).rejects.toThrow("a program of level 99 or higher");
  });

  test("a step of another line of programs is refused", async () => {
    await pool.query("insert into schema_step values ('0010-other', 10, 1, '')");
    await expect(checkSchema(pool)).rejects.toThrow("it has 0010-other, which this version");
  });

  test("a step gives up its place in a queue, is tried again, and passes when the way is free", async () => {
    const report = await pool.connect();
    await report.query("begin; select count(*) from transfer");
    const options = newer(
      "0099-more.sql",
      "-- program_min: 11\nalter table transfer add column note text;",
    );
    const tried: object[] = [];
    const log = {
      info: () => undefined,
      warn: (seen: object) => {
        tried.push(seen);
        if (tried.length === 2) void report.query("commit");
      },
    };
    expect(await migrateDatabase(pool, { ...options, log })).toEqual(["0099-more"]);
    expect(tried[0]).toEqual({ step: "0099-more", tries: 1 });
    report.release();
  });

  test("a step that never gets its lock ends, names who is in the way, and changes nothing", async () => {
    const report = await pool.connect();
    await report.query("begin; select count(*) from transfer");
    const { rows } = await report.query<{ pid: number }>("select pg_backend_pid() as pid");
    const text = "-- program_min: 11\ncreate table more (); alter table transfer add note text;";
    const options = { ...newer("0099-more.sql", text), times: { ...times, tries: 3 } };
    const run = migrateDatabase(pool, options);
    await expect(run).rejects.toThrow(SchemaBusyFault);
    await expect(run).rejects.toThrow(
      new RegExp(`0099-more got no lock in 3 tries .* process ${rows[0]?.pid} .*open for \\d+ s`),
    );
    await report.query("rollback");
    report.release();
    expect(await migrateDatabase(pool, options)).toEqual(["0099-more"]);
  });

  test("a runner that waits in vain for another one says which connection has the lock", async () => {
    const other = await pool.connect();
    const { rows } = await other.query<{ pid: number }>(
      "select pg_backend_pid() as pid, pg_advisory_lock(hashtext('tokenmarket schema'))",
    );
    const options = newer("0099-more.sql", "-- program_min: 11\nselect 1;");
    const run = migrateDatabase(pool, options);
    await expect(run).rejects.toThrow(SchemaBusyFault);
    await expect(run).rejects.toThrow(new RegExp(`process ${rows[0]?.pid} .*open for \\d+ s`));
    // A start that has nothing to run waits for no other process.
    expect(await migrateDatabase(pool)).toEqual([]);
    other.release(true);
    expect(await migrateDatabase(pool, { ...options, times: RUNNER_TIMES })).toEqual(["0099-more"]);
  });
});
