import type { Pool } from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import {
  emptyDatabase,
  freshDatabase,
  type FreshDatabase,
} from "../../../test/support/postgres.ts";
import { silentLog } from "../../../test/support/silent-log.ts";
import { LEDGER_QUEUE_AGE_MS } from "../core/constants.ts";
import { openPool } from "./connection.ts";
import {
  checkSchema,
  migrateDatabase,
  type MigrateOptions,
  readSchema,
  RUNNER_TIMES,
  SchemaBusyFault,
} from "./migrate.ts";
import { computeLevel, ownSteps, toMigration } from "./schema-state.ts";

const PROCESSES = 4;
const NAMES = ownSteps().map(({ name }) => name);
const LEVEL = computeLevel(ownSteps());
/** The header of a later step with which this program still works. */
const BESIDE = `-- program_min: ${LEVEL}\n`;
/** Short times, so that a test does not wait long, but for the lock that a failed run had. */
const times = { ...RUNNER_TIMES, firstLockTimeoutMs: 30, pauseMs: 10, pollMs: 20, waitMs: 30_000 };

test("a step's first lock timeout is short enough that holds behind it are not refused", () => {
  expect(RUNNER_TIMES.firstLockTimeoutMs).toBeLessThanOrEqual(LEDGER_QUEUE_AGE_MS / 2);
});

let database: FreshDatabase;
let pools: Pool[];
let pool: Pool;

async function close(): Promise<void> {
  for (const each of pools) await each.end();
  await database.drop();
}

async function on(opened: Promise<FreshDatabase>): Promise<void> {
  database = await opened;
  pools = Array.from({ length: PROCESSES }, () => openPool(database.connectionString, silentLog));
  [pool] = pools as [Pool];
}

/** The options of a program with one more step than this one. */
function newer(name: string, text: string): MigrateOptions {
  return { steps: [...ownSteps(), toMigration({ name, level: LEVEL + 1, text })], times };
}

async function namesInList(): Promise<readonly string[]> {
  const { rows } = await pool.query<{ name: string }>(
    "select name from schema_step order by level",
  );
  return rows.map(({ name }) => name);
}

describe("a migration of an empty database", () => {
  beforeEach(() => on(emptyDatabase()));
  afterEach(close);

  test("runs every step once, in one of several processes that start together", async () => {
    const options = newer("more", `${BESIDE}create table more ();`);
    const ran = await Promise.all(pools.map((each) => migrateDatabase(each, options)));
    expect(ran.flat()).toEqual([...NAMES, "more"]);
    expect(await namesInList()).toEqual([...NAMES, "more"]);
    await checkSchema(pool);
    expect(await migrateDatabase(pool)).toEqual([]);
  });

  test("ends at a step that fails, which changes nothing, and keeps the steps before it", async () => {
    const options = newer("more", "create table more (a text); select 1 / 0;");
    await expect(migrateDatabase(pool, options)).rejects.toThrow(
      /step more fails and has changed nothing: division by zero; .*`tokenmarket migrate`/,
    );
    const { rows } = await pool.query("select to_regclass('more') as made");
    expect(rows).toEqual([{ made: null }]);
    expect(await namesInList()).toEqual(NAMES);
    const corrected = newer("more", "create table more (a text);");
    expect(await migrateDatabase(pool, corrected)).toEqual(["more"]);
  });

  test("refuses a database of an unpublished version, and does not change it", async () => {
    await pool.query("create table schema_migration (name text)");
    const isEarly = "before the first release";
    await expect(checkSchema(pool)).rejects.toThrow(isEarly);
    await expect(migrateDatabase(pool)).rejects.toThrow(isEarly);
    const { rows } = await pool.query("select to_regclass('schema_step') as made");
    expect(rows).toEqual([{ made: null }]);
  });

  test("refuses a database whose step had another text", async () => {
    const [first, ...others] = ownSteps();
    const steps = [toMigration({ name: "schema", level: 1, text: `${first?.text} ` }), ...others];
    await migrateDatabase(pool, { steps });
    const isOther = "its schema is not the one of this version";
    await expect(checkSchema(pool)).rejects.toThrow(isOther);
    await expect(migrateDatabase(pool)).rejects.toThrow(isOther);
  });
});

