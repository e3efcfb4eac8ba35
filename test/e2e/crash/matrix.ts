import type { BatchRow, CrashRow, MatrixRow } from "./crash-row.ts";
import type { FailPoint } from "./fail-points.ts";

const WIRES = ["wire_a", "wire_b"] as const;

const NOTHING_HELD = { durable: [], pays: [], received: 0, sees: "nothing" } as const;
/** The hold is durable, and nobody can prove any more that nothing was sent. */
const HELD = { durable: ["open"], pays: ["the reserve"], received: 0, sees: "nothing" } as const;

const BEFORE_DISPATCH: readonly CrashRow[] = [
  {
    promise: "killed after the key was accepted: nothing is owed",
    wire: "wire_a",
    diesAt: "authenticated",
    ...NOTHING_HELD,
  },
  {
    promise: "killed after the limits were claimed: nothing is owed",
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
    promise: "killed after the reserve committed, before the process knew: the reserve is charged",
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

const RESERVES: readonly BatchRow[] = [
  {
    promise: "killed with a reserve in flight that commits later: the reserve is charged",
    wire: "wire_a",
    diesAt: "reserve sent",
    batch: "commits after the death",
    ...HELD,
  },
  {
    promise: "killed with a reserve in flight that is lost: nothing is owed",
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

/** The provider's usage is lost with the process, so the reserve is charged. */
const SENT = { durable: ["open"], pays: ["the reserve"], received: 1, sees: "nothing" } as const;

const ONE_PROVIDER: readonly CrashRow[] = [
  ...WIRES.map((wire) => ({
    promise: `killed in mid-stream on ${wire}: the client gets a part, and the reserve is charged`,
    wire,
    stream: true,
    provider: ["hang:event:6"],
    diesAt: "output sent" as const,
    ...SENT,
    sees: "a part" as const,
  })),
  {
    promise: "killed after the request was sent to the provider: the reserve is charged",
    wire: "wire_a",
    diesAt: "dispatched",
    ...SENT,
  },
  {
    promise: "killed after the headers of a stream arrived: the reserve is charged",
    wire: "wire_b",
    stream: true,
    diesAt: "headers arrived",
    ...SENT,
  },
  {
    promise: "killed after the headers of a whole answer arrived: the reserve is charged",
    wire: "wire_a",
    diesAt: "headers arrived",
    ...SENT,
  },
  {
    promise:
      "killed in mid-stream of a translated answer: the client gets a part, the reserve is charged",
    wire: "wire_a",
    model: "test/b",
    stream: true,
    provider: ["hang:event:6"],
    diesAt: "output sent",
    ...SENT,
    sees: "a part",
  },
];

const LEFT: CrashRow = {
  promise: "killed while reading an answer whose client disconnected: the reserve is charged",
  wire: "wire_a",
  stream: true,
  provider: ["hang:event:6"],
  leaves: true,
  diesAt: "client left",
  ...SENT,
  sees: "a part",
};

/** The first of two providers fails, and the second has not been asked yet. */
const NEXT = {
  model: "test/both",
  provider: ["status:500"],
  received: 1,
  sees: "nothing",
} as const;
/** The messages wire reports the prompt's tokens before any text, and they are charged. */
const NEXT_AFTER_USE = { ...NEXT, model: "test/ba", provider: ["error_at_event:1"] } as const;

const FAILOVER: readonly CrashRow[] = [
  {
    promise: "killed between two attempts: the first is charged its reserve, and no second exists",
    wire: "wire_a",
    diesAt: "roll queued",
    durable: ["open"],
    pays: ["the reserve"],
    ...NEXT,
  },
  {
    promise:
      "killed after the second hold committed, before the process knew: only that hold is charged",
    wire: "wire_b",
    stream: true,
    diesAt: "roll committed",
    durable: ["void", "open"],
    pays: ["nothing", "the reserve"],
    ...NEXT,
  },
  {
    promise:
      "killed before the second dispatch: the first's usage and the second's reserve are charged",
    wire: "wire_b",
    stream: true,
    diesAt: "dispatch",
    nth: 2,
    durable: ["settled", "open"],
    pays: ["what it reported at first", "the reserve"],
    ...NEXT_AFTER_USE,
  },
  {
    promise:
      "killed after the second dispatch: the first's usage and the second's reserve are charged",
    wire: "wire_a",
    stream: true,
    diesAt: "dispatched",
    nth: 2,
    durable: ["settled", "open"],
    pays: ["what it reported at first", "the reserve"],
    ...NEXT_AFTER_USE,
    received: 2,
  },
  {
    promise:
      "killed in mid-stream of the second attempt: the client gets a part, its reserve is charged",
    wire: "wire_a",
    stream: true,
    diesAt: "output sent",
    durable: ["void", "open"],
    pays: ["nothing", "the reserve"],
    ...NEXT,
    provider: ["status:500", "hang:event:6"],
    received: 2,
    sees: "a part",
  },
];

const ROLLS: readonly BatchRow[] = [
  {
    promise:
      "killed with a roll in flight that commits later: the second attempt's reserve is charged",
    wire: "wire_a",
    diesAt: "roll sent",
    batch: "commits after the death",
    durable: ["void", "open"],
    pays: ["nothing", "the reserve"],
    ...NEXT,
  },
  {
    promise: "killed with a roll in flight that is lost: the first attempt's reserve is charged",
    wire: "wire_b",
    stream: true,
    diesAt: "roll sent",
    batch: "is lost",
    durable: ["open"],
    pays: ["the reserve"],
    ...NEXT_AFTER_USE,
  },
  {
    promise: "a roll that commits while the next start waits for it is found by its recovery",
    wire: "wire_a",
    stream: true,
    diesAt: "roll sent",
    batch: "commits under the next start",
    durable: ["open"],
    pays: ["what it reported at first", "the reserve"],
    ...NEXT_AFTER_USE,
  },
];

/** The observed usage is lost, so the reserve is charged; the client was told no cost. */
const NOT_SETTLED = { durable: ["open"], pays: ["the reserve"], received: 1 } as const;
const SETTLED = { durable: ["settled"], pays: ["what was used"], received: 1 } as const;
const SHAPES = WIRES.flatMap((wire) => [
  { wire, stream: true, sees: "a part", what: `a stream on ${wire}` } as const,
  { wire, stream: false, sees: "nothing", what: `a whole answer on ${wire}` } as const,
]);

const AT_SETTLEMENT: readonly CrashRow[] = SHAPES.flatMap(({ what, ...shape }) => [
  {
    promise: `killed before the settlement of ${what} was sent: the reserve is charged`,
    diesAt: "settle queued" as const,
    ...shape,
    ...NOT_SETTLED,
  },
  {
    promise: `killed after the settlement of ${what} committed: its usage is charged`,
    diesAt: "last bytes" as const,
    ...shape,
    ...SETTLED,
  },
  {
    promise: `killed after the last bytes of ${what} were sent: the reported cost is charged`,
    diesAt: "answered" as const,
    ...shape,
    ...SETTLED,
    sees: "everything" as const,
  },
]);

const MORE_AT_SETTLEMENT: readonly CrashRow[] = [
  {
    promise: "killed after the settlement committed, before the process knew: the usage is charged",
    wire: "wire_a",
    stream: true,
    diesAt: "settle committed",
    ...SETTLED,
    sees: "a part",
  },
  {
    promise:
      "killed before the second settlement: the first's usage and the second's reserve are charged",
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

const SETTLEMENTS: readonly BatchRow[] = [
  {
    promise: "killed with a settlement in flight that commits later: the usage is charged",
    wire: "wire_b",
    stream: true,
    diesAt: "settle sent",
    batch: "commits after the death",
    ...SETTLED,
    sees: "a part",
  },
  {
    promise: "killed with a settlement in flight that is lost: the reserve is charged",
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

export const MATRIX: readonly MatrixRow[] = [
  ...BEFORE_DISPATCH,
  ...RESERVES,
  ...ONE_PROVIDER,
  LEFT,
  ...FAILOVER,
  ...ROLLS,
  ...AT_SETTLEMENT,
  ...MORE_AT_SETTLEMENT,
  ...SETTLEMENTS,
];

/** One point for each state in which a kill can leave the books; the other points add no state. */
const QUICK_POINTS: readonly FailPoint[] = [
  "reserve queued",
  "reserve sent",
  "dispatched",
  "output sent",
  "roll sent",
  "settle queued",
  "settle sent",
  "settle committed",
];

/** The first row of the matrix for each quick point; every run kills the process there. */
export const QUICK_ROWS: readonly MatrixRow[] = QUICK_POINTS.flatMap(
  (point) => MATRIX.find((row) => row.diesAt === point) ?? [],
);

/** All other rows; the deep run kills the process there, too. */
export const DEEP_ROWS: readonly MatrixRow[] = MATRIX.filter((row) => !QUICK_ROWS.includes(row));
