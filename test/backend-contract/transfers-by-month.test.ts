import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openPostgresBackend, type PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import type { AttemptId, KeyId, OrgId } from "../../src/core/ids.ts";
import { microUsd } from "../../src/core/money.ts";
import { openPool } from "../../src/storage/connection.ts";
import { migrateDatabase } from "../../src/storage/migrate.ts";
import { MIGRATIONS_FOLDER } from "../../src/storage/migration-files.ts";
import { closeRow, orgWithKey, reserveRow } from "../support/ledger-rows.ts";
import { withDatabase } from "../support/postgres.ts";
import { type ReserveBatchStore, withReserveBatch } from "../support/reserve-batch.ts";
import { silentLog } from "../support/silent-log.ts";
import { testOperator } from "../support/test-operator.ts";

/**
 * The program whose newest step is 0013 calls the functions and reads the tables that this one calls
 * and reads, from sessions that were opened before the steps ran. That of 0011 runs beside them in
 * `test/e2e/operator/upgrade.deep.test.ts`.
 */
const database = withDatabase();
let pool: Pool;
let backend: PostgresBackend;
let store: ReserveBatchStore;
let org: { readonly orgId: OrgId; readonly keyId: KeyId };
let other: OrgId;
let fileBefore: unknown;
let madeMeanwhile = 0;

beforeAll(async () => {
  const { connectionString } = database;
  pool = openPool(connectionString, silentLog);
  await migrateToThirteen(pool);
  backend = openPostgresBackend({ connectionString, log: silentLog });
  store = withReserveBatch(backend.ledgerBatchStore);
  await pool.query(
    "insert into price_pin values ('pin-1', 'acme-ai', 'acme/small', 1, 1, 1, 1, 1)",
  );
  await pool.query("select ensure_attempt_partition('2025-01-01')");
  org = await orgWithKey(backend, { creditMicroUsd: 1_000_000n });
  other = (await orgWithKey(backend, { creditMicroUsd: 5n })).orgId;
  await backend.creditStore.grant(grantOf("before"), testOperator);
  await cycle();
  fileBefore = await fileOf("transfer");
  const end = new AbortController();
  const traffic = (async () => {
    while (!end.signal.aborted) {
      await cycle();
      madeMeanwhile += 1;
    }
  })();
  await migrateDatabase(pool);
  await cycle();
  end.abort();
  await traffic;
}, 60_000);
afterAll(async () => {
  await backend.close();
  await pool.end();
});

/** The schema before transfers had months, with the columns and functions that this program uses. */
async function migrateToThirteen(to: Pool): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "tokenmarket-thirteen-"));
  const filter = (path: string): boolean => !/^00(1[4-9]|2[0-58]|3[0-2])/.test(basename(path));
  cpSync(MIGRATIONS_FOLDER, folder, { recursive: true, filter });
  await migrateDatabase(to, { folder });
  rmSync(folder, { recursive: true });
}

let made = 0n;

/** One attempt, from its hold to its end. */
async function cycle(): Promise<AttemptId> {
  made += 1n;
  const attemptId = made as AttemptId;
  const member = await store.join(`one-${made}`, 60_000);
  const [outcome] = await store.reserveBatch(member, [
    { row: reserveRow({ ...org, attemptId }, 100n), close: null },
  ]);
  expect(outcome?.kind).toBe("reserved");
  const verdicts = await store.closeBatch([closeRow(attemptId, 40n)]);
  expect(verdicts.map(({ kind }) => kind)).toEqual(["closed"]);
  return attemptId;
}

function grantOf(ref: string): Parameters<PostgresBackend["creditStore"]["grant"]>[0] {
  return { orgId: org.orgId, amountMicroUsd: microUsd(7n), ref, isTrial: false };
}

async function fileOf(table: string): Promise<unknown> {
  const { rows } = await pool.query("select pg_relation_filenode($1::regclass) as file", [table]);
  return (rows[0] as { readonly file: unknown }).file;
}

