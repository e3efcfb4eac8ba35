import { expect, onTestFinished, test } from "vitest";
import { byGateway } from "../../src/kernel/changes/change.ts";
import { LEASE_MS } from "../../src/kernel/core/constants.ts";
import type { AttemptId } from "../../src/kernel/core/ids.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import { LedgerCounts } from "../../src/ledger/ledger-counts.ts";
import type { Ledger, ReserveOutcome } from "../../src/ledger/ledger-store.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { StuckAttempts } from "../../src/ledger/books-figures.ts";
import { openPostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { identifyProcess } from "../../src/kernel/storage/process-identity.ts";
import { until } from "../support/books.ts";
import { closeRow, orgWithKey, reserveRow } from "../support/ledger-rows.ts";
import { freshDatabase, withPricedBackend } from "../support/postgres.ts";
import { silentLog } from "../support/silent-log.ts";
import { urlThrough, withProxyTo } from "../support/tcp-proxy.ts";

const PATIENCE = { timeout: 15_000, interval: 50 };

const backend = withPricedBackend();
const proxy = withProxyTo(backend);

function open(
  instanceName: string,
  change: Partial<Parameters<typeof openLedger>[0]> = {},
): Promise<Ledger> {
  const store = backend.ledgerBatchStore;
  return openLedger({ store, clock: systemClock, log: silentLog, instanceName, ...change });
}

async function reserve(ledger: Ledger): Promise<ReserveOutcome["kind"]> {
  const org = await orgWithKey(backend, { creditMicroUsd: 100n });
  const row = reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 10n);
  const outcome = await ledger.reserve(row);
  if (outcome.kind === "reserved") await ledger.close(closeRow(row.attemptId, 1n));
  return outcome.kind;
}

test("an instance that a peer declared dead holds nothing until it has joined again", async () => {
  const ledger = await open("zombie");
  // The instance may join again before its hold: then a peer declares it dead once more.
  const declareDead = "update instance set epoch = epoch + 1 where instance_id = 'zombie'";
  await until("its hold is refused", async () => {
    await backend.query(declareDead);
    return (await reserve(ledger)) === "unavailable";
  });
  await expect.poll(() => reserve(ledger), PATIENCE).toBe("reserved");
  await ledger.shutDown();
});

test("a living instance charges the open attempts of a dead peer within seconds", async () => {
  let offsetMs = 0;
  const monotonicMs = (): number => systemClock.monotonicMs() + offsetMs;
  const ledger = await open("heir", { clock: { ...systemClock, monotonicMs } });
  const org = await orgWithKey(backend, { creditMicroUsd: 100n });
  const dead = await backend.ledgerBatchStore.join("departed", 0);
  const row = reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 40n);
  await backend.ledgerBatchStore.hold(dead, row);
  offsetMs = LEASE_MS - 4_000; // as if most of its own lease had passed
  const state = async (): Promise<unknown> => {
    const sql = "select state, debit from journal where attempt_id = $1";
    return (await backend.query(sql, [row.attemptId]))[0];
  };
  await expect.poll(state, PATIENCE).toEqual({ state: "unknown_after_crash", debit: "40" });
  await ledger.shutDown();
});

test("a process renews its lease while all its other connections wait", async () => {
  const { connectionString } = backend;
  const waiting = openPostgresBackend({ connectionString, log: silentLog, poolMax: 1 });
  onTestFinished(() => waiting.close());
  const ledger = await open("waiting", { store: waiting.ledgerBatchStore });
  await backend.query("select pg_advisory_lock(4711)");
  const wait = "select pg_advisory_xact_lock(4711)";
  const work = waiting.changeLog.write(byGateway("tests"), (client) => client.query(wait));
  const beat = async (): Promise<number> => {
    const sql = "select beat from instance_lease where instance_id = 'waiting'";
    return Number((await backend.query(sql))[0]?.["beat"]);
  };
  // A renewal may already be under way, so two are awaited.
  const awaited = (await beat()) + 2;
  await expect.poll(beat, PATIENCE).toBeGreaterThanOrEqual(awaited);
  await backend.query("select pg_advisory_unlock(4711)");
  await work;
  await ledger.shutDown();
});

