import * as fc from "fast-check";
import { expect, test } from "vitest";

import { ZERO_MICRO_USD } from "../../kernel/core/money.ts";
import { WatchedUse } from "./watched-use.ts";
import type { CountedRequest } from "./window-use.ts";

const WINDOW_MS = 60_000;
const REFUSED: CountedRequest = {
  outcome: "refused",
  debitMicroUsd: ZERO_MICRO_USD,
  clientMark: undefined,
};

test("each is counted for itself, and forgetting one keeps the others", () => {
  const watched = new WatchedUse({ windowMs: WINDOW_MS, clientsMax: 0, entriesMax: 10 });
  watched.note("one", REFUSED, 1_000);
  watched.note("two", REFUSED, 1_000);
  watched.forget("one");
  expect(watched.note("one", REFUSED, 2_000).inWindow(2_000).refusedRequests).toBe(1);
  expect(watched.note("two", REFUSED, 2_000).inWindow(2_000).refusedRequests).toBe(2);
});

test("memory holds at most those who did something within the window, and never too many", () => {
  const step = fc.record({
    waitMs: fc.oneof(fc.integer({ min: 0, max: 5_000 }), fc.integer({ min: 0, max: 70_000 })),
    key: fc.integer({ min: 0, max: 30 }).map(String),
  });
  const entriesMax = 8;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120, size: "max" }), (steps) => {
      const watched = new WatchedUse({ windowMs: WINDOW_MS, clientsMax: 0, entriesMax });
      const lastMs = new Map<string, number>();
      let nowMs = 1_000_000;
      for (const { waitMs, key } of steps) {
        nowMs += waitMs;
        watched.note(key, REFUSED, nowMs);
        lastMs.set(key, nowMs);
        const active = [...lastMs.values()].filter((last) => nowMs - last < WINDOW_MS).length;
        expect(watched.size).toBeLessThanOrEqual(Math.min(active, entriesMax));
        expect(watched.size).toBeGreaterThan(0);
      }
    }),
  );
});

test("when there are too many, those who were silent longest are forgotten", () => {
  const watched = new WatchedUse({ windowMs: WINDOW_MS, clientsMax: 0, entriesMax: 2 });
  watched.note("silent", REFUSED, 1_000);
  watched.note("busy", REFUSED, 1_001);
  watched.note("busy", REFUSED, 1_002);
  watched.note("new", REFUSED, 1_003);
  expect(watched.size).toBe(2);
  expect(watched.note("busy", REFUSED, 1_004).inWindow(1_004).refusedRequests).toBe(3);
  expect(watched.note("silent", REFUSED, 1_005).inWindow(1_005).refusedRequests).toBe(1);
});
