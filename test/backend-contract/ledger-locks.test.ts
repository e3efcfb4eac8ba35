import { Client } from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { AttemptId, KeyId, OrgId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import type { Membership } from "../../src/ledger/ledger-batch-store.ts";
import type { CloseRow, ReserveOutcome } from "../../src/ledger/ledger-store.ts";
import { LaneConnection, runBatch, runCloseBatch } from "../../src/ledger/ledger-batches.ts";
import { beginSession } from "../../src/kernel/storage/connection.ts";
import { until } from "../support/books.ts";
import { closeRow, orgWithKey, reserveRow } from "../support/ledger-rows.ts";
import { unknownRow } from "../support/old-days.ts";
import { withPricedBackend } from "../support/postgres.ts";
import { silentLog } from "../support/silent-log.ts";
import { testOperator } from "../support/test-operator.ts";
import { withResource } from "../support/with-resource.ts";

/*
 * What one transaction waits for while another one holds it, lock by lock: the order that keeps
 * batches, take-overs and settlement from waiting in a circle, and from slipping past each other.
 */
const LEASE_MS = 3_600_000;

const backend = withPricedBackend();
/** Holds the lock of a test. */
const blocker = withResource(connect, (client) => client.end());
/** Tries what is not supposed to be locked. */
const other = withResource(connect, (client) => client.end());
/** A lane without the gateway's short time limits: how long a test waits depends on the machine. */
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

/** Runs `work` on another lane, beside the first one. */
async function withLane<T>(work: (own: LaneConnection) => Promise<T>): Promise<T> {
  const own = openLane();
  try {
    return await work(own);
  } finally {
    await own.close();
  }
}

beforeEach(() => blocker.query("begin"));
afterEach(() => blocker.query("rollback"));

async function connect(): Promise<Client> {
  const client = new Client({ connectionString: backend.connectionString });
  await client.connect();
  await beginSession(client, { statementTimeoutMs: 0 });
  return client;
}

interface Org {
  readonly orgId: OrgId;
  readonly keyId: KeyId;
}

const lockWallet = ({ orgId }: Org, mode = ""): [string, string[]] => [
  `select from account where account_id = $1 for update ${mode}`,
  [`wallet:${orgId}`],
];

function newOrg(creditMicroUsd = 1_000n): Promise<Org> {
  return orgWithKey(backend, { creditMicroUsd });
}

let lastAttempt = 0n;

function reserveOf(org: Org): ReturnType<typeof reserveRow> {
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
  const held = await backend.ledgerBatchStore.reserveBatch(member, [{ row, close: null }]);
  expect(held).toEqual([{ kind: "reserved" }]);
  return row.attemptId;
}

/** Until exactly `sessions` other sessions of this database wait for a lock. */
function waitingFor(sessions: number): Promise<true> {
  const sql = `select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  return until(`${sessions} wait`, async () => (await backend.query(sql)).length === sessions);
}

test.each([
  ["the balance", { creditMicroUsd: 1_000n }, null, "low_balance"],
  ["the organization's cap", { creditMicroUsd: 10_000n }, 1_000n, "cap"],
  ["the key's cap", { creditMicroUsd: 10_000n, keyCapMicroUsd: 1_000n }, null, "cap"],
  ["a balance that is enough for both", { creditMicroUsd: 1_200n }, null, "reserved"],
] as const)(
  "of two instances that reserve at once the second counts the first one's hold against %s",
  async (what, limits, orgCap, second) => {
    const org = await orgWithKey(backend, limits);
    if (orgCap !== null) {
      await backend.accountStore.setOrgCap(org.orgId, microUsd(orgCap), testOperator);
    }
    const member = await backend.ledgerBatchStore.join(`at once, ${what}`, LEASE_MS);
    const reserveOn = async (own: LaneConnection): Promise<unknown> => {
      const holds = [reserveRow({ ...org, attemptId: ++lastAttempt as AttemptId }, 600n)];
      return (await runBatch(own, { member, closings: [], holds })).outcomes[0]?.kind;
    };
    // Reading continues; the first one has changed the wallet and waits here, before its commit.
    await blocker.query("lock table spend in share row exclusive mode");
    const first = reserveOn(lane);
    await waitingFor(1);
    const later = withLane(reserveOn);
    await waitingFor(2);
    await blocker.query("commit");
    expect([await first, await later]).toEqual(["reserved", second]);
  },
);

test("a cap change waits for the lock of its wallet", async () => {
  const org = await newOrg();
  await blocker.query(...lockWallet(org));
  const change = backend.accountStore.setOrgCap(org.orgId, microUsd(500n), testOperator);
  await waitingFor(1);
  await blocker.query("commit");
  expect(await change).toBe(true);
});

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
  // A batch locks the row in this mode.
  await other.query("select from instance where instance_id = 'shared' for share nowait");
  expect(await reserve(living, org)).toEqual([{ kind: "reserved" }]);
  await blocker.query("commit");
  expect(await joining).toMatchObject({ instanceId: "shared-2" });
});

test("one of two peers takes a dead instance over, and two recoveries charge its attempt once", async () => {
  const store = backend.ledgerBatchStore;
  const org = await newOrg();
  await heldBy(await store.join("left open", 0), org);
  const taken = await Promise.all([1, 2, 3, 4].map(() => store.takeOverDeadInstances()));
  expect(taken.flat()).toEqual(["left open"]);
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

test("a roll locks its wallets in one order, whichever it closes and reserves", async () => {
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

test("a closing waits while the settlement horizon moves, and ends after it", async () => {
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

test("an attempt that ends while a first daily cap is being counted counts once", async () => {
  const org = await newOrg();
  const member = await backend.ledgerBatchStore.join("counted", LEASE_MS);
  const newId = await idsOfNow();
  const hold = async (): Promise<AttemptId> => {
    const row = reserveRow({ ...org, attemptId: newId() }, 100n);
    await runBatch(lane, { member, closings: [], holds: [row] });
    return row.attemptId;
  };
  const [early, crashed, between, behind] = [
    await hold(),
    await hold(),
    await hold(),
    await hold(),
  ];
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
});

test("the books balance after all tests", async () => {
  for (const check of await backend.audit()) expect(check).toMatchObject({ violations: 0 });
});
