import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LEASE_MS, LEASE_RENEW_MS } from "../core/constants.ts";
import { systemClock } from "../core/time.ts";
import { InstanceLease } from "./instance-lease.ts";
import type { LedgerBatchStore, Membership } from "./ledger-batch-store.ts";

const STORE_NOW_MS = Date.UTC(2026, 0, 1);
const SAFETY_MS = 1_000;
/** A new holder of a lease waits so long before it declares others dead. */
const SETTLED_MS = 3 * LEASE_RENEW_MS;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** A lease on fake timers; `renewal` is how the store answers. */
async function scriptedLease() {
  const time = { ms: 0 };
  const takeOversMs: number[] = [];
  const renewal = { isDown: false, takesMs: 0 };
  const member: Membership = {
    instanceId: "one",
    number: 1,
    epoch: 1n,
    attemptIdFloor: 0n,
    storeNowMs: STORE_NOW_MS,
  };
  const store = {
    maintain: () => Promise.resolve(),
    join: () => Promise.resolve(member),
    recoverOpenAttempts: () => Promise.resolve(0),
    leave: () => Promise.resolve(),
    renewLease: () => {
      time.ms += renewal.takesMs;
      if (renewal.isDown) return Promise.reject(new Error("the store is down"));
      return Promise.resolve(STORE_NOW_MS + time.ms);
    },
    takeOverDeadInstances: () => {
      takeOversMs.push(time.ms);
      return Promise.resolve([]);
    },
  } as unknown as LedgerBatchStore;
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const clock = { ...systemClock, monotonicMs: () => time.ms };
  const lease = await InstanceLease.start({ store, clock, log, instanceName: "one" });
  const STEP_MS = 100;
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      time.ms += STEP_MS;
      await vi.advanceTimersByTimeAsync(STEP_MS);
    }
  };
  return { lease, time, renewal, takeOversMs, pass };
}

test("a lease counts from the renewal's start: a late answer does not make it longer", async () => {
  const { lease, time, renewal, pass } = await scriptedLease();
  renewal.takesMs = 4_000;
  await pass(LEASE_RENEW_MS);
  expect(time.ms).toBe(LEASE_RENEW_MS + renewal.takesMs);
  time.ms = LEASE_RENEW_MS + LEASE_MS - SAFETY_MS - 1;
  expect(lease.isHeld).toBe(true);
  time.ms += 1;
  expect(lease.isHeld).toBe(false);
  await lease.end();
});

test("after an outage of the store no peer is declared dead before it had time to renew", async () => {
  const { lease, time, renewal, takeOversMs, pass } = await scriptedLease();
  await pass(2 * SETTLED_MS);
  expect(takeOversMs.length).toBeGreaterThan(0);
  renewal.isDown = true;
  await pass(2 * LEASE_MS);
  expect(lease.isHeld).toBe(false);
  takeOversMs.length = 0;
  renewal.isDown = false;
  await pass(LEASE_RENEW_MS);
  expect(lease.isHeld).toBe(true);
  const backMs = time.ms;
  await pass(3 * SETTLED_MS);
  expect(takeOversMs.length).toBeGreaterThan(0);
  expect(takeOversMs[0]).toBeGreaterThanOrEqual(backMs - LEASE_RENEW_MS + SETTLED_MS);
  await lease.end();
});
