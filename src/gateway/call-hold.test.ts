import { expect, test } from "vitest";
import type { AttemptId } from "../core/ids.ts";
import { microUsd } from "../core/money.ts";
import { systemClock } from "../core/time.ts";
import type { CloseRow, Ledger, ReserveOutcome, ReserveRow } from "../ledger/ledger-store.ts";
import { tokenCount, type LimitLease, type LimitStore } from "../limits/limit-store.ts";
import { CallHold } from "./call-hold.ts";

function reserveOf(attempt: bigint): ReserveRow {
  return { attemptId: attempt as AttemptId, reserveMicroUsd: microUsd(5n) } as ReserveRow;
}

function heldCall(rolled: ReserveOutcome = { kind: "reserved" }) {
  const closed: CloseRow[] = [];
  const released: number[] = [];
  const ledger: Pick<Ledger, "close" | "roll"> = {
    close: (row) => {
      closed.push(row);
      return Promise.resolve({ kind: "pending" });
    },
    roll: (row) => {
      closed.push(row);
      return Promise.resolve(rolled);
    },
  };
  const limits: Pick<LimitStore, "release"> = {
    release: (_lease, observed) => void released.push(observed.tokens),
  };
  const deps = { ledger: ledger as Ledger, limits: limits as LimitStore, clock: systemClock };
  const hold = new CallHold(deps, reserveOf(1n), {} as LimitLease);
  const closedIds = (): bigint[] => closed.map((row) => row.attemptId);
  return { hold, closed, closedIds, released };
}

const closing = (attempt: bigint): CloseRow => ({ attemptId: attempt as AttemptId }) as CloseRow;

test("a call that a fault of ours ended owes nothing and holds nothing", () => {
  const { hold, closed, released } = heldCall();
  hold.giveUp();
  expect(closed).toMatchObject([
    { attemptId: 1n, usage: null, costPicoUsd: 0n, errorClass: "gateway_error", final: true },
  ]);
  expect(released).toEqual([0]);
});

test("a call that ended well has nothing left to give up", async () => {
  const { hold, closedIds, released } = heldCall();
  await hold.close(closing(1n));
  hold.release(tokenCount(8, 4));
  hold.giveUp();
  expect(closedIds()).toEqual([1n]);
  expect(released).toEqual([12]);
});

test("after a failover it is the new attempt that is given up, or none when it was refused", async () => {
  const rolled = heldCall();
  await rolled.hold.roll(closing(1n), reserveOf(2n));
  rolled.hold.giveUp();
  expect(rolled.closedIds()).toEqual([1n, 2n]);

  const refused = heldCall({ kind: "unavailable", reason: "no" });
  await refused.hold.roll(closing(1n), reserveOf(2n));
  refused.hold.giveUp();
  expect(refused.closedIds()).toEqual([1n]);
  expect(refused.released).toEqual([0]);
});
