import { Client } from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createVirtualKey } from "../../src/gateway/accounts/authenticate.ts";
import { type AttemptId, createRecordId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import type { Membership } from "../../src/ledger/ledger-batch-store.ts";
import type { CloseRow, ReserveOutcome, ReserveRow } from "../../src/ledger/ledger-store.ts";
import { LaneConnection, runBatch, runCloseBatch } from "../../src/ledger/ledger-batches.ts";
import { beginSession } from "../../src/kernel/storage/connection.ts";
import { until } from "../support/books.ts";
import { quickOrDeep } from "../support/depth.ts";
import { closeRow, orgWithKey, reserveRow } from "../support/ledger-rows.ts";
import { unknownRow } from "../support/old-days.ts";
import { withPricedBackend } from "../support/postgres.ts";
import { silentLog } from "../support/silent-log.ts";
import { testOperator } from "../support/test-operator.ts";
import { withResource } from "../support/with-resource.ts";

/*
 * Tests, lock by lock, what a transaction waits for while another one holds the lock. The order of
 * the locks keeps batches, take-overs and settlement from deadlocks and from missing each other.
 */
const LEASE_MS = 3_600_000;
/** How many times caps are set and removed while attempts close. */
const ROUNDS = quickOrDeep(12, 200);

const backend = withPricedBackend();
/** The connection that holds the lock of a test. */
const blocker = withResource(connect, (client) => client.end());
/** A connection for statements that must not have to wait. */
const other = withResource(connect, (client) => client.end());
/** A ledger connection with long time limits, because a test's waits depend on the machine. */
const lane = withResource(openLane, (opened) => opened.close());

function openLane(): LaneConnection {
  return new LaneConnection({
    connectionString: backend.connectionString,
    name: "patient",
    statementTimeoutMs: 60_000,
    lockTimeoutMs: 60_000,
    log: silentLog,
  });
}

/** Runs `work` on a second ledger connection. */
async function withLane<T>(work: (own: LaneConnection) => Promise<T>): Promise<T> {
  const own = openLane();
  try {
    return await work(own);
  } finally {
    await own.close();
  }
}

beforeEach(() => blocker.query("begin"));
afterEach(async () => {
  await blocker.query("rollback");
  await expectCleanBooks();
});

async function expectCleanBooks(): Promise<void> {
  for (const check of await backend.audit()) expect(check).toMatchObject({ violations: 0 });
}

async function connect(): Promise<Client> {
  const client = new Client({ connectionString: backend.connectionString });
  await client.connect();
  await beginSession(client, { statementTimeoutMs: 0 });
  return client;
}

type Org = Awaited<ReturnType<typeof orgWithKey>>;

const lockWallet = ({ orgId }: Org, mode = ""): [string, string[]] => [
  `select from account where account_id = $1 for update ${mode}`,
  [`wallet:${orgId}`],
];

function newOrg(creditMicroUsd = 1_000n): Promise<Org> {
  return orgWithKey(backend, { creditMicroUsd });
}

let lastAttempt = 0n;

function reserveOf(org: Org): ReserveRow {
  return reserveRow({ ...org, attemptId: ++lastAttempt as AttemptId }, 100n);
}

async function reserve(
  member: Membership,
  org: Org,
  ...closings: CloseRow[]
): Promise<readonly ReserveOutcome[]> {
  const { outcomes } = await runBatch(lane, { member, closings, holds: [reserveOf(org)] });
  return outcomes;
}

async function heldBy(member: Membership, org: Org): Promise<AttemptId> {
  const row = reserveOf(org);
  await runBatch(lane, { member, closings: [], holds: [row] });
  return row.attemptId;
}

/** Waits until exactly `sessions` sessions of this database wait for a lock. */
function waitingFor(sessions: number): Promise<true> {
  const sql = `select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  return until(`${sessions} wait`, async () => (await backend.query(sql)).length === sessions);
}

test("a cap change waits for the lock of its wallet", async () => {
  const org = await newOrg();
  await blocker.query(...lockWallet(org));
  const change = backend.accountStore.setOrgCap(org.orgId, microUsd(500n), testOperator);
  await waitingFor(1);
  await blocker.query("commit");
  expect(await change).toBe(true);
});

test("a monthly and a first daily cap set together leave the wallet free while the week is counted", async () => {
  const org = await newOrg();
  await blocker.query("lock table attempt");
  const caps = { month: microUsd(500n), day: microUsd(100n) };
  const { orgId, keyId } = org;
  const edit = backend.accountStore.editKeys(orgId, [keyId], { caps }, testOperator);
  await waitingFor(1);
  expect(await backend.query(...lockWallet(org, "nowait"))).toHaveLength(1);
  await blocker.query("commit");
  expect(await edit).toMatchObject([{ caps }]);
});

/** Begins to credit the organization, by one of the two ways in which it can get credit. */
function credit({ orgId }: Org, way: "a grant" | "a purchase"): Promise<unknown> {
  const amountMicroUsd = microUsd(5_000_000n);
  const ref = createRecordId("pur");
  const { creditStore, purchaseStore } = backend;
  if (way === "a grant") return creditStore.grant({ orgId, amountMicroUsd, ref }, testOperator);
  const times = { nowMs: 1, expiresAtMs: 2, countedFromMs: 1, purchasesMax: 1 };
  const wanted = { purchaseId: ref, orgId, amountMicroUsd, isTestMoney: false, ...times };
  const paid = { purchaseId: ref, paymentId: ref, receiptUrl: null };
  return purchaseStore.create(wanted, testOperator).then(() => purchaseStore.grant(paid));
}

test.each(["a grant", "a purchase"] as const)(
  "%s and changes of caps at the same time all succeed",
  async (way) => {
    const { accountStore } = backend;
    const org = await newOrg();
    const { orgId, keyId } = org;
    await blocker.query(...lockWallet(org));
    const caps = { month: microUsd(500n) };
    const { digest, label } = createVirtualKey();
    const key = { orgId, name: "capped", origin: "console", digest, label, caps } as const;
    const limit = {
      target: { source: "self", scope: "key", keyId },
      change: { concurrent: 1 },
    } as const;
    const steps = [
      () => credit(org, way),
      () => accountStore.editKeys(orgId, [keyId], { caps, limit }, testOperator),
      () => accountStore.setOrgCap(orgId, microUsd(500n), testOperator),
      () => accountStore.createOwnKey({ ...key, requestsPerMinuteCeiling: 1 }, testOperator),
    ];
    const running: Promise<unknown>[] = [];
    for (const step of steps) {
      running.push(step());
      await waitingFor(running.length);
    }
    await blocker.query("commit");
    await Promise.all(running);
    const { settledMicroUsd } = await backend.recordStore.balance(orgId);
    expect(settledMicroUsd).toBe(5_001_000n);
  },
);

test("a take-over waits for holds in progress, so that recovery sees all of them", async () => {
  const store = backend.ledgerBatchStore;
  const org = await newOrg();
  const dying = await store.join("dying", 0);
  await heldBy(dying, org);
  await blocker.query(...lockWallet(org));
  const late = reserve(dying, org);
  await waitingFor(1);
  const takenOver = store.takeOverDeadInstances();
  await waitingFor(2);
  await blocker.query("commit");
  expect(await late).toEqual([{ kind: "reserved" }]);
  expect(await takenOver).toEqual(["dying"]);
  expect(await store.recoverOpenAttempts()).toBe(2);
});

test("a process that starts under a living instance's name does not delay its holds", async () => {
  const store = backend.ledgerBatchStore;
  const org = await newOrg();
  const living = await store.join("shared", LEASE_MS);
  await other.query("update instance set host = 'elsewhere' where instance_id = 'shared'");
  await blocker.query("lock table instance_lease in exclusive mode");
  const joining = store.join("shared", LEASE_MS);
  await waitingFor(1);
  // A batch locks the instance's row in this mode, so this lock must be free.
  await other.query("select from instance where instance_id = 'shared' for share nowait");
  expect(await reserve(living, org)).toEqual([{ kind: "reserved" }]);
  await blocker.query("commit");
  expect(await joining).toMatchObject({ instanceId: "shared-2" });
});

test("two simultaneous recoveries of one attempt charge it once and refund nothing", async () => {
  const store = backend.ledgerBatchStore;
  const org = await newOrg();
  await heldBy(await store.join("left open", 0), org);
  expect(await store.takeOverDeadInstances()).toEqual(["left open"]);
  await blocker.query(...lockWallet(org));
  const recoveries = [store.recoverOpenAttempts(), store.recoverOpenAttempts()];
  await waitingFor(2);
  await blocker.query("commit");
  expect((await Promise.all(recoveries)).toSorted((a, b) => a - b)).toEqual([0, 1]);
  expect(await backend.recordStore.balance(org.orgId)).toEqual({
    settledMicroUsd: 900n,
    heldMicroUsd: 0n,
  });
});

test("a roll that waits for its instance row locks no wallet", async () => {
  const store = backend.ledgerBatchStore;
  const org = await newOrg();
  const member = await store.join("rolling", LEASE_MS);
  const close = closeRow(await heldBy(member, org), 7n, { final: false });
  await blocker.query("select from instance where instance_id = 'rolling' for update");
  const rolled = reserve(member, org, close);
  await waitingFor(1);
  await other.query(...lockWallet(org, "nowait"));
  await blocker.query("commit");
  expect(await rolled).toEqual([{ kind: "reserved" }]);
});

test("a batch locks its wallets by id, not in the order of its closings and holds", async () => {
  const store = backend.ledgerBatchStore;
  const orgs = [await newOrg(), await newOrg()].sort((a, b) => (a.orgId < b.orgId ? -1 : 1));
  const [first, second] = orgs;
  if (first === undefined || second === undefined) throw new Error("two organizations");
  const member = await store.join("two wallets", LEASE_MS);
  const close = closeRow(await heldBy(member, second), 7n);
  await blocker.query(...lockWallet(first));
  const rolled = reserve(member, first, close);
  await waitingFor(1);
  await other.query(...lockWallet(second, "nowait"));
  await blocker.query("commit");
  expect(await rolled).toEqual([{ kind: "reserved" }]);
});

test("a closing waits while the settlement horizon moves, and is dated at or after the new horizon", async () => {
  const store = backend.ledgerBatchStore;
  const org = await newOrg();
  const member = await store.join("closing", LEASE_MS);
  const attemptId = await heldBy(member, org);
  const advance = "select advance_settlement_horizon(clock_timestamp()) as through";
  const { rows } = await blocker.query<{ through: Date }>(advance);
  const closing = runCloseBatch(lane, [closeRow(attemptId, 7n)]);
  await waitingFor(1);
  await blocker.query("commit");
  expect(await closing).toMatchObject([{ kind: "closed" }]);
  const sql = "select closed_at >= $2 as is_behind from attempt where attempt_id = $1";
  expect(await backend.query(sql, [attemptId, rows[0]?.through])).toEqual([{ is_behind: true }]);
});

/** Makes ids of the current time as instances do, so that daily caps count the attempts. */
async function idsOfNow(): Promise<() => AttemptId> {
  const today = "(now() at time zone 'utc')::date";
  await backend.query(`select ensure_attempt_partition(${today} + n) from generate_series(0, 1) n`);
  const [row] = await backend.query("select attempt_id_at(clock_timestamp())::text as id");
  let next = BigInt(String(row?.["id"]));
  return () => (next += 1n) as AttemptId;
}

/** Days on which the stored spend of these organizations' keys differs from their attempts. */
async function wrongDays(orgs: readonly Org[]): Promise<readonly unknown[]> {
  return await backend.query(
    `select key_id, day, s.settled as stored, d.settled as due
    from (select * from spend_day where key_id = any ($1)) s
    full join (
      select key_id, (created_at at time zone 'utc')::date as day, sum(debit)::bigint as settled
      from attempt where key_id = any ($1) group by 1, 2) d using (key_id, day)
    where s.settled is distinct from d.settled`,
    [orgs.map(({ keyId }) => keyId)],
  );
}

test("an attempt that ends while its key gets a first daily cap counts once in the day's spend", async () => {
  const org = await newOrg();
  const member = await backend.ledgerBatchStore.join("counted", LEASE_MS);
  const newId = await idsOfNow();
  const [early, crashed, between, behind] = [newId(), newId(), newId(), newId()];
  const holds = [early, crashed, between, behind].map((attemptId) =>
    reserveRow({ ...org, attemptId }, 100n),
  );
  await runBatch(lane, { member, closings: [], holds });
  await runCloseBatch(lane, [closeRow(early, 10n), unknownRow(crashed)]);
  await blocker.query(...lockWallet(org));
  const closing = runCloseBatch(lane, [closeRow(between, 30n), closeRow(crashed, 7n)]);
  await waitingFor(1);
  const sql = "update api_key set cap_day_micro_usd = 500 where key_id = $1";
  const counting = other.query(sql, [org.keyId]);
  await waitingFor(2);
  const last = withLane((second) => runCloseBatch(second, [closeRow(behind, 5n)]));
  await waitingFor(3);
  await blocker.query("commit");
  expect(await closing).toMatchObject([{ kind: "closed" }, { kind: "corrected" }]);
  await counting;
  await last;
  const days = "select settled::integer as settled from spend_day where key_id = $1";
  expect(await backend.query(days, [org.keyId])).toEqual([{ settled: 10 + 7 + 30 + 5 }]);
  expect(await wrongDays([org])).toEqual([]);
});

test("parallel closings count exactly once in the daily spend while caps are set and removed", async () => {
  const orgs = [await newOrg(1_000_000_000n), await newOrg(1_000_000_000n)] as const;
  const member = await backend.ledgerBatchStore.join("counting", LEASE_MS);
  const newId = await idsOfNow();
  const storm = { ended: 0, isOver: false };
  const work = (nth: number): Promise<void> =>
    withLane(async (own) => {
      while (!storm.isOver) {
        const org = orgs[(nth + storm.ended) % 2] ?? orgs[0];
        const [a, b, c] = [newId(), newId(), newId()];
        const holds = [a, b, c].map((attemptId) => reserveRow({ ...org, attemptId }, 100n));
        await runBatch(own, { member, closings: [], holds });
        const cost = BigInt(storm.ended % 97);
        await runBatch(own, { member, closings: [closeRow(a, cost)], holds: [] });
        await runCloseBatch(own, [closeRow(b, cost + 1n), unknownRow(c)]);
        await runCloseBatch(own, [closeRow(c, cost + 2n)]);
        storm.ended += 3;
      }
    });
  const workers = Promise.all([0, 1, 2, 3].map(work));
  const keys = orgs.map(({ keyId }) => keyId);
  const caps = `update api_key set cap_day_micro_usd = $2, cap_week_micro_usd = $3
    where key_id = any ($1)`;
  const setCaps = (day: number | null, week: number | null): Promise<unknown> =>
    backend.query(caps, [keys, day, week]);
  for (let round = 0; round < ROUNDS; round += 1) {
    const from = storm.ended;
    await setCaps(1_000_000_000, round % 2 === 0 ? null : 1_000_000_000);
    // The spend of each day is also stored, and exact, for keys without a cap.
    await setCaps(null, null);
    await until("more have ended", () => storm.ended > from + 12);
  }
  await setCaps(1_000_000_000, null);
  storm.isOver = true;
  await workers;
  expect(await wrongDays(orgs)).toEqual([]);
  expect(storm.ended).toBeGreaterThan(ROUNDS * 12);
});
