import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { beforeAll, expect, test } from "vitest";

import { runOnce, withBackend } from "../../test/support/postgres.ts";
import { silentLog } from "../../test/support/silent-log.ts";
import { withResource } from "../../test/support/with-resource.ts";
import { openPool } from "./connection.ts";
import { migrateDatabase } from "./migrate.ts";
import { MIGRATIONS_FOLDER } from "./migration-files.ts";
import { RUNNER_TIMES } from "./migration-runner.ts";

const times = { ...RUNNER_TIMES, firstLockTimeoutMs: 30, pauseMs: 10, tries: 3 };

const backend = withBackend();
const folder = withResource(
  () => ({ path: mkdtempSync(join(tmpdir(), "tokenmarket-indexes-")) }),
  ({ path }) => rmSync(path, { recursive: true }),
);
const pool = withResource(
  () => openPool(backend.connectionString, silentLog),
  (each) => each.end(),
);

beforeAll(() => cpSync(MIGRATIONS_FOLDER, folder.path, { recursive: true }));

async function runIndexStep(number: number, text: string): Promise<readonly string[]> {
  const whole = `-- program_min: 11\n-- concurrently\n${text}`;
  writeFileSync(join(folder.path, `0${number}-index.sql`), whole);
  return await migrateDatabase(pool, { folder: folder.path, times });
}

async function validity(like: string): Promise<readonly (readonly [string, boolean])[]> {
  const rows = await backend.query(
    `select indexrelid::regclass::text as name, indisvalid as valid from pg_index
    where indexrelid::regclass::text like $1 order by 1`,
    [like],
  );
  return rows.map(({ name, valid }) => [String(name), valid === true]);
}

test("an index is built while a writer has its transaction open", async () => {
  const writer = await pool.connect();
  await writer.query("begin; update org set name = name");
  const built = runIndexStep(901, "create index concurrently org_by_name on org (name);");
  // It waits for the writer, and no other writer waits for it.
  await expect.poll(() => validity("org_by_name")).toEqual([["org_by_name", false]]);
  await runOnce(backend.connectionString, "set statement_timeout = 5000; update org set name = ''");
  await writer.query("commit");
  writer.release();
  expect(await built).toEqual(["0901-index"]);
  expect(await validity("org_by_name")).toEqual([["org_by_name", true]]);
});

test("an index that an error left invalid is built again when the cause is gone", async () => {
  await backend.query("create table twice (a integer)");
  await backend.query("insert into twice values (1), (1)");
  const text = "create unique index concurrently twice_a on twice (a);";
  await expect(runIndexStep(902, text)).rejects.toThrow("could not create unique index");
  expect(await validity("twice_a")).toEqual([["twice_a", false]]);
  await backend.query("delete from twice");
  expect(await runIndexStep(902, text)).toEqual(["0902-index"]);
  expect(await validity("twice_a")).toEqual([["twice_a", true]]);
});

test("an index of the journal is built on each day, and a later day has it too", async () => {
  const text = `create index concurrently by_route on attempt (route) where stream;`;
  await backend.query("select ensure_attempt_partition('2025-01-02')");
  // A run that was killed after the first day.
  await backend.query("create index by_route on only attempt (route) where stream");
  await backend.query(
    "create index attempt_20250101_by_route on attempt_20250101 (route) where stream",
  );
  expect(await runIndexStep(903, text)).toEqual(["0903-index"]);
  await backend.query("select ensure_attempt_partition('2025-01-03')");
  const found = await validity("%by_route%");
  expect(found.every(([, isValid]) => isValid)).toBe(true);
  const leaves = await backend.query("select relid from pg_partition_tree('attempt') where isleaf");
  const joined = await backend.query("select from pg_partition_tree('by_route') where isleaf");
  expect(joined).toHaveLength(leaves.length);
});

test("time limits count again for the steps behind a build that had to be tried again", async () => {
  const writer = await pool.connect();
  const [row] = (await writer.query("show statement_timeout")).rows as {
    statement_timeout: string;
  }[];
  expect(row?.statement_timeout).not.toBe("0");
  await writer.query("begin; lock table attempt in row exclusive mode");
  const steps = {
    "0904-index": "-- concurrently\ncreate index concurrently by_basis on attempt (basis);",
    "0905-limit": "create table seen as select current_setting('statement_timeout') as seen;",
  };
  for (const [name, text] of Object.entries(steps)) {
    writeFileSync(join(folder.path, `${name}.sql`), `-- program_min: 11\n${text}`);
  }
  let tries = 0;
  const warn = (): void => {
    tries += 1;
    if (tries === 1) void writer.query("commit");
  };
  const log = { info: () => undefined, warn };
  const patient = { ...times, tries: 1_000, firstTries: 1_000 };
  const ran = await migrateDatabase(pool, { folder: folder.path, times: patient, log });
  writer.release();
  expect(ran).toEqual(Object.keys(steps));
  expect(tries).toBeGreaterThan(0);
  expect(await backend.query("select seen from seen")).toEqual([{ seen: row?.statement_timeout }]);
});

test("a step that builds indexes does nothing else", async () => {
  const text = "create index concurrently org_by_person on org (email); drop table org;";
  await expect(runIndexStep(906, text)).rejects.toThrow("0906-index may only");
  expect(await validity("org_by_person")).toEqual([]);
});
