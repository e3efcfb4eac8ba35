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

async function monthOf(attemptId: bigint): Promise<unknown> {
  const sql = "select to_char(month, 'YYYY-MM') as month from hold where attempt_id = $1";
  return (await plain.query(sql, [attemptId]))[0]?.["month"];
}

test("the month of a hold is the UTC month in any time zone of the database", async () => {
  const store = backend.ledgerBatchStore;
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  await setClock("2031-01-31T23:59:59.999Z");
  const member = await store.join("monthly", 3_600_000);
  const row = reserveRow({ ...org, attemptId: 1n as AttemptId }, 100n);
  await store.hold(member, row);
  expect(await monthOf(1n)).toBe("2031-01");
  await setClock("2031-02-01T00:00:00Z");
  const next = reserveRow({ ...org, attemptId: 2n as AttemptId }, 100n);
  await store.hold(member, next);
  expect(await monthOf(2n)).toBe("2031-02");
  await store.closeBatch([closeRow(row.attemptId, 7n), closeRow(next.attemptId, 5n)]);
  const spend = "select to_char(month, 'YYYY-MM') as month, settled from spend where id = $1";
  expect(await plain.query(`${spend} order by 1`, [org.keyId])).toEqual([
    { month: "2031-01", settled: "7" },
    { month: "2031-02", settled: "5" },
  ]);
});

/** Makes an id as instances do at this time of the database's clock. */
function idAt(instant: string, n: bigint): AttemptId {
  return ((BigInt(Date.parse(instant) - Date.UTC(2025, 0, 1)) << 22n) + n) as AttemptId;
}

test.each([
  // 2 February 2031 is a Sunday.
  ["day", "cap_day_micro_usd", "2031-01-29T23:59:59.999Z", "2031-01-30T00:00:00Z", "2031-01-31"],
  ["week", "cap_week_micro_usd", "2031-02-02T23:59:59.999Z", "2031-02-03T00:00:00Z", "2031-02-10"],
  ["month", "cap_micro_usd", "2031-01-31T23:59:59.999Z", "2031-02-01T00:00:00Z", "2031-03-01"],
])(
  "a key's cap per %s counts that period's spend and all holds, and a refusal names its UTC reset",
  async (period, column, last, next, end) => {
    const store = backend.ledgerBatchStore;
    const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
    await plain.query(`update api_key set ${column} = 100 where key_id = $1`, [org.keyId]);
    await setClock(last);
    const member = await store.join("capped", 3_600_000);
    for (const at of [last, next]) {
      await plain.query("select ensure_attempt_partition($1)", [at.slice(0, 10)]);
    }
    let made = 0n;
    const reserve = async (at: string, amount: bigint): Promise<[AttemptId, unknown]> => {
      const attemptId = idAt(at, (made += 1n));
      const row = reserveRow({ ...org, attemptId }, amount);
      const [outcome] = await store.reserveBatch(member, [{ row, close: null }]);
      return [attemptId, outcome];
    };
    const capOf = (settled: bigint, inFlight: bigint, resetAt: string): unknown =>
      expect.objectContaining({
        kind: "cap",
        scope: "key",
        period,
        capMicroUsd: 100n,
        settledMicroUsd: settled,
        inFlightMicroUsd: inFlight,
        resetAtMs: Date.parse(resetAt),
      });
    const [spent] = await reserve(last, 60n);
    await store.closeBatch([closeRow(spent, 55n)]);
    const [held, admitted] = await reserve(last, 40n);
    expect(admitted).toEqual({ kind: "reserved" });
    expect((await reserve(last, 6n))[1]).toEqual(capOf(55n, 40n, next));
    await setClock(next);
    expect((await reserve(next, 61n))[1]).toEqual(capOf(0n, 40n, end));
    await store.closeBatch([closeRow(held, 40n)]);
    // Spend counts in the period in which the attempt was admitted, whenever it ends.
    expect((await reserve(next, 100n))[1]).toEqual({ kind: "reserved" });
  },
);

// On 29 January 2031 the week resets on 3 February, which is after the month's reset.
test.each([
  ["week", "2031-01-29T12:00:00Z", "2031-02-03"],
  ["month", "2031-02-05T12:00:00Z", "2031-03-01"],
])("of several exceeded caps the %s cap refuses if it resets last", async (period, now, end) => {
  const store = backend.ledgerBatchStore;
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  await plain.query(
    `update api_key set cap_micro_usd = 100, cap_week_micro_usd = 100, cap_day_micro_usd = 100
    where key_id = $1`,
    [org.keyId],
  );
  await setClock(now);
  await plain.query("select ensure_attempt_partition($1)", [now.slice(0, 10)]);
  const member = await store.join("last", 3_600_000);
  const row = reserveRow({ ...org, attemptId: idAt(now, 99n) }, 101n);
  const [outcome] = await store.reserveBatch(member, [{ row, close: null }]);
  expect(outcome).toMatchObject({ kind: "cap", period, resetAtMs: Date.parse(end) });
});

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
  expect(await monthOf(3n)).toBe("2031-07");
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
