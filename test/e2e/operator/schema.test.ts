import { existsSync } from "node:fs";
import { join } from "node:path";

import { Client } from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { OPERATOR_ENV, withOperatorFolder } from "../../support/operator.ts";
import { emptyDatabase, freshDatabase, type FreshDatabase } from "../../support/postgres.ts";
import { runCommand } from "../../support/program.ts";

/** Every command that opens stored data, but `serve`, `dev` and `migrate`. */
const COMMANDS: readonly (readonly string[])[] = [
  ["org", "create", "x", "--email", "x@example.com"],
  ["org", "list"],
  ["org", "cap", "org_x", "--usd", "1"],
  ["credit", "grant", "--org", "org_x", "--usd", "1", "--ref", "r"],
  ["credit", "ledger", "--org", "org_x"],
  ["key", "create", "--org", "org_x", "--name", "n"],
  ["key", "list"],
  ["key", "cap", "key_x", "--usd", "1"],
  ["key", "expiry", "key_x", "--never"],
  ["key", "models", "key_x", "--all"],
  ["key", "disable", "key_x"],
  ["limits", "show", "--org", "org_x"],
  ["endpoint", "list", "--org", "org_x"],
  ["connection", "list", "--org", "org_x"],
  ["unusual-use", "list"],
  ["ledger", "audit"],
  ["ledger", "recover"],
  ["ledger", "retire", "--out", "never-written"],
  ["settlement", "list"],
  ["settlement", "close"],
  ["console-link"],
  ["conformance", "watch", "--once"],
  ["doctor"],
];

/** A step that works with programs of this level and higher only. */
const fromTheFuture = (programMin: number): string =>
  `insert into schema_step values ('9999-future', 9999, ${programMin}, '')`;

/** The steps that the database has; undefined where it has no list. */
async function migrationsIn(database: FreshDatabase): Promise<readonly string[] | undefined> {
  const found = await queryOf(database, "select to_regclass('schema_step') is null as none");
  if (found[0]?.["none"] === true) return undefined;
  const rows = await queryOf(database, "select name from schema_step order by name");
  return rows.map((row) => String(row["name"]));
}

async function queryOf(
  database: FreshDatabase,
  sql: string,
): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ connectionString: database.connectionString });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function messageOf(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const { code, stdout, stderr } = await runCommand(args, { ...OPERATOR_ENV, ...env });
  return { code, output: stdout + stderr };
}

describe.each([
  { state: "empty", open: emptyDatabase, change: undefined, words: "has no tokenmarket tables" },
  {
    state: "older",
    open: freshDatabase,
    change:
      "delete from schema_migration where name like '0011%'; " +
      "delete from schema_step where name like '0011%'",
    words: "is older than this program",
  },
  {
    state: "newer",
    open: freshDatabase,
    change: fromTheFuture(9999),
    words: "is newer than this program",
  },
])("a schema that is $state", ({ open, change, words }) => {
  let database: FreshDatabase;
  let before: readonly string[] | undefined;

  beforeAll(async () => {
    database = await open();
    if (change !== undefined) await queryOf(database, change);
    before = await migrationsIn(database);
  });
  afterAll(() => database.drop());

  test("stops every command but serve and migrate, which names migrate and changes nothing", async () => {
    const env = { DATABASE_URL: database.connectionString };
    for (const args of COMMANDS) {
      const { code, output } = await messageOf(args, env);
      const call = args.join(" ");
      // The doctor reports what is wrong instead of failing: its answer is no.
      expect({ call, code }).toEqual({ call, code: args[0] === "doctor" ? 1 : 2 });
      expect(output).toContain(words);
      expect(output).toContain("`tokenmarket migrate`");
    }
    expect(await migrationsIn(database)).toEqual(before);
  });

  test("stops serve without auto_migrate", async () => {
    const env = { DATABASE_URL: database.connectionString, TM_AUTO_MIGRATE: "0" };
    const ports = ["--port", "0", "--console-port", "0", "--internal-port", "0"];
    const { code, output } = await messageOf(["serve", ...ports], env);
    expect(code).toBe(2);
    expect(output).toContain(words);
    expect(output).toContain("`tokenmarket migrate`");
    expect(await migrationsIn(database)).toEqual(before);
  });
});

describe("a newer schema", () => {
  const serve = ["serve", "--port", "0", "--console-port", "0", "--internal-port", "0"];
  let database: FreshDatabase;

  beforeEach(async () => {
    database = await freshDatabase();
  });
  afterEach(() => database.drop());

  test("that needs a newer program is refused by migrate and serve: there is no way back", async () => {
    await queryOf(database, fromTheFuture(9999));
    const env = { DATABASE_URL: database.connectionString };
    for (const args of [
      ["migrate", "--json"],
      ["migrate", "--plan"],
      ["migrate", "--check"],
      serve,
    ]) {
      const { code, output } = await messageOf(args, env);
      expect(code).toBe(2);
      expect(output).toContain("is newer than this program");
    }
  });

  test("that was made for this program too is used, by commands and by the doctor", async () => {
    await queryOf(database, fromTheFuture(11));
    const env = { DATABASE_URL: database.connectionString };
    for (const args of [
      ["org", "list"],
      ["ledger", "audit"],
      ["migrate"],
      ["migrate", "--check"],
    ]) {
      expect(await messageOf(args, env)).toMatchObject({ code: 0 });
    }
    const { output } = await messageOf(["doctor"], env);
    expect(output).toMatch(/ok +database .*level 9999.*9999-future/);
  });
});

describe("migrate --plan and --check", () => {
  let database: FreshDatabase;

  beforeAll(async () => {
    database = await emptyDatabase();
  });
  afterAll(() => database.drop());

  test("say what would run and whom it makes wait, and change nothing", async () => {
    const env = { DATABASE_URL: database.connectionString };
    const plan = await runCommand(["migrate", "--plan"], { ...OPERATOR_ENV, ...env });
    expect(plan.code).toBe(0);
    expect(plan.stdout).toContain("the database has level 0, this program");
    expect(plan.stdout).toContain("0010-price-sheets (for programs of level 10 and higher)");
    expect(plan.stdout).toContain("    attempt: reads and writes wait for a moment");
    const check = await runCommand(["migrate", "--check", "--json"], { ...OPERATOR_ENV, ...env });
    expect(check.code).toBe(1);
    expect(JSON.parse(check.stdout)).toMatchObject({ ok: false, pending: true, database_level: 0 });
    expect(await migrationsIn(database)).toBeUndefined();

    expect(await messageOf(["migrate"], env)).toMatchObject({ code: 0 });
    for (const question of ["--plan", "--check"]) {
      const { code, output } = await messageOf(["migrate", question], env);
      expect({ code, output }).toEqual({
        code: 0,
        output: expect.stringContaining("no step is missing"),
      });
    }
  });
});

describe("a data folder without a database", () => {
  const folder = withOperatorFolder({ url: "http://127.0.0.1:1" });

  test("stops a command before a database is made", async () => {
    const { code, output } = await messageOf(["org", "list", "--data", folder.dataDir], {});
    expect(code).toBe(2);
    expect(output).toContain(`there is no database in ${folder.dataDir}`);
    expect(output).toContain("`tokenmarket migrate`");
    expect(existsSync(join(folder.dataDir, "postgres"))).toBe(false);
  });
});
