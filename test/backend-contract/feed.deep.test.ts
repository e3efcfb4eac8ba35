import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPostgresBackend, type PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import type { AttemptId } from "../../src/core/ids.ts";
import { startEmbeddedPostgres } from "../../src/storage/embedded-server.ts";
import { changesOf } from "../support/change-writes.ts";
import { closeRow, orgWithKey, pinPrices, reserveRow } from "../support/ledger-rows.ts";
import { withReserveBatch } from "../support/reserve-batch.ts";
import { silentLog } from "../support/silent-log.ts";
import { testOperator } from "../support/test-operator.ts";

/** A server of its own: the shared one does not write its log for logical readers. */
let folder: string;
let server: Awaited<ReturnType<typeof startEmbeddedPostgres>>;
let backend: PostgresBackend;
let reader: Client;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tokenmarket-feed-"));
  chmodSync(folder, 0o755);
  const first = await startEmbeddedPostgres({ dataDir: folder, log: silentLog });
  const admin = new Client({ connectionString: first.adminConnectionString });
  await admin.connect();
  await admin.query("alter system set wal_level = logical");
  await admin.end();
  await first.stop();
  server = await startEmbeddedPostgres({ dataDir: folder, log: silentLog });
  backend = openPostgresBackend({ connectionString: server.connectionString, log: silentLog });
  await backend.migrate();
  reader = new Client({ connectionString: server.adminConnectionString });
  await reader.connect();
}, 120_000);
afterAll(async () => {
  await reader.end();
  await backend.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** What a subscriber is sent: the tables by name, and how many rows came of each. */
async function read(): Promise<ReadonlyMap<string, number>> {
  const { rows } = await reader.query<{ data: Buffer }>(
    `select data from pg_logical_slot_get_binary_changes('warehouse', null, null,
       'proto_version', '1', 'publication_names', 'tm_facts')`,
  );
  const names = new Map<number, string>();
  const counts = new Map<string, number>();
  for (const { data } of rows) {
    const kind = String.fromCodePoint(data[0] ?? 0);
    if (kind === "R") {
      const [, table = ""] = data.subarray(5).toString("latin1").split("\0");
      names.set(data.readUInt32BE(1), table);
    } else if (kind === "I" || kind === "U") {
      const table = names.get(data.readUInt32BE(1)) ?? "unknown";
      counts.set(table, (counts.get(table) ?? 0) + 1);
    }
  }
  return counts;
}

test("a subscriber gets ended attempts and transfers as two tables, and nothing else", async () => {
  expect(await backend.feed.enable(testOperator)).toMatchObject({
    isEnabled: true,
    walLevel: "logical",
  });
  await reader.query("select pg_create_logical_replication_slot('warehouse', 'pgoutput')");
  await pinPrices(backend);
  const store = withReserveBatch(backend.ledgerBatchStore);
  await store.maintain();
  await store.maintain(); // this month's table of transfers is in use
  await backend.ledgerBatchStore.maintain();
  const org = await orgWithKey(backend, { creditMicroUsd: 10_000n });
  const member = await store.join("one", 60_000);
  const { rows } = await reader.query<{ id: bigint }>("select attempt_id_at(now()) as id");
  const base = BigInt(String(rows[0]?.id));
  for (const at of [1n, 2n, 3n]) {
    const attemptId = (base + at) as AttemptId;
    const row = reserveRow({ ...org, attemptId }, 100n);
    await store.reserveBatch(member, [{ row, close: null }]);
    if (at < 3n) await store.closeBatch([closeRow(attemptId, 40n)]);
  }
  expect(Object.fromEntries(await read())).toEqual({ attempt: 2, transfer: 3 });
  const { slots } = await backend.feed.status();
  expect(slots).toMatchObject([{ name: "warehouse", isActive: false }]);
  expect(await backend.feed.disable(testOperator)).toMatchObject({ isEnabled: false });
  expect(await backend.feed.disable(testOperator)).toMatchObject({ isEnabled: false });
  const of = { by: testOperator, target: "tm_facts" };
  const [off, on] = [{ published: false }, { published: true }];
  expect(await changesOf(backend, "feed.enable")).toMatchObject([
    { ...of, before: off, after: on },
  ]);
  expect(await changesOf(backend, "feed.disable")).toMatchObject([
    { ...of, before: on, after: off },
  ]);
});
