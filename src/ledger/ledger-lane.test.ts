import { expect, test } from "vitest";
import {
  LEDGER_BATCH_ROWS_MAX,
  LEDGER_QUEUE_AGE_MS,
  LEDGER_QUEUE_ROWS_MAX,
  LEDGER_QUEUE_ROWS_PER_ORG_MAX,
  SETTLE_WAIT_MS,
} from "../kernel/core/constants.ts";
import type { AttemptId, OrgId } from "../kernel/core/ids.ts";
import { microUsd } from "../kernel/core/money.ts";
import { systemClock } from "../kernel/core/time.ts";
import type { Closing } from "./late-closings.ts";
import { type BatchAnswer, BatchFault, type CloseVerdict } from "./ledger-batch-store.ts";
import { LedgerLane } from "./ledger-lane.ts";
import type { CloseOutcome, CloseRow, ReserveOutcome, ReserveRow } from "./ledger-store.ts";

interface SentBatch {
  readonly amounts: readonly bigint[];
  readonly closed: readonly bigint[];
  answer(outcomes?: readonly ReserveOutcome[]): void;
  answerClosings(verdicts: BatchAnswer["verdicts"]): void;
  fail(fault: BatchFault): void;
}

/** A lane whose batches the test answers. */
function handledLane() {
  const batches: SentBatch[] = [];
  const faults: [BatchFault["kind"], bigint[]][] = [];
  const late: bigint[] = [];
  const time = { ms: 0 };
  const lane = new LedgerLane({
    clock: { ...systemClock, monotonicMs: () => time.ms },
    send: (closings, holds) =>
      new Promise((resolve, reject) => {
        const reserved: ReserveOutcome[] = holds.map(() => ({ kind: "reserved" }));
        const verdicts = closings.map(() => CLOSED);
        batches.push({
          amounts: holds.map(amountOf),
          closed: closings.map(({ attemptId }) => attemptId),
          answer: (outcomes = reserved) => resolve({ verdicts, outcomes }),
          answerClosings: (decided) => resolve({ verdicts: decided, outcomes: reserved }),
          fail: reject,
        });
      }),
    onLate: (closings) => late.push(...closings.map(({ row }) => row.attemptId)),
    onRefused: (rows, fault) => faults.push([fault.kind, rows.map(amountOf)]),
  });
  const submit = (amount: number, org = `org ${amount}`, rolls?: number): Promise<ReserveOutcome> =>
    lane.reserve(hold(amount, org), rolls === undefined ? null : closing(rolls, undefined));
  const close = (attempt: number): Promise<CloseOutcome> =>
    new Promise((answer) => lane.close(closing(attempt, answer)));
  const closing = (attempt: number, answer: Closing["answer"]): Closing => {
    const row = { attemptId: BigInt(attempt) as AttemptId } as CloseRow;
    return { row, answer, queuedAtMs: time.ms };
  };
  return { lane, batches, faults, late, time, submit, close };
}

const CLOSED: CloseVerdict = { kind: "closed", debitMicroUsd: 5n, overrunMicroUsd: 0n };

function hold(amount: number, org: string): ReserveRow {
  return { reserveMicroUsd: microUsd(BigInt(amount)), orgId: org as OrgId } as ReserveRow;
}

function amountOf(row: ReserveRow): bigint {
  return row.reserveMicroUsd;
}

/** Waits until the batch after an answered one was sent. */
async function turn(): Promise<void> {
  for (let i = 0; i < 2; i++) await new Promise((resolve) => setImmediate(resolve));
}

test("a full queue refuses a hold, and batches have a bounded number of rows", async () => {
  const { batches, faults, submit } = handledLane();
  const waiting = Array.from({ length: LEDGER_QUEUE_ROWS_MAX }, (_, i) => submit(i));
  expect(await submit(-1)).toMatchObject({ kind: "unavailable" });
  expect(faults).toEqual([["busy", [-1n]]]);
  await turn();
  expect(batches[0]?.amounts).toHaveLength(LEDGER_BATCH_ROWS_MAX);
  for (let i = 0; i < LEDGER_QUEUE_ROWS_MAX / LEDGER_BATCH_ROWS_MAX; i++) {
    batches[i]?.answer();
    await turn();
  }
  expect(new Set((await Promise.all(waiting)).map((outcome) => outcome.kind))).toEqual(
    new Set(["reserved"]),
  );
});

test("one organization can take at most a quarter of the queue", async () => {
  const { batches, submit } = handledLane();
  const greedy = Array.from({ length: LEDGER_QUEUE_ROWS_PER_ORG_MAX }, (_, i) =>
    submit(i, "greedy"),
  );
  expect(await submit(-1, "greedy")).toMatchObject({ kind: "unavailable" });
  const modest = submit(-2, "modest");
  await turn();
  for (let i = 0; i <= LEDGER_QUEUE_ROWS_PER_ORG_MAX / LEDGER_BATCH_ROWS_MAX; i++) {
    batches[i]?.answer();
    await turn();
  }
  expect(await modest).toEqual({ kind: "reserved" });
  expect(await greedy.at(-1)).toEqual({ kind: "reserved" });
});

