import { expect, test, vi } from "vitest";
import { SETTLE_WAIT_MS } from "../kernel/core/constants.ts";
import type { AttemptId } from "../kernel/core/ids.ts";
import { systemClock } from "../kernel/core/time.ts";
import { type Closing, LateClosings } from "./late-closings.ts";
import { BatchFault, type CloseVerdict } from "./ledger-batch-store.ts";
import type { CloseOutcome, CloseRow } from "./ledger-store.ts";

function row(attempt: number): CloseRow {
  return { attemptId: BigInt(attempt) as AttemptId } as CloseRow;
}

function closed(rows: readonly CloseRow[]): readonly CloseVerdict[] {
  return rows.map(() => ({ kind: "closed", debitMicroUsd: 5n, overrunMicroUsd: 0n }));
}

/**
 * Late closings with scripted answers: each send gets the next answer; the last one is repeated.
 */
function scripted(script: ((rows: readonly CloseRow[]) => readonly CloseVerdict[])[]) {
  const sent: bigint[][] = [];
  const logged: string[] = [];
  const time = { ms: 0 };
  const log = (_: object, message: string): void => void logged.push(message);
  const late = new LateClosings({
    clock: { ...systemClock, monotonicMs: () => time.ms },
    log: { info: log, warn: log, error: log },
    send: async (rows) => {
      sent.push(rows.map((one) => one.attemptId));
      await Promise.resolve();
      return (script.length > 1 ? script.shift() : script[0])?.(rows) ?? [];
    },
  });
  const submit = (attempt: number): Promise<CloseOutcome> =>
    new Promise((answer: NonNullable<Closing["answer"]>) => {
      late.add([{ row: row(attempt), answer, queuedAtMs: time.ms }]);
    });
  return { late, submit, sent, logged, time };
}

function fail(kind: BatchFault["kind"]): () => never {
  return () => {
    throw new BatchFault(kind, "no", undefined);
  };
}

test("late closings are sent again until they commit", async () => {
  const { late, submit, sent, logged } = scripted([fail("busy"), fail("ambiguous"), closed]);
  const outcomes = await Promise.all([submit(1), submit(2)]);
  const outcome = { kind: "closed", debitMicroUsd: 5n, overrun: false };
  expect(outcomes).toEqual([outcome, outcome]);
  expect(sent).toEqual([
    [1n, 2n],
    [1n, 2n],
    [1n, 2n],
  ]);
  expect(logged).toHaveLength(2);
  expect(late.size).toBe(0);
});

test("the caller of a late closing gets pending in time, and the closing still commits", async () => {
  let isUp = false;
  const { late, submit, time } = scripted([(rows) => (isUp ? closed(rows) : fail("busy")())]);
  const outcome = submit(1);
  time.ms += SETTLE_WAIT_MS + 1;
  expect(await outcome).toEqual({ kind: "pending" });
  expect(late.size).toBe(1);
  isUp = true;
  await late.drained();
  expect(late.size).toBe(0);
});

test("a late closing that breaks a constraint is set aside, and the others commit", async () => {
  const { submit } = scripted([
    (rows) => (rows.some((one) => one.attemptId === 2n) ? fail("rejected")() : closed(rows)),
  ]);
  const outcomes = await Promise.all([1, 2, 3].map((id) => submit(id)));
  expect(outcomes.map((outcome) => outcome.kind)).toEqual(["closed", "pending", "closed"]);
});

test("a closing that fails for another reason while a rejected batch is halved is sent again", async () => {
  const busyOnce = [fail("busy"), closed];
  const { late, submit } = scripted([
    (rows) => {
      if (rows.length > 1) return fail("rejected")();
      return rows[0]?.attemptId === 1n ? closed(rows) : (busyOnce.shift() ?? closed)(rows);
    },
  ]);
  const outcomes = await Promise.all([1, 2].map((id) => submit(id)));
  expect(outcomes.map((outcome) => outcome.kind)).toEqual(["closed", "closed"]);
  expect(late.size).toBe(0);
});

test("a rejected closing still counts as pending, and is retried before a shutdown", async () => {
  const { late, submit } = scripted([fail("rejected"), closed]);
  expect(await submit(1)).toEqual({ kind: "pending" });
  expect(late.size).toBeGreaterThan(0);
  await late.drained();
  expect(late.size).toBe(0);
});

test("a rejected closing is tried again after half a minute", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const { submit, sent } = scripted([fail("rejected"), closed]);
    expect(await submit(1)).toEqual({ kind: "pending" });
    await vi.advanceTimersByTimeAsync(29_000);
    expect(sent).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1_000);
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(sent).toEqual([[1n], [1n]]);
  } finally {
    vi.useRealTimers();
  }
});

test("a closing of an unknown attempt is answered as already closed, without a debit", async () => {
  const { submit } = scripted([
    (rows) => rows.map(() => ({ kind: "unknown", debitMicroUsd: 0n, overrunMicroUsd: 0n })),
  ]);
  expect(await submit(1)).toEqual({ kind: "already_closed", debitMicroUsd: 0n });
});
