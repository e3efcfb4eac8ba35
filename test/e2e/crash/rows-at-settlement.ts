import type { BatchRow, CrashRow, MatrixRow } from "./crash-row.ts";

/** The use was observed and is lost: the reserve is charged, and never a cost that was reported. */
const NOT_SETTLED = { durable: ["open"], pays: ["the reserve"], received: 1 } as const;
const SETTLED = { durable: ["settled"], pays: ["what was used"], received: 1 } as const;
const WIRES = ["wire_a", "wire_b"] as const;
const SHAPES = WIRES.flatMap((wire) => [
  { wire, stream: true, sees: "a part", what: `a stream on ${wire}` } as const,
  { wire, stream: false, sees: "nothing", what: `a whole answer on ${wire}` } as const,
]);

const ROWS: readonly CrashRow[] = SHAPES.flatMap(({ what, ...shape }) => [
  {
    promise: `killed before the settlement of ${what} was sent: the reserve is charged`,
    diesAt: "settle queued" as const,
    ...shape,
    ...NOT_SETTLED,
  },
  {
    promise: `killed when the settlement of ${what} had committed: what was used is charged`,
    diesAt: "last bytes" as const,
    ...shape,
    ...SETTLED,
  },
  {
    promise: `killed when the last bytes of ${what} had left: the reported cost is charged`,
    diesAt: "answered" as const,
    ...shape,
    ...SETTLED,
    sees: "everything" as const,
  },
]);

const MORE_ROWS: readonly CrashRow[] = [
  {
    promise: "killed when the settlement had committed, without notice: what was used is charged",
    wire: "wire_a",
    stream: true,
    diesAt: "settle committed",
    ...SETTLED,
    sees: "a part",
  },
  {
    promise: "killed before the second attempt was settled: the first's part, the second's reserve",
    wire: "wire_a",
    stream: true,
    model: "test/ba",
    provider: ["error_at_event:1"],
    diesAt: "settle queued",
    durable: ["settled", "open"],
    pays: ["what it reported at first", "the reserve"],
    received: 2,
    sees: "a part",
  },
];

const BATCH_ROWS: readonly BatchRow[] = [
  {
    promise: "killed while the settlement waits, which then commits: what was used is charged",
    wire: "wire_b",
    stream: true,
    diesAt: "settle sent",
    batch: "commits after the death",
    ...SETTLED,
    sees: "a part",
  },
  {
    promise: "killed while the settlement waits, which is lost: the reserve is charged",
    wire: "wire_a",
    stream: true,
    diesAt: "settle sent",
    batch: "is lost",
    ...NOT_SETTLED,
    sees: "a part",
  },
  {
    promise: "a settlement that commits while the next start's recovery waits for it is kept",
    wire: "wire_a",
    diesAt: "settle sent",
    batch: "commits under the next start",
    ...SETTLED,
    durable: ["open"],
    sees: "nothing",
  },
];

export const AT_SETTLEMENT: readonly MatrixRow[] = [...ROWS, ...MORE_ROWS, ...BATCH_ROWS];