test("a hold that has waited too long is refused and never sent", async () => {
  const { batches, faults, time, submit } = handledLane();
  const sent = submit(1);
  await turn();
  const aged = submit(2);
  time.ms += LEDGER_QUEUE_AGE_MS + 1;
  const fresh = submit(3);
  expect(await aged).toMatchObject({ kind: "unavailable" });
  expect(faults).toEqual([["busy", [2n]]]);
  batches[0]?.answer();
  await sent;
  await turn();
  expect(batches[1]?.amounts).toEqual([3n]);
  batches[1]?.answer();
  expect(await fresh).toEqual({ kind: "reserved" });
});

test("a rejected batch is halved until only the row that breaks a constraint is refused", async () => {
  const { batches, faults, submit } = handledLane();
  const outcomes = Promise.all([1, 2, 3, 4].map((amount) => submit(amount)));
  for (let at = 0; at < 7; at++) {
    await turn();
    const batch = batches[at];
    if (batch === undefined) break;
    if (batch.amounts.includes(3n)) batch.fail(new BatchFault("rejected", "no", undefined));
    else batch.answer();
  }
  expect((await outcomes).map((outcome) => outcome.kind)).toEqual([
    "reserved",
    "reserved",
    "unavailable",
    "reserved",
  ]);
  expect(faults).toEqual([["rejected", [3n]]]);
});

test("closings submitted with a hold count towards the bound of closings in a batch", async () => {
  const { batches, submit, close } = handledLane();
  for (let i = 1; i <= 10; i++) void submit(i, "org", i);
  for (let i = 11; i <= LEDGER_BATCH_ROWS_MAX + 5; i++) void close(i);
  await turn();
  expect(batches[0]?.closed).toHaveLength(LEDGER_BATCH_ROWS_MAX);
  batches[0]?.answer();
  await turn();
  expect(batches[1]).toMatchObject({ amounts: [], closed: { length: 5 } });
});

test("a closing whose attempt is not open becomes late, and the holds of its batch commit", async () => {
  const { batches, late, submit, close } = handledLane();
  const held = submit(1);
  const closed = close(2);
  void close(3);
  await turn();
  batches[0]?.answerClosings([CLOSED, undefined]);
  expect(await held).toEqual({ kind: "reserved" });
  expect(await closed).toMatchObject({ kind: "closed" });
  expect(late).toEqual([3n]);
});

test.each(["busy", "ambiguous"] as const)(
  "the closings of a failed batch (%s) become late, also those submitted with a hold",
  async (kind) => {
    const { batches, faults, late, submit, close, lane } = handledLane();
    const refused = submit(1, "org", 2);
    void close(3);
    await turn();
    batches[0]?.fail(new BatchFault(kind, "no", undefined));
    expect(await refused).toMatchObject({ kind: "unavailable" });
    expect(late).toEqual([3n, 2n]);
    expect(faults).toEqual([[kind, [1n]]]);
    await lane.drained();
  },
);

test("the holds of a rejected batch are sent again without its closings, which become late", async () => {
  const { batches, faults, late, submit, close } = handledLane();
  const holds = Promise.all([submit(1), submit(2)]);
  void close(3);
  await turn();
  batches[0]?.fail(new BatchFault("rejected", "no", undefined));
  for (const at of [1, 2]) {
    await turn();
    batches[at]?.answer();
  }
  expect(await holds).toEqual([{ kind: "reserved" }, { kind: "reserved" }]);
  expect(late).toEqual([3n]);
  expect(faults).toEqual([]);
});

test("a closing submitted with a hold is sent even if the hold is refused in the queue", async () => {
  const { batches, time, submit } = handledLane();
  void submit(1);
  await turn();
  const aged = submit(2, "org", 3);
  time.ms += LEDGER_QUEUE_AGE_MS + 1;
  expect(await aged).toMatchObject({ kind: "unavailable" });
  batches[0]?.answer();
  await turn();
  expect(batches[1]).toMatchObject({ amounts: [], closed: [3n] });
});

test("a closing is answered pending in time, whether its batch is running or waiting", async () => {
  const { batches, time, close } = handledLane();
  const sent = close(1);
  await turn();
  const queued = close(2);
  time.ms += SETTLE_WAIT_MS + 1;
  expect(await Promise.all([sent, queued])).toEqual([{ kind: "pending" }, { kind: "pending" }]);
  batches[0]?.answer();
  await turn();
  expect(batches[1]?.closed).toEqual([2n]);
});
