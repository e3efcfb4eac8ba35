import { expect, test } from "vitest";

import { copyData } from "../../src/backup/data-copy.ts";
import { onServer } from "../../src/backup/backup-server.ts";
import { readTables, SEEDED } from "../../src/backup/copied-tables.ts";
import { closeRow, orgWithKey, reserveRow } from "../support/ledger-rows.ts";
import { freshDatabase, type FreshDatabase, withPricedBackend } from "../support/postgres.ts";
import { silentLog as log } from "../support/silent-log.ts";
import { testOperator } from "../support/test-operator.ts";

const backend = withPricedBackend();
const LEASE_OVER = "update instance_lease set lease_until = now() - interval '1 second'";

async function withTarget(work: (target: FreshDatabase) => Promise<void>): Promise<void> {
  const target = await freshDatabase();
  try {
    await work(target);
  } finally {
    await target.drop();
  }
}

/** Every table as one hash of its rows, and every sequence as its state. */
async function contentOf(connectionString: string): Promise<Record<string, unknown>> {
  return await onServer(connectionString, async (client) => {
    const content: Record<string, unknown> = {};
    for (const { name } of await readTables(client)) {
      // That it was copied is recorded in the copy alone.
      const where = name === "change" ? "where action <> 'data.copy'" : "";
      const sql = `select count(*) as rows, md5(string_agg(t::text, '|' order by t::text)) as hash
        from "${name}" t ${where}`;
      content[name] = (await client.query(sql)).rows[0];
    }
    const sequences = `select sequencename, last_value from pg_sequences
      where sequencename <> 'change_position' order by 1`;
    content["sequences"] = (await client.query(sequences)).rows;
    return content;
  });
}

test("a copy has every row and every number of the database it was made from, and can go on", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  const life = await backend.ledgerBatchStore.join("copied", 0);
  const row = reserveRow({ ...org, attemptId: 77n as typeof row.attemptId }, 100n);
  await backend.ledgerBatchStore.reserveBatch(life, [{ row, close: null }]);
  await backend.ledgerBatchStore.closeBatch([closeRow(row.attemptId, 5n)]);
  await withTarget(async (target) => {
    const ends = {
      from: backend.connectionString,
      to: target.connectionString,
      log,
      by: testOperator,
    };
    await onServer(ends.from, async (client) => {
      await client.query("update instance_lease set lease_until = now() + interval '1 minute'");
      await expect(copyData(ends)).rejects.toThrow(/an instance serves on this database/);
      await client.query(LEASE_OVER);
    });
    const { sums, tables } = await copyData(ends);
    expect(sums.credits).toBe(1_005n);
    expect(tables.find(({ name }) => name === "attempt")?.rows).toBe(1);
    expect(await contentOf(target.connectionString)).toEqual(await contentOf(ends.from));
    await expect(copyData(ends)).rejects.toThrow(/the database named with --to is not empty/);
  });
});

test("a table that has rows before anything has happened is known", async () => {
  await withTarget(async ({ connectionString }) => {
    await onServer(connectionString, async (client) => {
      for (const { name } of await readTables(client)) {
        const { rows } = await client.query(`select from "${name}" limit 1`);
        expect([name, rows.length > 0]).toEqual([name, SEEDED.has(name)]);
      }
    });
  });
});
