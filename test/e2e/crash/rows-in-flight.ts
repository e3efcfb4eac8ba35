import type { BatchRow, CrashRow, MatrixRow } from "./crash-row.ts";

/** The provider's usage is lost with the process: the most it can have been is charged. */
const SENT = { durable: ["open"], pays: ["the reserve"], received: 1, sees: "nothing" } as const;
const WIRES = ["wire_a", "wire_b"] as const;

const ONE_PROVIDER: readonly CrashRow[] = [
  ...WIRES.map((wire) => ({
    promise: `killed in mid-stream, ${wire}: a part is seen, the reserve is charged`,
    wire,
    stream: true,
    provider: ["hang:event:6"],
    diesAt: "output sent" as const,
    ...SENT,
    sees: "a part" as const,
  })),
  {
    promise: "killed when the request had left: the reserve is charged",
    wire: "wire_a",
    diesAt: "dispatched",
    ...SENT,
  },
  {
    promise: "killed when the headers of a stream had come: the reserve is charged",
    wire: "wire_b",
    stream: true,
    diesAt: "headers arrived",
    ...SENT,
  },
  {
    promise: "killed when the headers of a whole answer had come: the reserve is charged",
    wire: "wire_a",
    diesAt: "headers arrived",
    ...SENT,
  },
  {
    promise: "killed in mid-stream of a translated answer: a part is seen, the reserve is charged",
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
  promise: "killed while it reads on for a client that left: the reserve is charged",
  wire: "wire_a",
  stream: true,
  provider: ["hang:event:6"],
  leaves: true,
  diesAt: "client left",
  ...SENT,
  sees: "a part",
};

/** The first of two providers says no, and the second was not asked yet. */
const NEXT = {
  model: "test/both",
  provider: ["status:500"],
  received: 1,
  sees: "nothing",
} as const;
/** The messages wire reports the prompt's tokens before any text; they are paid. */
const NEXT_AFTER_USE = { ...NEXT, model: "test/ba", provider: ["error_at_event:1"] } as const;

const FAILOVER: readonly CrashRow[] = [
  {
    promise: "killed between two attempts: the first is charged its reserve, no second exists",
    wire: "wire_a",
    diesAt: "roll queued",
    durable: ["open"],
    pays: ["the reserve"],
    ...NEXT,
  },
  {
    promise: "killed when the second attempt was held, without notice: only that one is charged",
    wire: "wire_b",
    stream: true,
    diesAt: "roll committed",
    durable: ["void", "open"],
    pays: ["nothing", "the reserve"],
    ...NEXT,
  },
  {
    promise: "killed before the second dispatch: what the first used and the second's reserve",
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
      "killed when the second attempt had left: what the first used and the second's reserve",
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
    promise: "killed in mid-stream of the second attempt: a part is seen, its reserve is charged",
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
    promise: "killed while the roll waits, which then commits: the second's reserve is charged",
    wire: "wire_a",
    diesAt: "roll sent",
    batch: "commits after the death",
    durable: ["void", "open"],
    pays: ["nothing", "the reserve"],
    ...NEXT,
  },
  {
    promise: "killed while the roll waits, which is lost: the first attempt's reserve is charged",
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

export const IN_FLIGHT: readonly MatrixRow[] = [...ONE_PROVIDER, LEFT, ...FAILOVER, ...ROLLS];
