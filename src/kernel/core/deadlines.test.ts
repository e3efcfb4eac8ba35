import * as fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Deadlines, type Deadline } from "./deadlines.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function deadlines(): { deadlines: Deadlines; pass: (ms: number) => void } {
  let nowMs = 0;
  return {
    deadlines: new Deadlines({ nowMs: () => nowMs, monotonicMs: () => nowMs }),
    pass: (ms) => {
      nowMs += ms;
      vi.advanceTimersByTime(ms);
    },
  };
}

function deadline(dueMs: number, onDue: (nowMs: number) => void = () => {}): Deadline {
  return { dueMs, watchedAt: -1, onDue };
}

test("due work is notified once, at most one tick late and never early", () => {
  const { deadlines: watcher, pass } = deadlines();
  const reported: number[] = [];
  watcher.watch(deadline(120, (nowMs) => reported.push(nowMs)));
  pass(100);
  expect(reported).toEqual([]);
  pass(50);
  pass(500);
  expect(reported).toEqual([150]);
});

test("work that sets a new time is notified again", () => {
  const { deadlines: watcher, pass } = deadlines();
  let count = 0;
  const repeated = deadline(50, (nowMs) => {
    count += 1;
    repeated.dueMs = nowMs + 100;
  });
  watcher.watch(repeated);
  for (let i = 0; i < 10; i += 1) pass(50);
  expect(count).toBe(5);
});

test("work that ended in the same sweep is not notified any more", () => {
  const { deadlines: watcher, pass } = deadlines();
  const reported: string[] = [];
  const second = deadline(50, () => reported.push("second"));
  const first = deadline(50, () => {
    reported.push("first");
    watcher.unwatch(second);
  });
  watcher.watch(first);
  watcher.watch(second);
  pass(50);
  expect(reported).toEqual(["first"]);
});

test("whatever is watched and unwatched in any order, exactly the watched are notified", () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 19 }), { maxLength: 200 }), (toggles) => {
      const { deadlines: watcher, pass } = deadlines();
      const reported = new Set<number>();
      const all = Array.from({ length: 20 }, (_, i) => deadline(50, () => reported.add(i)));
      const expected = new Set<number>();
      for (const i of toggles) {
        const each = all[i];
        if (each === undefined) continue;
        if (expected.delete(i)) watcher.unwatch(each);
        else {
          expected.add(i);
          watcher.watch(each);
        }
      }
      expect(watcher.size).toBe(expected.size);
      pass(50);
      expect(reported).toEqual(expected);
    }),
  );
});

test("a shutdown cuts what can be cut and leaves the rest", () => {
  const { deadlines: watcher } = deadlines();
  let cut = 0;
  watcher.watch({ ...deadline(1e9), cut: () => (cut += 1) });
  watcher.watch(deadline(1e9));
  watcher.cutAll();
  expect(cut).toBe(1);
});
