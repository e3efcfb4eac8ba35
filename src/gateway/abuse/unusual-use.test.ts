import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { microUsd, ZERO_MICRO_USD } from "../../kernel/core/money.ts";
import {
  type CountedRequest,
  findUnusualUse,
  type UnusualUsePolicy,
  type UseInWindow,
  WatchedUse,
  WindowUse,
} from "./unusual-use.ts";

const POLICY: UnusualUsePolicy = {
  windowMs: 300_000,
  refusedRequests: 200,
  clientAddresses: 20,
  errorPercent: 80,
  requestsMin: 50,
  spendMicroUsd: microUsd(5_000_000n),
};
const NOTHING: UseInWindow = {
  servedRequests: 0,
  failedRequests: 0,
  refusedRequests: 0,
  clientAddresses: 0,
  debitMicroUsd: microUsd(0n),
};

function linesOf(use: Partial<UseInWindow>, policy: UnusualUsePolicy = POLICY): string[] {
  return (findUnusualUse(policy, { ...NOTHING, ...use }) ?? []).map((each) => each.line);
}

describe("unusual use", () => {
  test("is found when any single threshold is reached, and not just below it", () => {
    expect(linesOf({ refusedRequests: 199 })).toEqual([]);
    expect(linesOf({ refusedRequests: 200 })).toEqual(["refused_requests"]);
    expect(linesOf({ clientAddresses: 19 })).toEqual([]);
    expect(linesOf({ clientAddresses: 20 })).toEqual(["client_addresses"]);
    expect(linesOf({ debitMicroUsd: microUsd(4_999_999n) })).toEqual([]);
    expect(linesOf({ debitMicroUsd: microUsd(5_000_000n) })).toEqual(["spend_usd"]);
    expect(linesOf({ failedRequests: 79, servedRequests: 21 })).toEqual([]);
    expect(linesOf({ failedRequests: 80, servedRequests: 20 })).toEqual(["error_percent"]);
  });

  test("is found by its error percentage only from 50 requests on, not counting refused requests", () => {
    expect(linesOf({ failedRequests: 49 })).toEqual([]);
    expect(linesOf({ failedRequests: 50 })).toEqual(["error_percent"]);
    // Refused requests do not change the percentage of failed ones.
    expect(linesOf({ failedRequests: 50, refusedRequests: 150 })).toEqual(["error_percent"]);
    expect(linesOf({ failedRequests: 40, refusedRequests: 150 })).toEqual([]);
  });

  test("is not found by a threshold that is switched off", () => {
    const use = { refusedRequests: 500, failedRequests: 100, debitMicroUsd: microUsd(9_000_000n) };
    const off = { refusedRequests: undefined, errorPercent: undefined, spendMicroUsd: undefined };
    expect(linesOf(use, { ...POLICY, ...off })).toEqual([]);
    expect(linesOf({ clientAddresses: 50 }, { ...POLICY, clientAddresses: undefined })).toEqual([]);
  });

  test("is reported with every threshold that was reached and its figure", () => {
    const use = { refusedRequests: 250, clientAddresses: 3, debitMicroUsd: microUsd(6_250_000n) };
    expect(findUnusualUse(POLICY, { ...NOTHING, ...use })).toEqual([
      { line: "refused_requests", seen: "250" },
      { line: "spend_usd", seen: "6.250000" },
    ]);
    expect(findUnusualUse(POLICY, { ...NOTHING, failedRequests: 60, servedRequests: 3 })).toEqual([
      { line: "error_percent", seen: "60 of 63" },
    ]);
  });
});

const WINDOW_MS = 60_000;
const REFUSED: CountedRequest = {
  outcome: "refused",
  debitMicroUsd: ZERO_MICRO_USD,
  clientMark: undefined,
};

test("each key is counted separately, and forgetting a key keeps the counts of other keys", () => {
  const watched = new WatchedUse({ windowMs: WINDOW_MS, clientsMax: 0, entriesMax: 10 });
  watched.note("one", REFUSED, 1_000);
  watched.note("two", REFUSED, 1_000);
  watched.forget("one");
  expect(watched.note("one", REFUSED, 2_000).inWindow(2_000).refusedRequests).toBe(1);
  expect(watched.note("two", REFUSED, 2_000).inWindow(2_000).refusedRequests).toBe(2);
});

test("a key that sent nothing for a whole window is no longer watched", () => {
  const watched = new WatchedUse({ windowMs: WINDOW_MS, clientsMax: 0, entriesMax: 10 });
  watched.note("silent", REFUSED, 1_000);
  watched.note("active", REFUSED, WINDOW_MS + 999);
  expect(watched.size).toBe(2);
  watched.note("active", REFUSED, WINDOW_MS + 1_000);
  expect(watched.size).toBe(1);
});

test("above the bound of watched keys, the key that was silent longest is dropped", () => {
  const watched = new WatchedUse({ windowMs: WINDOW_MS, clientsMax: 0, entriesMax: 2 });
  watched.note("silent", REFUSED, 1_000);
  watched.note("busy", REFUSED, 1_001);
  watched.note("busy", REFUSED, 1_002);
  watched.note("new", REFUSED, 1_003);
  expect(watched.size).toBe(2);
  expect(watched.note("busy", REFUSED, 1_004).inWindow(1_004).refusedRequests).toBe(3);
  expect(watched.note("silent", REFUSED, 1_005).inWindow(1_005).refusedRequests).toBe(1);
});

const SLICE_MS = WINDOW_MS / 60;
const CLIENTS_MAX = 5;

interface Happened {
  readonly atMs: number;
  readonly request: CountedRequest;
}

test("a clock that steps back neither drops a counted request nor keeps it beyond its window", () => {
  const use = new WindowUse(WINDOW_MS, CLIENTS_MAX);
  use.note(requestOf("refused"), 100_000);
  use.note(requestOf("refused"), 40_000);
  expect(use.inWindow(40_000).refusedRequests).toBe(2);
  expect(use.inWindow(160_000).refusedRequests).toBe(0);
});

test("the counts of a window equal those of a plain list of requests, for any history", () => {
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
        expect(use.inWindow(nowMs)).toEqual(addUp(counted));
        expect(use.sinceMs).toBe(counted[0]?.atMs);
        // No counted request is older than the window, and all of its last 59 slices are counted.
        for (const each of counted) expect(nowMs - each.atMs).toBeLessThan(WINDOW_MS);
        const young = all.filter((each) => nowMs - each.atMs <= WINDOW_MS - SLICE_MS);
        expect(counted).toEqual(expect.arrayContaining(young));
      }
    }),
  );
});

test("a window counts distinct clients only up to its bound", () => {
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

function addUp(happened: readonly Happened[]): UseInWindow {
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
