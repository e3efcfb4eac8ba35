import { describe, expect, test } from "vitest";

import type { AttemptId, KeyId, OrgId } from "../../kernel/core/ids.ts";
import { microUsd } from "../../kernel/core/money.ts";
import { systemClock } from "../../kernel/core/time.ts";
import type { CloseRow, Ledger, ReserveOutcome, ReserveRow } from "../../ledger/ledger-store.ts";
import { type LimitLease, type LimitStore, tokenCount } from "../limits/limit-store.ts";
import { ClaimedScopes } from "./claim.ts";
import { CallHold } from "./hold.ts";
import { Shortfalls } from "./refusal-memory.ts";

const ORG = "org_a" as OrgId;
const KEY = "key_a" as KeyId;

function reserveOf(attempt: bigint): ReserveRow {
  const reserveMicroUsd = microUsd(5n);
  return { attemptId: attempt as AttemptId, orgId: ORG, keyId: KEY, reserveMicroUsd } as ReserveRow;
}

const LEASE: LimitLease = { remainingRequests: 1, remainingTokens: 1, queueMs: 0 };

interface Answers {
  readonly reserved?: ReserveOutcome;
  readonly rolled?: ReserveOutcome;
  /** Replaces `reserved` if the answer changes between calls. */
  readonly next?: () => ReserveOutcome;
}

function heldCall(answers: Answers = {}) {
  const { reserved = { kind: "reserved" }, rolled = { kind: "reserved" } } = answers;
  const { next = () => reserved } = answers;
  const closed: CloseRow[] = [];
  const said: string[] = [];
  let asked = 0;
  const ledger: Pick<Ledger, "reserve" | "close" | "roll"> = {
    reserve: () => {
      asked += 1;
      return Promise.resolve(next());
    },
    close: (row) => {
      closed.push(row);
      return Promise.resolve({ kind: "pending" });
    },
    roll: (row) => {
      closed.push(row);
      return Promise.resolve(rolled);
    },
  };
  const claimed = (name: string): ClaimedScopes => {
    const limits: Pick<LimitStore, "depart" | "release" | "undo"> = {
      depart: () => void said.push(`${name} departed`),
      release: (_lease, observed) => void said.push(`${name} released ${observed.tokens}`),
      undo: () => void said.push(`${name} undone`),
    };
    const scopes = new ClaimedScopes({ limits, clock: systemClock });
    scopes.add(LEASE, undefined);
    return scopes;
  };
  const shortfalls = new Shortfalls(systemClock);
  const deps = { ledger: ledger as Ledger, clock: systemClock, shortfalls };
  const hold = new CallHold(deps, claimed("own"));
  const closedIds = (): bigint[] => closed.map((row) => row.attemptId);
  const opened = (): CallHold => new CallHold(deps, claimed("own"));
  return { hold, opened, asked: () => asked, closed, closedIds, said, pool: () => claimed("pool") };
}

const closing = (attempt: bigint): CloseRow => ({ attemptId: attempt as AttemptId }) as CloseRow;
const REFUSED: ReserveOutcome = { kind: "unavailable", reason: "no" };

test("a call that an internal fault ended owes nothing and holds nothing", async () => {
  const { hold, closed, said, pool } = heldCall();
  hold.takePool(pool());
  await hold.reserve(reserveOf(1n));
  hold.giveUp();
  expect(closed).toMatchObject([
    { attemptId: 1n, usage: null, costPicoUsd: 0n, errorClass: "gateway_error", final: true },
  ]);
  expect(said).toEqual(["pool released 0", "own released 0"]);
});

test("a call that is given up before its first hold closes no attempt and undoes its claims", () => {
  const { hold, closed, said } = heldCall();
  hold.giveUp();
  expect(closed).toEqual([]);
  expect(said).toEqual(["own undone"]);
});

test("a call that is given up between the claim in a pool and its hold undoes both claims", () => {
  const { hold, said, pool } = heldCall();
  hold.takePool(pool());
  hold.giveUp();
  expect(said).toEqual(["pool undone", "own undone"]);
});

