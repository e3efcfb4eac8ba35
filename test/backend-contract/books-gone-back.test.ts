import { afterEach, beforeAll, expect, test } from "vitest";
import { type AttemptId, attemptIdMaker } from "../../src/kernel/core/ids.ts";
import { LEASE_MS } from "../../src/kernel/core/constants.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import type { Membership, Renewal, Witness } from "../../src/ledger/ledger-batch-store.ts";
import type { ReserveRow } from "../../src/ledger/ledger-store.ts";
import { type OpenedLedger, openLedger } from "../../src/ledger/open-ledger.ts";
import { closeRow, orgWithKey, reserveRow } from "../support/ledger-rows.ts";
import { withPricedBackend, tamper } from "../support/postgres.ts";
import { silentLog } from "../support/silent-log.ts";
import { testOperator } from "../support/test-operator.ts";

const PATIENCE = { timeout: 15_000, interval: 50 };

const backend = withPricedBackend();

const opened: OpenedLedger[] = [];
/** An id of 2 January 2025, a day for which the journal has no partition. */
const A_DAY_LATER = (86_400_000n << 22n) as AttemptId;

beforeAll(() => backend.ledgerBatchStore.maintain());
afterEach(async () => {
  await backend.query("delete from books_alarm");
  await Promise.all(opened.splice(0).map((ledger) => ledger.shutDown()));
});

async function open(instanceName: string, onGoneBack?: "stop" | "go_on"): Promise<OpenedLedger> {
  const store = backend.ledgerBatchStore;
  const options = { store, clock: systemClock, log: silentLog, instanceName };
  const ledger = await openLedger({ ...options, ...(onGoneBack && { onGoneBack }) });
  opened.push(ledger);
  return ledger;
}

/** A reserve of a new organization, whose attempt has this id. */
async function rowOf(attemptId: AttemptId): Promise<ReserveRow> {
  const org = await orgWithKey(backend, { creditMicroUsd: 100n });
  return reserveRow({ ...org, attemptId }, 10n);
}

const newIdOf = ({ number }: Membership): AttemptId => attemptIdMaker(number)(systemClock.nowMs());

/** Holds an attempt as this member; returns its id. */
async function hold(member: Membership): Promise<AttemptId> {
  const attemptId = newIdOf(member);
  await backend.ledgerBatchStore.hold(member, await rowOf(attemptId));
  return attemptId;
}

/** Annuls an attempt of this member whose reserve never arrived; returns its id. */
async function annul(member: Membership): Promise<AttemptId> {
  const attemptId = newIdOf(member);
  await backend.ledgerBatchStore.annul([await rowOf(attemptId)]);
  return attemptId;
}

function renew(member: Membership, known: Partial<Witness> = {}, goesOn = false): Promise<Renewal> {
  const witness = { beat: 0n, storeNowMs: member.storeNowMs, attemptId: null, ...known };
  return backend.ledgerBatchStore.renewLease({ member, witness, leaseMs: LEASE_MS, goesOn });
}

async function alarms(): Promise<unknown> {
  const rows = await backend.query("select count(*)::integer as count from books_alarm");
  return rows[0]?.["count"];
}

test("no alarm is raised while no commit is lost, even for an attempt that was ended elsewhere or retired", async () => {
  const member = await backend.ledgerBatchStore.join("calm", LEASE_MS);
  const first = await renew(member);
  expect(first).toMatchObject({ kind: "held", beat: 1n });
  const attemptId = await hold(member);
  expect(await renew(member, { beat: 1n, attemptId })).toMatchObject({ kind: "held", beat: 2n });
  // The answer to the last renewal was lost, so the database is one beat ahead of the instance.
  expect(await renew(member, { beat: 1n, attemptId })).toMatchObject({ kind: "held", beat: 3n });
  // Another instance ended the attempt.
  await backend.ledgerBatchStore.closeBatch([closeRow(attemptId, 1n)]);
  expect(await renew(member, { beat: 3n, attemptId })).toMatchObject({ kind: "held" });
  // The day of the attempt was retired and dropped.
  await backend.query(`insert into retired_day (day, from_id, to_id, attempts, debit, overrun,
    cost_pico, file, sha256, signature) values (attempt_day(${attemptId}), 0, 0, 1, 0, 0, 0, '', '', '')`);
  await tamper(backend, "delete from attempt where attempt_id = $1", [attemptId]);
  expect(await renew(member, { beat: 4n, attemptId })).toMatchObject({ kind: "held" });
  // A missing attempt raises no alarm if its day has no table: an operator may have dropped it.
  expect(await renew(member, { beat: 4n, attemptId: A_DAY_LATER })).toMatchObject({
    kind: "held",
  });
  await tamper(backend, "delete from retired_day");
  expect(await alarms()).toBe(0);
});

test("no alarm is raised for a reserve whose answer was lost and that was annulled", async () => {
  const member = await backend.ledgerBatchStore.join("doubtful", LEASE_MS);
  expect(await renew(member, { attemptId: await annul(member) })).toMatchObject({ kind: "held" });
});

