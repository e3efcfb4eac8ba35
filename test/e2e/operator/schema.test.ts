import { existsSync } from "node:fs";
import { join } from "node:path";

import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

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

const FROM_THE_FUTURE = "insert into schema_migration values ('9999-future', '')";

/** Rows of the migrator's own table; undefined where there is none. */
async function migrationsIn(database: FreshDatabase): Promise<readonly string[] | undefined> {
  const found = await queryOf(database, "select to_regclass('schema_migration') is null as none");
  if (found[0]?.["none"] === true) return undefined;
  const rows = await queryOf(database, "select name from schema_migration order by name");
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
    change: "delete from schema_migration where name = (select max(name) from schema_migration)",
    words: "is older than this program",
  },
  {
    state: "newer",
    open: freshDatabase,
    change: FROM_THE_FUTURE,
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

test("a newer schema is refused by migrate and serve too: there is no way back", async () => {
  const database = await freshDatabase();
  try {
    await queryOf(database, FROM_THE_FUTURE);
    const env = { DATABASE_URL: database.connectionString };
    const ports = ["--port", "0", "--console-port", "0", "--internal-port", "0"];
    for (const args of [
      ["migrate", "--json"],
      ["serve", ...ports],
    ]) {
      const { code, output } = await messageOf(args, env);
      expect(code).toBe(2);
      expect(output).toContain("is newer than this program");
    }
  } finally {
    await database.drop();
  }
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