test("a fault between a failover's claim in a pool and its hold undoes that claim, and releases the others", async () => {
  const { hold, closedIds, said, pool } = heldCall();
  hold.takePool(pool());
  await hold.reserve(reserveOf(1n));
  hold.leavePool(tokenCount(3, 0));
  hold.takePool(pool());
  hold.giveUp();
  expect(closedIds()).toEqual([1n]);
  expect(said).toEqual(["pool released 3", "pool undone", "own released 0"]);
});

test("a refused hold undoes its pool claim at once, and other claims only at undo()", async () => {
  const { hold, said, pool } = heldCall({ reserved: REFUSED });
  hold.takePool(pool());
  await hold.reserve(reserveOf(1n));
  expect(said).toEqual(["pool undone"]);
  hold.undo();
  expect(said).toEqual(["pool undone", "own undone"]);
});

test("giving up a call that has already ended closes and releases nothing again", async () => {
  const { hold, closedIds, said } = heldCall();
  await hold.reserve(reserveOf(1n));
  await hold.close(closing(1n));
  hold.release(tokenCount(8, 4));
  hold.giveUp();
  expect(closedIds()).toEqual([1n]);
  expect(said).toEqual(["own released 12"]);
});

test("each attempt releases its own tokens in its pool, and the call releases their sum in its own limits", async () => {
  const { hold, said, pool } = heldCall();
  hold.takePool(pool());
  await hold.reserve(reserveOf(1n));
  hold.leavePool(tokenCount(3, 0));
  hold.takePool(pool());
  await hold.roll(closing(1n), reserveOf(2n));
  hold.leavePool(tokenCount(5, 1));
  hold.release(tokenCount(8, 1));
  expect(said).toEqual(["pool released 3", "pool released 6", "own released 9"]);
});

test("a fault after a failover closes the new attempt, unless its hold was refused", async () => {
  const rolled = heldCall();
  await rolled.hold.reserve(reserveOf(1n));
  await rolled.hold.roll(closing(1n), reserveOf(2n));
  rolled.hold.giveUp();
  expect(rolled.closedIds()).toEqual([1n, 2n]);

  const refused = heldCall({ rolled: REFUSED });
  await refused.hold.reserve(reserveOf(1n));
  refused.hold.takePool(refused.pool());
  await refused.hold.roll(closing(1n), reserveOf(2n));
  refused.hold.giveUp();
  expect(refused.closedIds()).toEqual([1n]);
  expect(refused.said).toEqual(["pool undone", "own released 0"]);
});

describe("a hold that the ledger refused twice in a row", () => {
  const SHORT: ReserveOutcome = {
    kind: "low_balance",
    availableMicroUsd: microUsd(1n),
    heldMicroUsd: microUsd(9n),
  };

  test("is refused the third time with the same answer, without asking the ledger, and undoes its pool claim", async () => {
    const { hold, asked, said, pool } = heldCall({ reserved: SHORT });
    for (let n = 0; n < 3; n += 1) {
      hold.takePool(pool());
      expect(await hold.reserve(reserveOf(1n))).toBe(SHORT);
    }
    expect(asked()).toBe(2);
    expect(said).toEqual(["pool undone", "pool undone", "pool undone"]);
  });

  const ends = async (hold: CallHold): Promise<void> => {
    await hold.close(closing(1n));
    hold.release(tokenCount(0, 0));
  };
  const failsOver = (hold: CallHold) => hold.roll(closing(1n), reserveOf(2n));

  test.each([
    ["a call of the organization has ended", ends],
    ["a call of the organization has failed over", failsOver],
  ])("is sent to the ledger again when %s", async (_what, end) => {
    const reserved = { kind: "reserved" } as const;
    let outcome: ReserveOutcome = reserved;
    const { hold, opened, asked } = heldCall({ next: () => outcome });
    await hold.reserve(reserveOf(1n));
    outcome = SHORT;
    for (let n = 0; n < 3; n += 1) await opened().reserve(reserveOf(2n));
    expect(asked()).toBe(3);
    outcome = reserved;
    await end(hold);
    expect(await opened().reserve(reserveOf(3n))).toBe(reserved);
  });
});
