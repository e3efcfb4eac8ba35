import { existsSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import { ANY_PORTS, jsonCommand, OPERATOR_ENV } from "../../support/operator.ts";
import { emptyDatabase, freshDatabase, type FreshDatabase } from "../../support/postgres.ts";
import { runCommand } from "../../support/program.ts";
import { newFolder } from "../../support/run-folder.ts";
import { inSession } from "../../support/sql.ts";
import { withResource } from "../../support/with-resource.ts";

/** Every command that opens stored data, but `serve`, `dev` and `migrate`. */
const COMMANDS: readonly (readonly string[])[] = [
  ["org", "create", "x", "--email", "x@example.com"],
  ["org", "list"],
  ["org", "cap", "org_x", "--cap-usd", "1"],
  ["credit", "grant", "--org", "org_x", "--amount-usd", "1", "--ref", "r"],
  ["credit", "ledger", "--org", "org_x"],
  ["key", "create", "--org", "org_x", "--name", "n"],
  ["key", "list", "--org", "org_x"],
  ["key", "show", "key_x"],
  ["key", "change", "key_x", "--expires-at", "never"],
  ["key", "change-many", "--org", "org_x", "--key-ids", "key_x", "--cap-usd", "1"],
  ["key", "disable-many", "--org", "org_x", "--key-ids", "key_x"],
  ["key", "disable", "key_x"],
  ["limits", "show", "--org", "org_x"],
  ["endpoint", "list", "org_x"],
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

/** A migration step whose schema only programs of this schema level or higher can work with. */
const fromTheFuture = (programMin: number): string =>
  `insert into schema_step values ('future', 9999, ${programMin}, '')`;

/** The names of the steps in the database; undefined if it has no list of steps. */
async function migrationsIn(database: FreshDatabase): Promise<readonly string[] | undefined> {
  const [found] = await queryOf(database, "select to_regclass('schema_step') is null as none");
  if (found?.["none"] === true) return undefined;
  const rows = await queryOf(database, "select name from schema_step order by name");
  return rows.map((row) => String(row["name"]));
}

function queryOf(database: FreshDatabase, sql: string) {
  return inSession(
    database.connectionString,
    async (client) => (await client.query<Record<string, unknown>>(sql)).rows,
  );
}

async function messageOf(args: readonly string[], env: Readonly<Record<string, string>>) {
  const { code, stdout, stderr } = await runCommand(args, { ...OPERATOR_ENV, ...env });
  return { code, output: stdout + stderr };
}

const EARLY = "insert into schema_step values ('0001-accounts', 1, 1, '')";
const MIGRATIONS = [
  ["migrate", "--json"],
  ["migrate", "--check"],
  ["serve", ...ANY_PORTS],
] as const;

describe.each([
  { state: "empty", open: emptyDatabase, words: "has no tokenmarket tables" },
  {
    state: "older",
    change: "delete from schema_step where name = 'functions'",
    words: "is older than this program",
    /** All commands check the schema in one place; this shows that none of them skips it. */
    commands: COMMANDS,
  },
  {
    state: "from before the first release",
    change: EARLY,
    words: "before the first release, whose schema no step leads on from: export what you need",
    refused: MIGRATIONS,
  },
  {
    state: "newer",
    change: fromTheFuture(9999),
    words: "is newer than this program",
    refused: MIGRATIONS,
  },
])("a schema that is $state", ({ open = freshDatabase, change, words, commands, refused }) => {
  const database = withResource(open, (opened) => opened.drop());

  test("stops commands and serve without auto_migrate before any change, and the message names migrate", async () => {
    if (change !== undefined) await queryOf(database, change);
    const before = await migrationsIn(database);
    const env = { DATABASE_URL: database.connectionString };
    const serve = ["serve", ...ANY_PORTS];
    for (const args of [...(commands ?? [["org", "list"], ["doctor"]]), serve]) {
      const { code, output } = await messageOf(args, { ...env, TM_AUTO_MIGRATE: "0" });
      const call = args.join(" ");
      // `doctor` exits with 1, because it reports the problem instead of failing.
      expect({ call, code }).toEqual({ call, code: args[0] === "doctor" ? 1 : 2 });
      expect(output).toContain(words);
      expect(output).toContain("`tokenmarket migrate`");
    }
    for (const args of refused ?? []) {
      const { code, output } = await messageOf(args, env);
      expect({ args, code }).toEqual({ args, code: 2 });
      expect(output).toContain(words);
    }
    expect(await migrationsIn(database)).toEqual(before);
  });
});

test("a newer schema that still works with this program is used, and doctor names its level", async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  await queryOf(database, fromTheFuture(2));
  const env = { DATABASE_URL: database.connectionString };
  for (const args of [["org", "list"], ["ledger", "audit"], ["migrate"], ["migrate", "--check"]]) {
    expect(await messageOf(args, env)).toMatchObject({ code: 0 });
  }
  const { output } = await messageOf(["doctor"], env);
  expect(output).toMatch(/ok +database .*level 9999.*future/);
});

test("migrate --check names the steps that would run, and changes nothing", async () => {
  const database = await emptyDatabase();
  onTestFinished(() => database.drop());
  const env = { DATABASE_URL: database.connectionString };
  const check = await jsonCommand(["migrate", "--check"], env);
  expect(check.code).toBe(1);
  expect(check.json).toEqual({
    ok: false,
    database_level: 0,
    program_level: 2,
    newer_steps: [],
    missing_steps: ["schema", "functions"],
  });
  expect(await migrationsIn(database)).toBeUndefined();
  expect(await messageOf(["migrate"], env)).toMatchObject({ code: 0 });
  const output = expect.stringContaining("no step is missing");
  expect(await messageOf(["migrate", "--check"], env)).toEqual({ code: 0, output });
});

test("a command in a data folder without a database exits with 2 instead of creating one", async () => {
  const dataDir = join(newFolder("schema"), "data");
  const { code, output } = await messageOf(["org", "list", "--data", dataDir], {});
  expect(code).toBe(2);
  expect(output).toContain(`there is no database in ${dataDir}`);
  expect(output).toContain("`tokenmarket migrate`");
  expect(existsSync(join(dataDir, "postgres"))).toBe(false);
});