describe("a migration of a database with this program's schema", () => {
  beforeEach(() => on(freshDatabase()));
  afterEach(close);

  test("accepts a newer step that allows this program's level", async () => {
    const more = newer("more", `${BESIDE}create table more (only_row boolean);`);
    expect(await migrateDatabase(pool, more)).toEqual(["more"]);
    await checkSchema(pool);
    expect(await migrateDatabase(pool)).toEqual([]);
    expect(await readSchema(pool)).toMatchObject({
      databaseLevel: LEVEL + 1,
      newer: ["more"],
      missing: [],
    });
  });

  test.each([
    ["that needs a newer program", `-- program_min: ${LEVEL + 1}\nselect 1;`],
    ["without a program_min", "select 1;"],
  ])("refuses a newer step %s", async (_what, text) => {
    await migrateDatabase(pool, newer("less", text));
    const isNewer = `its less needs a program of level ${LEVEL + 1} or higher`;
    await expect(migrateDatabase(pool)).rejects.toThrow(isNewer);
    await expect(checkSchema(pool)).rejects.toThrow(isNewer);
    await expect(readSchema(pool)).rejects.toThrow(isNewer);
  });

  test("refuses an unknown step at a level that this program has", async () => {
    await pool.query("insert into schema_step values ('other', 1, 1, '')");
    await expect(checkSchema(pool)).rejects.toThrow("it has other, which this version");
  });

  test("retries a step that gets no lock, and passes once the lock is free", async () => {
    const report = await pool.connect();
    await report.query("begin; select count(*) from transfer");
    const options = newer("more", `${BESIDE}alter table transfer add column note text;`);
    const tried: object[] = [];
    const log = {
      info: () => undefined,
      warn: (seen: object) => {
        tried.push(seen);
        if (tried.length === 2) void report.query("commit");
      },
    };
    expect(await migrateDatabase(pool, { ...options, log })).toEqual(["more"]);
    expect(tried[0]).toEqual({ step: "more", tries: 1 });
    report.release();
  });

  test("gives up on a step that never gets its lock, names the blocker, and changes nothing", async () => {
    const report = await pool.connect();
    await report.query("begin; select count(*) from transfer");
    const { rows } = await report.query<{ pid: number }>("select pg_backend_pid() as pid");
    const text = `${BESIDE}create table more (); alter table transfer add note text;`;
    const options = { ...newer("more", text), times: { ...times, tries: 3 } };
    const run = migrateDatabase(pool, options);
    await expect(run).rejects.toThrow(SchemaBusyFault);
    await expect(run).rejects.toThrow(
      new RegExp(`more got no lock in 3 tries .* process ${rows[0]?.pid} .*open for \\d+ s`),
    );
    await report.query("rollback");
    report.release();
    expect(await migrateDatabase(pool, options)).toEqual(["more"]);
  });

  test("gives up waiting for another runner, and names the connection that has the lock", async () => {
    const other = await pool.connect();
    const { rows } = await other.query<{ pid: number }>(
      "select pg_backend_pid() as pid, pg_advisory_lock(hashtext('tokenmarket schema'))",
    );
    const options = newer("more", `${BESIDE}select 1;`);
    const run = migrateDatabase(pool, { ...options, times: { ...times, waitMs: 100 } });
    await expect(run).rejects.toThrow(SchemaBusyFault);
    await expect(run).rejects.toThrow(new RegExp(`process ${rows[0]?.pid} .*open for \\d+ s`));
    // A process with no step to run does not wait.
    expect(await migrateDatabase(pool)).toEqual([]);
    other.release(true);
    expect(await migrateDatabase(pool, options)).toEqual(["more"]);
  });
});
