import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { LEASE_MS, LEASE_RENEW_MS } from "../kernel/core/constants.ts";
import { systemClock } from "../kernel/core/time.ts";
import { InstanceLease, StoreClock } from "./instance-lease.ts";
import type { LedgerBatchStore, Membership, Renewal } from "./ledger-batch-store.ts";

describe("an instance lease", () => {
  const STORE_NOW_MS = Date.UTC(2026, 0, 1);
  const SAFETY_MS = 1_000;
  /** How long a new holder of a lease waits before it declares others dead. */
  const SETTLED_MS = 3 * LEASE_RENEW_MS;

  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  /** A lease on fake timers. `renewal` controls the answers of the store. */
  async function scriptedLease() {
    const time = { ms: 0 };
    const takeOversMs: number[] = [];
    let prove: () => Promise<void> = () => Promise.resolve();
    const renewal = {
      isDown: false,
      takesMs: 0,
      stopReason: undefined as string | undefined,
      answer: (storeNowMs: number): Renewal => ({ kind: "held", beat: 1n, storeNowMs }),
    };
    const member: Membership = {
      instanceId: "one",
      number: 1,
      epoch: 1n,
      attemptIdFloor: 0n,
      storeNowMs: STORE_NOW_MS,
      token: "one",
      life: 1,
    };
    const store = {
      maintain: () => Promise.resolve(),
      join: () => Promise.resolve(member),
      recoverOpenAttempts: () => Promise.resolve(0),
      leave: () => Promise.resolve(),
      renewLease: () => {
        time.ms += renewal.takesMs;
        if (renewal.isDown) return Promise.reject(new Error("the store is down"));
        return Promise.resolve(renewal.answer(STORE_NOW_MS + time.ms));
      },
      onReconnect: (asked: () => Promise<void>) => void (prove = asked),
      stopReason: () => Promise.resolve(renewal.stopReason),
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
    return { lease, time, renewal, takeOversMs, pass, prove: () => prove() };
  }

  test("counts from the start of its renewal, so a late answer does not prolong it", async () => {
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

  test("declares no peer dead after an outage before the peer had time to renew", async () => {
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

  test("stops traffic after a rollback of the books, and resumes once they are reopened", async () => {
    const { lease, renewal, pass } = await scriptedLease();
    renewal.answer = () => ({ kind: "went_back", finding: "attempt 7 is gone" });
    renewal.stopReason = "attempt 7 is gone";
    await pass(LEASE_RENEW_MS);
    expect(lease.isHeld).toBe(false);
    expect(lease.hasGoneBack).toBe(true);
    // Even if renewals succeed again, only a reopening of the books ends the stop.
    renewal.answer = (storeNowMs) => ({ kind: "held", beat: 1n, storeNowMs });
    await pass(5 * LEASE_RENEW_MS);
    expect(lease.isHeld).toBe(false);
    renewal.stopReason = undefined;
    await pass(LEASE_RENEW_MS);
    expect(lease.isHeld).toBe(true);
    expect(lease.hasGoneBack).toBe(false);
    await lease.end();
  });

  test("checks for a rollback of the books before the first batch of a new connection", async () => {
    const { lease, renewal, prove } = await scriptedLease();
    renewal.isDown = true;
    await expect(prove()).rejects.toMatchObject({ name: "BatchFault", kind: "busy" });
    renewal.isDown = false;
    renewal.answer = () => ({ kind: "went_back", finding: "attempt 7 is gone" });
    await prove();
    expect(lease.isHeld).toBe(false);
    await lease.end();
  });
});

const STORE_START_MS = Date.UTC(2027, 0, 1);

/** A store that reads its clock at some time between question and answer. */
function scripted(firstMs: number) {
  const time = { ms: 0 };
  const store = { aheadMs: STORE_START_MS };
  const ask = (before: number, after: number): { askedAtMs: number; storeNowMs: number } => {
    const askedAtMs = time.ms;
    time.ms += before;
    const storeNowMs = Math.floor(time.ms + store.aheadMs);
    time.ms += after;
    return { askedAtMs, storeNowMs };
  };
  const clock = { nowMs: () => 0, monotonicMs: () => time.ms };
  const known = new StoreClock(clock, ask(firstMs, firstMs));
  return { time, store, ask, known };
}

test("a store clock is never ahead, and behind by at most the time of the quickest answer", () => {
  const way = fc.double({ min: 0, max: 3_000, noNaN: true });
  fc.assert(
    fc.property(way, fc.array(fc.tuple(way, way, way), { maxLength: 30 }), (first, asked) => {
      const { time, ask, known } = scripted(first);
      let quickestMs = 2 * first;
      for (const [waited, before, after] of asked) {
        time.ms += waited;
        known.observe(ask(before, after));
        quickestMs = Math.min(quickestMs, before + after);
        const behindMs = STORE_START_MS + time.ms - known.nowMs();
        expect(behindMs).toBeGreaterThanOrEqual(0);
        expect(behindMs).toBeLessThanOrEqual(quickestMs + 2 + time.ms * 0.000_5);
      }
    }),
  );
});

test("a store clock follows a store whose clock was changed, from the next answer on", () => {
  for (const setByMs of [-3_600_000, 3_600_000]) {
    const { time, store, ask, known } = scripted(2);
    store.aheadMs += setByMs;
    time.ms += 2_000;
    known.observe(ask(3, 3));
    expect(Math.abs(store.aheadMs + time.ms - known.nowMs())).toBeLessThanOrEqual(5);
  }
});

test("a store clock follows a store whose clock drifts", () => {
  const { time, store, ask, known } = scripted(1);
  for (let renewal = 0; renewal < 2_000; renewal += 1) {
    time.ms += 2_000;
    store.aheadMs -= 0.2;
    known.observe(ask(4, 4));
  }
  const behindMs = store.aheadMs + time.ms - known.nowMs();
  expect(Math.abs(behindMs)).toBeLessThanOrEqual(10);
});
