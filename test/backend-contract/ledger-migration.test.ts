import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Pool } from "pg";
import { expect, test } from "vitest";
import { openPostgresBackend, type PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import type { AttemptId, KeyId, OrgId } from "../../src/core/ids.ts";
import { microUsd } from "../../src/core/money.ts";
import { closeColumns, holdColumns } from "../../src/ledger/attempt-columns.ts";
import type { CloseRow, ReserveRow } from "../../src/ledger/ledger-store.ts";
import { batchValues, marks } from "../../src/storage/columns.ts";
import { openPool } from "../../src/storage/connection.ts";
import { migrateDatabase } from "../../src/storage/migrate.ts";
import { MIGRATIONS_FOLDER } from "../../src/storage/migration-files.ts";
import { closeRow, reserveRow, voidRow } from "../support/ledger-rows.ts";
import { withDatabase } from "../support/postgres.ts";
import { silentLog } from "../support/silent-log.ts";
import { testOperator } from "../support/test-operator.ts";

const database = withDatabase();

/**
 * The schema as it was before holds had a table of their own, with what the stores of this program
 * write beside the books: the change log, and the columns of a key.
 */
async function migrateToSix(pool: Pool): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "tokenmarket-six-"));
  const filter = (path: string): boolean =>
    !/^00(0[7-9]|1[013-9]|2[0-58-9]|3)/.test(basename(path));
  cpSync(MIGRATIONS_FOLDER, folder, { recursive: true, filter });
  await migrateDatabase(pool, { folder });
  rmSync(folder, { recursive: true });
}

/** As a program of that level made a key. */
async function orgWithKeyAtSix(
  pool: Pool,
  backend: PostgresBackend,
): Promise<{ readonly orgId: OrgId; readonly keyId: KeyId }> {
  const { orgId } = await backend.accountStore.createOrg(
    { name: "Acme", email: "a@example.com" },
    testOperator,
  );
  const amountMicroUsd = microUsd(10_000n);
  await backend.creditStore.grant({ orgId, amountMicroUsd, ref: "start" }, testOperator);
  await pool.query(
    `insert into api_key (key_id, org_id, digest, label, name, origin, rpm_ceiling)
    values ('key_old', $1, decode(repeat('00', 32), 'hex'), 'tm_vk_000000', 'old', 'console', 300)`,
    [orgId],
  );
  return { orgId, keyId: "key_old" as KeyId };
}

async function reserveAtSix(pool: Pool, rows: readonly ReserveRow[], epoch = 1): Promise<void> {
  const values = ["old", String(epoch), ...batchValues(holdColumns, rows)];
  const sql = `select * from reserve_batch(${marks(2 + holdColumns.cells.length)})`;
  expect((await pool.query(sql, values)).rows).toEqual([]);
}

const LATER_COLUMNS = new Set([
  "cache_write_1h",
  "owed_pico",
  "remaining_rpm",
  "remaining_tpm",
  "queue_ms",
  "retry_after",
  "dropped_params",
]);

async function closeAtSix(pool: Pool, rows: readonly CloseRow[]): Promise<void> {
  const cells = closeColumns.cells.filter(({ name }) => !LATER_COLUMNS.has(name));
  const sql = `select codes from close_batch(${marks(cells.length)})`;
  const { rows: answers } = await pool.query(sql, batchValues({ ...closeColumns, cells }, rows));
  expect(answers).toEqual([{ codes: rows.map(() => 1) }]);
}

/** Where the rows of the journal's days, of the transfers so far and of the sums of days are. */
async function filesOf(pool: Pool, transfers: string): Promise<unknown> {
  const { rows } = await pool.query(
    `select relid::regclass::text as name, pg_relation_filenode(relid) as file
    from (select relid from pg_partition_tree('attempt') where isleaf
      union all select 'usage_sum'::regclass) t
    union all select 'transfers', pg_relation_filenode($1::regclass) order by 1`,
    [transfers],
  );
  return rows;
}

test("what was open before holds had their own table is closed, adopted and recovered", async () => {
  const { connectionString } = database;
  const pool = openPool(connectionString, silentLog);
  await migrateToSix(pool);
  const backend = openPostgresBackend({ connectionString, log: silentLog });
  await pool.query(
    `insert into price_pin values ('pin-1', 'acme-ai', 'acme/small', 1, 1, 1, 1, 1)`,
  );
  const org = await orgWithKeyAtSix(pool, backend);
  await pool.query("select ensure_attempt_partition(day::date) from unnest($1::text[]) as t(day)", [
    ["2025-01-01", "2025-01-02"],
  ]);
  await pool.query("insert into instance values ('old', 1, 1, 'host', 'process')");
  await pool.query("insert into instance_lease values ('old', now() - interval '1 minute')");
  const nextDay = 86_400_000n << 22n;
  const rowOf = (id: bigint): ReserveRow =>
    reserveRow({ ...org, attemptId: id as AttemptId }, 100n);
  const crashed = [1n, nextDay + 1n];
  const [settled, voided, open, annulled, lost, job] = [2n, nextDay + 2n, 3n, 4n, 5n, 6n];
  await reserveAtSix(pool, crashed.map(rowOf));
  await pool.query("update instance set epoch = 2");
  await pool.query("select recover_attempts(10)");
  await reserveAtSix(pool, [settled, voided, open, annulled, lost, job].map(rowOf), 2);
  await closeAtSix(pool, [closeRow(settled as AttemptId, 40n), voidRow(voided as AttemptId)]);
  await pool.query("select attach_job($1, 'job')", [job]);

  const filesBefore = await filesOf(pool, "transfer");
  expect(await migrateDatabase(pool)).toContain("0007-one-ledger-lane");
  // However long the journal is: no migration since writes it anew.
  expect(await filesOf(pool, "transfer_first")).toEqual(filesBefore);

  const store = backend.ledgerBatchStore;
  const verdicts = await store.closeBatch([
    closeRow(open as AttemptId, 30n),
    closeRow(settled as AttemptId, 1n),
    closeRow(crashed[1] as AttemptId, 60n),
  ]);
  expect(verdicts.map(({ kind }) => kind)).toEqual(["closed", "already_closed", "corrected"]);
  await store.annul([rowOf(annulled)]);
  expect(await store.takeOverDeadInstances()).toEqual(["old"]);
  expect(await store.recoverOpenAttempts()).toBe(1);
  const heir = await store.join("heir", 3_600_000);
  const adopted = await store.adoptAttempts(heir, 10);
  expect(adopted.map(({ attemptId }) => attemptId)).toEqual([job]);
  const closings = [closeRow(job as AttemptId, 70n)];
  const last = await store.runBatch({ member: heir, closings, holds: [rowOf(7n)] });
  expect(last).toMatchObject({ verdicts: [{ kind: "closed" }], outcomes: [{ kind: "reserved" }] });

  const { rows } = await pool.query<{ attempt_id: bigint; state: string; debit: bigint }>(
    "select attempt_id, state, debit from journal order by 1",
  );
  expect(rows.map(({ attempt_id: id, state, debit }) => [id, state, debit])).toEqual([
    [crashed[0], "unknown_after_crash", 100n],
    [settled, "settled", 40n],
    [open, "settled", 30n],
    [annulled, "void", 0n],
    [lost, "unknown_after_crash", 100n],
    [job, "settled", 70n],
    [7n, "open", 0n],
    [crashed[1], "unknown_after_crash", 60n],
    [voided, "void", 0n],
  ]);
  for (const check of await backend.audit()) expect(check).toMatchObject({ violations: 0 });
  await backend.close();
  await pool.end();
});