test("an instance shuts down although its database is gone", async () => {
  const database = await freshDatabase();
  const { connectionString } = database;
  const lost = openPostgresBackend({ connectionString, log: silentLog });
  const ledger = await open("lost", { store: lost.ledgerBatchStore });
  await database.drop();
  await ledger.shutDown();
  expect(ledger.healthy).toBe(false);
  await lost.close();
});

test("a dead process of this machine is taken over without waiting for its lease", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 100n });
  const dead = await backend.ledgerBatchStore.join("gone", LEASE_MS);
  const row = reserveRow({ ...org, attemptId: 7_000_000_000n as AttemptId }, 40n);
  await backend.ledgerBatchStore.hold(dead, row);
  expect(await backend.ledgerBatchStore.takeOverDeadInstances()).toEqual([]);
  await backend.query("update instance set process = '1-1' where instance_id = 'gone'");
  expect(await backend.ledgerBatchStore.takeOverDeadInstances()).toEqual(["gone"]);
  expect(await backend.ledgerBatchStore.recoverOpenAttempts()).toBe(1);
});

test(
  "dead instances are looked for again in seconds after a server fell silent without a word",
  { timeout: 30_000 },
  async () => {
    const connectionString = urlThrough(proxy, backend).href;
    const behind = openPostgresBackend({ connectionString, log: silentLog, poolMax: 1 });
    onTestFinished(() => behind.close());
    const store = behind.ledgerBatchStore;
    await expect.poll(() => store.takeOverDeadInstances()).toEqual([]);
    proxy.lose();
    await expect(store.takeOverDeadInstances()).rejects.toThrow("Query read timeout");
    await expect.poll(() => store.takeOverDeadInstances()).toEqual([]);
  },
);

test("a second process under the same name gets a separate name and number", async () => {
  const first = await backend.ledgerBatchStore.join("twin", LEASE_MS);
  // Claims the name for the parent process, which is alive and is not this process.
  const parent = identifyProcess(process.ppid);
  await backend.query("update instance set process = $1 where instance_id = 'twin'", [parent]);
  const second = await backend.ledgerBatchStore.join("twin", LEASE_MS);
  expect(second.instanceId).toBe("twin-2");
  expect(second.number).not.toBe(first.number);
  await backend.query("update instance set process = '1-1' where instance_id = 'twin'");
  const third = await backend.ledgerBatchStore.join("twin", LEASE_MS);
  expect(third).toMatchObject({ instanceId: "twin", epoch: first.epoch + 1n });
});

test("an attempt that cannot be recovered blocks neither other recoveries nor the start of an instance", async () => {
  const store = backend.ledgerBatchStore;
  const dead = await store.join("broken", 0);
  const rows = await Promise.all(
    [1n, 2n, 3n, 4n, 5n].map(async (nth) => {
      const org = await orgWithKey(backend, { creditMicroUsd: 100n });
      return reserveRow({ ...org, attemptId: (7_200_000_000n + nth) as AttemptId }, 40n);
    }),
  );
  await store.hold(dead, ...rows);
  expect(await store.takeOverDeadInstances()).toEqual(["broken"]);
  const bad = rows[3];
  if (bad === undefined) throw new Error("no row");
  const setReserved = (value: number): Promise<unknown> => {
    const sql = "update account set reserved = $2 where account_id = 'wallet:' || $1";
    return backend.query(sql, [bad.orgId, value]);
  };
  // Ending this attempt would make the reserved amount of its wallet negative.
  await setReserved(0);
  const lines: unknown[] = [];
  const log = { ...silentLog, error: (line: unknown) => void lines.push(line) };
  const counts = new LedgerCounts();
  const ledger = await open("heir of the broken", { log, counts });
  expect([counts.recovered, counts.stuck]).toEqual([4, 1]);
  expect(lines).toEqual([expect.objectContaining({ attemptId: String(bad.attemptId) })]);
  // Recovery in the same process skips the attempt from now on; `ledger recover` tries it again.
  const asked = new StuckAttempts(() => undefined);
  expect(await store.recoverOpenAttempts(asked)).toBe(0);
  expect(asked.has(bad.attemptId)).toBe(true);
  await setReserved(40);
  expect(await store.recoverOpenAttempts(asked)).toBe(0);
  expect(await store.recoverOpenAttempts(new StuckAttempts(() => undefined))).toBe(1);
  expect([await store.recoverOpenAttempts(asked), asked.size]).toEqual([0, 0]);
  await ledger.shutDown();
});
