import { Client } from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { AttemptId, KeyId, OrgId } from "../../src/core/ids.ts";
import { microUsd } from "../../src/core/money.ts";
import type { Membership } from "../../src/ledger/ledger-batch-store.ts";
import type { CloseRow, ReserveOutcome } from "../../src/ledger/ledger-store.ts";
import { LaneConnection } from "../../src/ledger/lane-connection.ts";
import { runBatch, runCloseBatch } from "../../src/ledger/ledger-batches.ts";
import { until } from "../support/books.ts";
import { closeRow, orgWithKey, reserveRow } from "../support/ledger-rows.ts";
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
const lane = withResource(
  () =>
    new LaneConnection({
      connectionString: backend.connectionString,
      name: "patient",
      statementTimeoutMs: 60_000,
      lockTimeoutMs: 60_000,
      log: silentLog,
    }),
  (opened) => opened.close(),
);

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

function newOrg(): Promise<Org> {
  return orgWithKey(backend, { creditMicroUsd: 1_000n });
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

test("a cap change waits for the lock of its wallet", async () => {
  const org = await newOrg();
  await blocker.query(...lockWallet(org));
  const change = backend.accountStore.setOrgCap(org.orgId, microUsd(500n), testOperator);
  await waitingFor(1);
  await blocker.query("commit");
  expect(await change).toBe(true);
});

test("a take-over waits for the holds that its instance is making: recovery sees them all", async () => {
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

test("two recoveries that find the same attempt charge it once, and return nothing", async () => {
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

test("a roll that waits for its fence holds no wallet", async () => {
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

test("a roll takes all wallets it needs in one order, whichever it closes and reserves", async () => {
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

test("a closing waits while the settlement horizon moves, and ends behind it", async () => {
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
