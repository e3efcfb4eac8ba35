import type { BatchRow, CrashRow, MatrixRow } from "./crash-row.ts";

const NOTHING_HELD = { durable: [], pays: [], received: 0, sees: "nothing" } as const;
/** The hold is durable: whether anything was sent cannot be proved any more. */
const HELD = { durable: ["open"], pays: ["the reserve"], received: 0, sees: "nothing" } as const;

const ROWS: readonly CrashRow[] = [
  {
    promise: "killed after the key was accepted: nothing is owed",
    wire: "wire_a",
    diesAt: "authenticated",
    ...NOTHING_HELD,
  },
  {
    promise: "killed when the limits were claimed: nothing is owed",
    wire: "wire_b",
    stream: true,
    diesAt: "limits claimed",
    ...NOTHING_HELD,
  },
  {
    promise: "killed before the reserve was sent: nothing is owed",
    wire: "wire_a",
    stream: true,
    diesAt: "reserve queued",
    ...NOTHING_HELD,
  },
  {
    promise: "killed when the reserve had committed, without notice: the reserve is charged",
    wire: "wire_b",
    diesAt: "reserve committed",
    ...HELD,
  },
  {
    promise: "killed before the dispatch: the reserve is charged, though nothing was sent",
    wire: "wire_a",
    stream: true,
    diesAt: "dispatch",
    ...HELD,
  },
  {
    promise: "killed before an unconfirmed hold was annulled: the reserve is charged",
    wire: "wire_a",
    diesAt: "hold to be annulled",
    ...HELD,
  },
];

const BATCH_ROWS: readonly BatchRow[] = [
  {
    promise: "killed while the reserve waits, which then commits: the reserve is charged",
    wire: "wire_a",
    diesAt: "reserve sent",
    batch: "commits after the death",
    ...HELD,
  },
  {
    promise: "killed while the reserve waits, which is lost: nothing is owed",
    wire: "wire_b",
    diesAt: "reserve sent",
    batch: "is lost",
    ...NOTHING_HELD,
  },
  {
    promise: "a reserve that commits while the next start waits for it is found by its recovery",
    wire: "wire_b",
    stream: true,
    diesAt: "reserve sent",
    batch: "commits under the next start",
    ...HELD,
    durable: [],
  },
];

export const BEFORE_DISPATCH: readonly MatrixRow[] = [...ROWS, ...BATCH_ROWS];
