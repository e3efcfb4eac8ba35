import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LEASE_MS, LEASE_RENEW_MS } from "../kernel/core/constants.ts";
import type { AttemptId } from "../kernel/core/ids.ts";
import { microUsd } from "../kernel/core/money.ts";
import { systemClock } from "../kernel/core/time.ts";
import { LedgerCounts } from "./ledger-counts.ts";
import {
  type BatchAnswer,
  BatchFault,
  type CloseVerdict,
  type LedgerBatch,
  type LedgerBatchStore,
  type Membership,
  type Renewal,
} from "./ledger-batch-store.ts";
import type { CloseRow, ReserveOutcome, ReserveRow } from "./ledger-store.ts";
import { openLedger } from "./open-ledger.ts";

const ROW = { attemptId: 1n as AttemptId, reserveMicroUsd: microUsd(5n) } as ReserveRow;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** A ledger whose store answers reserves on the test's command. */
async function scriptedLedger() {
  const time = { ms: 0 };
  const annulled: bigint[] = [];
  /** How each closing was sent: `batch <id>` with `runBatch`, `late <id>` with `closeBatch`. */
  const closed: string[] = [];
  let closeLate: () => void = () => undefined;
  let epoch = 0n;
  let isTakenOver = false;
  let answer: (outcomes: readonly ReserveOutcome[]) => void = () => undefined;
  const store = {
    maintain: () => Promise.resolve(),
    join: (): Promise<Membership> => {
      epoch += 1n;
      isTakenOver = false;
      const of = { instanceId: "one", number: 1, attemptIdFloor: 0n };
      const storeNowMs = Date.UTC(2026, 0, 1) + time.ms;
      return Promise.resolve({ ...of, epoch, storeNowMs, token: `${epoch}`, life: 1 });
    },
    renewLease: (): Promise<Renewal> => {
      if (isTakenOver) return Promise.resolve({ kind: "taken_over" });
      return Promise.resolve({
        kind: "held",
        beat: 1n,
        storeNowMs: Date.UTC(2026, 0, 1) + time.ms,
      });
    },
    onReconnect: () => undefined,
    stopReason: () => Promise.resolve(undefined),
    recoverOpenAttempts: () => Promise.resolve(0),
    takeOverDeadInstances: () => Promise.resolve([]),
    leave: () => Promise.resolve(),
    runBatch: ({ closings, holds }: LedgerBatch) =>
      new Promise<BatchAnswer>((resolve, reject) => {
        closed.push(...closings.map(({ attemptId }) => `batch ${attemptId}`));
        if (closings.length > 0) reject(new BatchFault("busy", "no", undefined));
        answer = (outcomes) => resolve({ verdicts: [], outcomes });
        if (holds.length === 0) answer([]);
      }),
    closeBatch: (rows: readonly CloseRow[]) =>
      new Promise<readonly CloseVerdict[]>((resolve) => {
        closed.push(...rows.map(({ attemptId }) => `late ${attemptId}`));
        closeLate = () =>
          resolve(rows.map(() => ({ kind: "closed", debitMicroUsd: 5n, overrunMicroUsd: 0n })));
        if (rows.length === 0) closeLate();
      }),
    annul: (rows: readonly ReserveRow[]) => {
      annulled.push(...rows.map(({ attemptId }) => attemptId));
      return Promise.resolve();
    },
  } as unknown as LedgerBatchStore;
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const clock = { ...systemClock, monotonicMs: () => time.ms };
  const counts = new LedgerCounts();
  const ledger = await openLedger({ store, clock, log, instanceName: "one", counts });
  const reserving = ledger.reserve(ROW);
  await new Promise((resolve) => setImmediate(resolve));
  return {
    ledger,
    counts,
    time,
    annulled,
    closed,
    closeLate: () => closeLate(),
    reserving,
    takeOver: () => (isTakenOver = true),
    commit: () => answer([{ kind: "reserved" }]),
  };
}

test("a hold that commits in time is reserved", async () => {
  const { reserving, commit, annulled } = await scriptedLedger();
  commit();
  expect(await reserving).toEqual({ kind: "reserved" });
  expect(annulled).toEqual([]);
});

test("a hold that commits after the lease has ended is refused as unavailable, and annulled", async () => {
  const { ledger, reserving, commit, time, annulled, counts } = await scriptedLedger();
  time.ms = LEASE_MS;
  commit();
  expect(await reserving).toMatchObject({ kind: "unavailable" });
  expect(annulled).toEqual([1n]);
  expect(counts.annulled).toBe(1);
  expect(await ledger.reserve(ROW)).toMatchObject({ kind: "unavailable" });
});

test("a hold of an earlier epoch is refused as unavailable, since another instance may close it", async () => {
  const { ledger, reserving, commit, time, annulled, takeOver } = await scriptedLedger();
  takeOver();
  time.ms = LEASE_RENEW_MS;
  await vi.advanceTimersByTimeAsync(LEASE_RENEW_MS);
  expect(ledger.healthy).toBe(true);
  commit();
  expect(await reserving).toMatchObject({ kind: "unavailable" });
  expect(annulled).toEqual([1n]);
});

test("new closings join the late ones only while those cannot reach the store", async () => {
  const { ledger, closed, closeLate, commit, counts, time } = await scriptedLedger();
  const pass = async (): Promise<void> => {
    for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
  };
  const closeOf = (attempt: bigint) =>
    ledger.close({ attemptId: attempt as AttemptId } as CloseRow);
  commit();
  await pass();
  const first = closeOf(1n);
  await pass();
  const second = closeOf(2n);
  await pass();
  expect(closed).toEqual(["batch 1", "late 1"]);
  time.ms = 1_500;
  const shown = counts
    .families({ ...systemClock, monotonicMs: () => time.ms })
    .flatMap((family) => [...family.parts("classic")])
    .join("");
  expect(shown).toContain("\ntm_ledger_closings_pending 2\n");
  expect(shown).toContain("\ntm_ledger_oldest_closing_seconds 1.5\n");
  expect(shown).toContain('\ntm_ledger_queue_rows{lane="close"} 1\n');
  expect(shown).toContain('\ntm_ledger_batch_rows_count{lane="reserve"} 2\n');
  expect(shown).toContain(`\ntm_ledger_lease_seconds ${(LEASE_MS - 1_000 - 1_500) / 1000}\n`);
  closeLate();
  expect(await first).toMatchObject({ kind: "closed" });
  await pass();
  void closeOf(3n);
  await pass();
  expect(closed).toEqual(["batch 1", "late 1", "late 2", "batch 3"]);
  closeLate();
  expect(await second).toMatchObject({ kind: "closed" });
});