/** The tables of the transfers of an attempt, or of a reference. */
async function tablesOf(what: { attempt: AttemptId } | { ref: string }): Promise<unknown> {
  const [column, value] = "attempt" in what ? ["attempt_id", what.attempt] : ["ref", what.ref];
  const { rows } = await pool.query<{ name: string }>(
    `select tableoid::regclass::text as name from transfer where ${column} = $1`,
    [value],
  );
  return rows.map(({ name }) => name);
}

async function brokenChecks(): Promise<unknown> {
  return (await backend.audit()).filter(({ violations }) => violations > 0);
}

const MONTH_TABLE = /^transfer_\d{6}$/;

describe("while and after transfers get a table for each month", () => {
  test("the table of today is the first month's as it is: no row is written again", async () => {
    expect(fileBefore).not.toBeNull();
    expect(await fileOf("transfer_first")).toBe(fileBefore);
  });

  test("a program of the earlier release goes on holding and closing, in the first table", async () => {
    expect(madeMeanwhile).toBeGreaterThan(0);
    expect(await tablesOf({ attempt: await cycle() })).toEqual(["transfer_first"]);
    expect(await brokenChecks()).toEqual([]);
  });

  test("the books move on to the month's own table when it is there, and stay exact", async () => {
    const before = await pool.query("select max(position) as last from transfer");
    await store.maintain();
    const attempt = await cycle();
    const [table] = (await tablesOf({ attempt })) as readonly string[];
    expect(table).toMatch(MONTH_TABLE);
    const { rows } = await pool.query(
      "select min(position) > $1 as is_later from transfer where attempt_id = $2",
      [(before.rows[0] as { readonly last: bigint }).last, attempt],
    );
    expect(rows).toEqual([{ is_later: true }]);
    expect(await brokenChecks()).toEqual([]);
  });

  test("tables of coming months are made ahead, and the order of the books is not set back", async () => {
    const read = "select last_value as at from ledger_position";
    const before = await pool.query(read);
    await store.maintain();
    expect((await pool.query(read)).rows).toEqual(before.rows);
    const { rows } = await pool.query<{ tables: bigint }>(
      "select count(*) as tables from pg_inherits where inhparent = 'transfer'::regclass",
    );
    expect(rows).toEqual([{ tables: 4n }]);
  });

  test.each([
    ["before", /^transfer_first$/],
    ["after", MONTH_TABLE],
  ])(
    "a grant whose reference was used %s counts once, in whichever table it is",
    async (ref, table) => {
      const first = await backend.creditStore.grant(grantOf(ref), testOperator);
      expect(first.created).toBe(ref === "after");
      const again = await backend.creditStore.grant(grantOf(ref), testOperator);
      expect(again).toEqual({ ...again, created: false, balanceMicroUsd: first.balanceMicroUsd });
      await expect(
        backend.creditStore.grant({ ...grantOf(ref), orgId: other }, testOperator),
      ).rejects.toThrow(/belongs to another grant/);
      expect(await tablesOf({ ref })).toEqual([expect.stringMatching(table)]);
      expect(await brokenChecks()).toEqual([]);
    },
  );

  test("no other transfer can use a reference again, nor an attempt be charged twice in a month", async () => {
    const insert = (attempt: AttemptId | null, ref: string | null): Promise<unknown> =>
      pool.query(
        `insert into transfer (position, attempt_id, kind, debit_account, credit_account, amount, ref)
         values (nextval('ledger_position'), $1, 'settle', 'a', 'b', 1, $2)`,
        [attempt, ref],
      );
    await expect(insert(null, "before")).rejects.toMatchObject({ code: "23505" });
    await expect(insert(null, "after")).rejects.toMatchObject({ code: "23505" });
    const attempt = await cycle();
    await expect(insert(attempt, null)).rejects.toMatchObject({ code: "23505" });
  });

  test("transfers of every month are never changed or deleted", async () => {
    for (const sql of [
      "update transfer set amount = amount + 1",
      "delete from transfer",
      "truncate transfer",
      "truncate transfer_first",
      `truncate transfer_${new Date().toISOString().slice(0, 7).replace("-", "")}`,
      "delete from transfer_ref",
    ]) {
      await expect(pool.query(sql), sql).rejects.toThrow(/never changed or deleted/);
    }
  });
});
