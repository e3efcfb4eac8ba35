import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { attemptInstantMs, type AttemptId } from "../../src/kernel/core/ids.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import { LaneConnection, runBatch } from "../../src/ledger/ledger-batches.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { until } from "../support/books.ts";
import { closeRow, orgWithKey, reserveRow } from "../support/ledger-rows.ts";
import { openOnDatabaseClock, setDatabaseClock } from "../support/database-clock.ts";
import { withPricedBackend } from "../support/postgres.ts";
import { silentLog } from "../support/silent-log.ts";
import { lockWallet } from "../support/sql.ts";
import { withResource } from "../support/with-resource.ts";

const plain = withPricedBackend();
const backend = withResource(() => openOnDatabaseClock(plain));
const setClock = (instant: string): Promise<void> => setDatabaseClock(plain, instant);

test("a hold that waits for a locked wallet past the end of a month counts in the new month", async () => {
  const store = backend.ledgerBatchStore;
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  const member = await store.join("waiting", 3_600_000);
  await setClock("2031-06-30T23:59:59.999Z");
  const { connectionString } = plain;
  const blocker = await lockWallet(plain, org);
  // The time limits are long, because how long this waits depends on the machine.
  const limits = { statementTimeoutMs: 60_000, lockTimeoutMs: 60_000 };
  const lane = new LaneConnection({ connectionString, name: "patient", log: silentLog, ...limits });
  onTestFinished(() => blocker.end());
  onTestFinished(() => lane.close());
  const row = reserveRow({ ...org, attemptId: 3n as AttemptId }, 100n);
  const held = runBatch(lane, { member, closings: [], holds: [row] });
  const waiting = `select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  await until("it waits", async () => (await plain.query(waiting)).length === 1);
  await setClock("2031-07-01T00:00:00Z");
  await blocker.query("commit");
  expect(await held).toMatchObject({ outcomes: [{ kind: "reserved" }] });
  const month = "select to_char(month, 'YYYY-MM') as month from hold where attempt_id = 3";
  expect(await plain.query(month)).toEqual([{ month: "2031-07" }]);
});

test("attempts are written within seconds after the database's clock has moved ten days ahead", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  await setClock("2040-01-01T12:00:00Z");
  const store = backend.ledgerBatchStore;
  const options = { store, clock: systemClock, log: silentLog, instanceName: "jumped" };
  const ledger = await openLedger(options);
  onTestFinished(() => ledger.shutDown());
  const attempt = async (): Promise<unknown> => {
    const row = reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 1n);
    const { kind } = await ledger.reserve(row);
    const end = kind === "reserved" ? await ledger.close(closeRow(row.attemptId, 1n)) : { kind };
    return [end.kind, new Date(attemptInstantMs(row.attemptId)).toISOString().slice(0, 10)];
  };
  for (const day of ["2040-01-01", "2040-01-11"]) {
    await setClock(`${day}T12:00:00Z`);
    await expect.poll(attempt, { timeout: 15_000, interval: 200 }).toEqual(["closed", day]);
  }
});

test("a day's table begins and ends at midnight UTC in any time zone of the database", async () => {
  await backend.ledgerBatchStore.maintain();
  const session = new Client({ connectionString: plain.connectionString });
  await session.connect();
  onTestFinished(() => session.end());
  await session.query("select ensure_attempt_partition('2031-03-05')");
  const sql = `select pg_get_expr(relpartbound, oid) as bounds from pg_class
    where relname = 'attempt_20310305'`;
  const idOf = (instant: string): bigint =>
    BigInt(Date.parse(instant) - Date.parse("2025-01-01T00:00:00Z")) << 22n;
  const [from, to] = [idOf("2031-03-05T00:00:00Z"), idOf("2031-03-06T00:00:00Z")];
  expect(await plain.query(sql)).toEqual([{ bounds: `FOR VALUES FROM ('${from}') TO ('${to}')` }]);
});