test("an instance that was taken over or deleted must join again, and raises no alarm", async () => {
  const member = await backend.ledgerBatchStore.join("sleeper", LEASE_MS);
  const attemptId = await hold(member);
  await backend.query("update instance set epoch = epoch + 1 where instance_id = 'sleeper'");
  expect(await renew(member, { attemptId })).toEqual({ kind: "taken_over" });
  await backend.ledgerBatchStore.closeBatch([closeRow(attemptId, 1n)]);
  await backend.query("delete from instance where instance_id = 'sleeper'");
  const storeNowMs = member.storeNowMs - 25 * 3_600_000;
  expect(await renew(member, { attemptId, storeNowMs })).toEqual({ kind: "taken_over" });
  const namesake = await backend.ledgerBatchStore.join("sleeper", LEASE_MS);
  expect(namesake.epoch).toBeLessThanOrEqual(member.epoch);
  expect(await renew(member, { attemptId, storeNowMs })).toEqual({ kind: "taken_over" });
  expect(await alarms()).toBe(0);
});

test.each([
  ["its last attempt", "delete from hold"],
  ["its last renewal", "update instance_lease set beat = 0 where instance_id = 'witness'"],
  ["its start", "update instance set epoch = epoch - 1 where instance_id = 'witness'"],
  ["its row", "delete from instance where instance_id = 'witness'"],
  ["its membership", "update instance_lease set token = gen_random_uuid()"],
])("an instance that finds %s missing stops all instances", async (_what, goBack) => {
  const member = await backend.ledgerBatchStore.join("witness", LEASE_MS);
  const peer = await backend.ledgerBatchStore.join("peer", LEASE_MS);
  const attemptId = await hold(member);
  expect(await renew(member, { attemptId })).toMatchObject({ kind: "held", beat: 1n });
  await tamper(backend, goBack);
  const leaseSql = "select lease_until from instance_lease where instance_id = 'witness'";
  const before = await backend.query(leaseSql);
  expect(await renew(member, { beat: 1n, attemptId })).toMatchObject({ kind: "went_back" });
  // The lease is not renewed, so it ends and the books can be reopened.
  expect(await backend.query(leaseSql)).toEqual(before);
  expect(await alarms()).toBe(1);
  const tokenSql = "select token from instance_lease where instance_id = 'peer'";
  const [lease] = await backend.query(tokenSql);
  const known = { ...peer, token: String(lease?.["token"]) };
  expect(await renew(known)).toMatchObject({ kind: "stopped" });
  // `goesOn` concerns only the instance that sets it.
  expect(await renew(known, {}, true)).toMatchObject({ kind: "held" });
  await tamper(backend, "delete from instance");
  await tamper(backend, "delete from instance_lease");
});

test("a ledger reserves nothing after its books went back, and a new ledger is unhealthy", async () => {
  const ledger = await open("stopped");
  expect(await ledger.reserve(await rowOf(ledger.newAttemptId()))).toEqual({ kind: "reserved" });
  expect(ledger.hasGoneBack).toBe(false);
  await tamper(backend, "delete from hold");
  await expect.poll(() => ledger.hasGoneBack, PATIENCE).toBe(true);
  expect(ledger.healthy).toBe(false);
  const again = await rowOf(ledger.newAttemptId());
  expect(await ledger.reserve(again)).toMatchObject({ kind: "unavailable" });
  const late = await open("late");
  expect(late).toMatchObject({ hasGoneBack: true, healthy: false });
  const goingOn = await open("bold", "go_on");
  expect(goingOn).toMatchObject({ hasGoneBack: false, healthy: true });
});

test("with books.gone_back set to go_on, a ledger reports that the books went back and stays healthy", async () => {
  const ledger = await open("bold", "go_on");
  expect(await ledger.reserve(await rowOf(ledger.newAttemptId()))).toEqual({ kind: "reserved" });
  await tamper(backend, "delete from hold");
  await expect.poll(() => ledger.hasGoneBack, PATIENCE).toBe(true);
  await expect.poll(() => ledger.healthy, PATIENCE).toBe(true);
  expect(await alarms()).toBe(0);
});

test("reopening the books takes the restored time from the alarm, and closes no annulled attempt", async () => {
  await tamper(backend, "delete from hold");
  await annul(await backend.ledgerBatchStore.join("reopened", 0));
  await backend.query("update instance_lease set lease_until = now()");
  const restoredToMs = systemClock.nowMs() - 60_000;
  const alarmSql = `insert into books_alarm (instance_id, finding, restored_to)
    values ('reopened', '', $1)`;
  const alarm = (): Promise<unknown> => backend.query(alarmSql, [new Date(restoredToMs)]);
  const request = { reason: "a test", closings: [] } as const;
  await alarm();
  const lost = { ...request, openAttempts: "void", isNothingLost: false } as const;
  const books = await backend.reopenBooks(lost, testOperator);
  expect(books).toMatchObject({ restoredToMs, lostFromMs: restoredToMs - 15_000 });
  expect(books.closedAttempts).toBe(0);
  const horizon = "select through >= $1 as is_past from settlement_horizon";
  const until = new Date(books.lostUntilMs);
  expect(await backend.query(horizon, [until])).toEqual([{ is_past: true }]);
  await alarm();
  const nothing = { ...request, openAttempts: "kept", isNothingLost: true } as const;
  const { lostUntilMs, lostFromMs, ...kept } = await backend.reopenBooks(nothing, testOperator);
  expect([kept.restoredToMs, lostFromMs]).toEqual([lostUntilMs, lostUntilMs]);
  const left = await backend.query("select from books_alarm where ended_in_life is null");
  expect(left).toEqual([]);
});
