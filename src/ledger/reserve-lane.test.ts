import { expect, test } from "vitest";
import {
  LEDGER_BATCH_ROWS_MAX,
  LEDGER_QUEUE_AGE_MS,
  LEDGER_QUEUE_ROWS_MAX,
  LEDGER_QUEUE_ROWS_PER_ORG_MAX,
} from "../core/constants.ts";
import type { OrgId } from "../core/ids.ts";
import { microUsd } from "../core/money.ts";
import { systemClock } from "../core/time.ts";
import { BatchFault, type ReserveEntry } from "./ledger-batch-store.ts";
import type { ReserveOutcome, ReserveRow } from "./ledger-store.ts";
import { ReserveLane } from "./reserve-lane.ts";

/** A lane whose batches are answered by hand. */
function handledLane() {
  const batches: {
    readonly amounts: readonly bigint[];
    answer(outcomes?: readonly ReserveOutcome[]): void;
    fail(fault: BatchFault): void;
  }[] = [];
  const faults: [BatchFault["kind"], bigint[]][] = [];
  const time = { ms: 0 };
  const lane = new ReserveLane({
    clock: { ...systemClock, monotonicMs: () => time.ms },
    send: (entries) =>
      new Promise((resolve, reject) => {
        batches.push({
          amounts: entries.map(amountOf),
          answer: (outcomes = entries.map(() => ({ kind: "reserved" }))) => resolve(outcomes),
          fail: reject,
        });
      }),
    onFault: (entries, fault) => faults.push([fault.kind, entries.map(amountOf)]),
  });
  const submit = (amount: number, org = `org ${amount}`): Promise<ReserveOutcome> =>
    lane.submit(entry(amount, org));
  return { lane, batches, faults, time, submit };
}

function entry(amount: number, org: string): ReserveEntry {
  const row = { reserveMicroUsd: microUsd(BigInt(amount)), orgId: org as OrgId };
  return { row: row as ReserveRow, close: null };
}

function amountOf(one: ReserveEntry): bigint {
  return one.row.reserveMicroUsd;
}

/** Long enough for an answered batch to be followed by the next one. */
async function turn(): Promise<void> {
  for (let i = 0; i < 2; i++) await new Promise((resolve) => setImmediate(resolve));
}

test("what arrives together is sent together, what arrives meanwhile in the next batch", async () => {
  const { batches, submit } = handledLane();
  const first = [submit(1), submit(2)];
  await turn();
  const second = [submit(3), submit(4)];
  await turn();
  expect(batches.map((batch) => batch.amounts)).toEqual([[1n, 2n]]);
  batches[0]?.answer();
  await Promise.all(first);
  await turn();
  expect(batches.map((batch) => batch.amounts)).toEqual([
    [1n, 2n],
    [3n, 4n],
  ]);
  batches[1]?.answer([{ kind: "reserved" }, { kind: "unavailable", reason: "no" }]);
  expect(await Promise.all(second)).toEqual([
    { kind: "reserved" },
    { kind: "unavailable", reason: "no" },
  ]);
});

test("a batch has a bound, and so has the queue", async () => {
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

test("one organization can take a quarter of the queue, and leaves the rest to the others", async () => {
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

test("a row that waited too long is refused and never sent", async () => {
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

test("a rejected batch is halved until the row that breaks the rule is left", async () => {
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

test("after a fault the next batch is sent as if nothing had been", async () => {
  const { batches, faults, submit, lane } = handledLane();
  const lost = [submit(1), submit(2)];
  await turn();
  const next = submit(3);
  batches[0]?.fail(new BatchFault("ambiguous", "gone", undefined));
  for (const outcome of await Promise.all(lost)) {
    expect(outcome).toMatchObject({ kind: "unavailable" });
  }
  expect(faults).toEqual([["ambiguous", [1n, 2n]]]);
  await turn();
  batches[1]?.answer();
  expect(await next).toEqual({ kind: "reserved" });
  await lane.drained();
});
