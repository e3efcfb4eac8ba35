import * as fc from "fast-check";
import { expect, test } from "vitest";

import { microUsd } from "../../kernel/core/money.ts";
import type { UseInWindow } from "./unusual-use.ts";
import { WindowUse, type CountedRequest } from "./window-use.ts";

const WINDOW_MS = 60_000;
const SLICE_MS = WINDOW_MS / 60;
const CLIENTS_MAX = 5;

interface Happened {
  readonly atMs: number;
  readonly request: CountedRequest;
}

test("what happened within the window counts, by its outcome, with what it cost", () => {
  const use = new WindowUse(WINDOW_MS, CLIENTS_MAX);
  use.note(requestOf("served", 700n, "a"), 100_000);
  use.note(requestOf("failed", 0n, "b"), 100_500);
  use.note(requestOf("refused", 0n, "a"), 130_000);
  use.note(requestOf("served", 5n), 130_000);
  expect(use.inWindow(130_000)).toEqual({
    servedRequests: 2,
    failedRequests: 1,
    refusedRequests: 1,
    clientAddresses: 2,
    debitMicroUsd: 705n,
  });
  expect(use.sinceMs).toBe(100_000);
  expect(use.lastMs).toBe(130_000);
});

test("what is older than the window has left, and the rest stays", () => {
  const use = new WindowUse(WINDOW_MS, CLIENTS_MAX);
  use.note(requestOf("refused", 0n, "old"), 100_000);
  use.note(requestOf("served", 9n, "new"), 150_000);
  expect(use.inWindow(159_000).refusedRequests).toBe(1);
  expect(use.inWindow(160_000)).toMatchObject({ refusedRequests: 0, clientAddresses: 1 });
  expect(use.sinceMs).toBe(150_000);
  expect(use.inWindow(1_000_000)).toMatchObject({ servedRequests: 0, debitMicroUsd: 0n });
  expect(use.sinceMs).toBeUndefined();
});

test("a client that continues counts once, and for as long as it was seen last", () => {
  const use = new WindowUse(WINDOW_MS, CLIENTS_MAX);
  use.note(requestOf("served", 0n, "first"), 100_000);
  use.note(requestOf("served", 0n, "second"), 110_000);
  use.note(requestOf("served", 0n, "first"), 150_000);
  expect(use.inWindow(150_000).clientAddresses).toBe(2);
  expect(use.inWindow(171_000).clientAddresses).toBe(1);
  expect(use.inWindow(211_000).clientAddresses).toBe(0);
});

test("a clock that steps back loses nothing and keeps nothing for longer", () => {
  const use = new WindowUse(WINDOW_MS, CLIENTS_MAX);
  use.note(requestOf("refused"), 100_000);
  use.note(requestOf("refused"), 40_000);
  expect(use.inWindow(40_000).refusedRequests).toBe(2);
  expect(use.inWindow(160_000).refusedRequests).toBe(0);
});

test("counts what a plain list of requests counts, for any history", () => {
  const step = fc.record({
    waitMs: fc.oneof(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 0, max: 90_000 })),
    outcome: fc.constantFrom("served", "failed", "refused" as const),
    debit: fc.bigInt(0n, 1_000n),
    client: fc.option(fc.constantFrom("a", "b", "c", "d"), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80, size: "max" }), (steps) => {
      const use = new WindowUse(WINDOW_MS, CLIENTS_MAX);
      const all: Happened[] = [];
      let nowMs = 1_000_000_123;
      for (const { waitMs, outcome, debit, client } of steps) {
        nowMs += waitMs;
        const request = requestOf(outcome, debit, client);
        use.note(request, nowMs);
        all.push({ atMs: nowMs, request });
        const slice = Math.floor(nowMs / SLICE_MS);
        const counted = all.filter((each) => slice - Math.floor(each.atMs / SLICE_MS) < 60);
        expect(use.inWindow(nowMs)).toEqual(sumOf(counted));
        expect(use.sinceMs).toBe(counted[0]?.atMs);
        // Nothing older than the window counts, and nothing of its last 59 parts is missed.
        for (const each of counted) expect(nowMs - each.atMs).toBeLessThan(WINDOW_MS);
        const young = all.filter((each) => nowMs - each.atMs <= WINDOW_MS - SLICE_MS);
        expect(counted).toEqual(expect.arrayContaining(young));
      }
    }),
  );
});

test("more different clients than are distinguished are not remembered", () => {
  const use = new WindowUse(WINDOW_MS, CLIENTS_MAX);
  for (let n = 0; n < 1_000; n += 1) use.note(requestOf("served", 0n, `client ${n}`), 100_000);
  expect(use.inWindow(100_000).clientAddresses).toBe(CLIENTS_MAX);
});

function requestOf(
  outcome: CountedRequest["outcome"],
  debit = 0n,
  clientMark?: string,
): CountedRequest {
  return { outcome, debitMicroUsd: microUsd(debit), clientMark };
}

function sumOf(happened: readonly Happened[]): UseInWindow {
  const of = (outcome: CountedRequest["outcome"]): number =>
    happened.filter(({ request }) => request.outcome === outcome).length;
  const marks = happened.flatMap(({ request }) => request.clientMark ?? []);
  return {
    servedRequests: of("served"),
    failedRequests: of("failed"),
    refusedRequests: of("refused"),
    clientAddresses: new Set(marks).size,
    debitMicroUsd: microUsd(
      happened.reduce<bigint>((sum, { request }) => sum + request.debitMicroUsd, 0n),
    ),
  };
}
