import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { type Deadline, Deadlines, Job, listPieces, mapInTurns, workOnEach } from "./time.ts";

describe("Deadlines", () => {
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

  test("notifies due work once, at most one tick late and never early", () => {
    const { deadlines: watcher, pass } = deadlines();
    const reported: number[] = [];
    watcher.watch(deadline(120, (nowMs) => reported.push(nowMs)));
    pass(100);
    expect(reported).toEqual([]);
    pass(50);
    pass(500);
    expect(reported).toEqual([150]);
  });

  test("does not notify work that ended earlier in the same sweep", () => {
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

  test("notifies exactly the watched work, in whatever order work was added and removed", () => {
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

  test("abort, at shutdown, only the work that has an onCut() handler, even if it is watched later", () => {
    const { deadlines: watcher } = deadlines();
    let cut = 0;
    const makeCuttable = (): Deadline => ({ ...deadline(1e9), onCut: () => (cut += 1) });
    watcher.watch(makeCuttable());
    watcher.watch(deadline(1e9));
    watcher.cutAll();
    expect(cut).toBe(1);
    watcher.watch(makeCuttable());
    expect(cut).toBe(2);
  });
});

test("mapInTurns maps every item once, in order, and lets other work run between them", async () => {
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  const items = Array.from({ length: 2_000 }, (_, at) => at);
  const made = await mapInTurns(items, (item) => {
    const untilMs = performance.now() + 0.05;
    while (performance.now() < untilMs);
    return item * 2;
  });
  clearInterval(timer);
  expect(made).toEqual(items.map((item) => item * 2));
  expect(turns).toBeGreaterThan(3);
});

test("the pieces of listPieces are the JSON of the whole list", async () => {
  const frame = { before: '{"a":[', after: "]}" };
  for (const count of [0, 1, 2, 3_000]) {
    const items = Array.from({ length: count }, (_, at) => `é${at}`.repeat(10));
    const pieces = await listPieces(items, (item) => JSON.stringify(item), frame);
    expect(pieces.length > 1).toBe(count === 3_000);
    expect(JSON.parse(Buffer.concat(pieces).toString())).toEqual({ a: items });
  }
});

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

test("a job reports a round that fails, and runs the next one", async () => {
  const faults: unknown[] = [];
  let rounds = 0;
  const second = deferred();
  const job = new Job(
    1,
    async () => {
      rounds += 1;
      if (rounds === 2) second.resolve();
      await Promise.reject(new Error("the database is away"));
    },
    (fault) => faults.push(fault),
  );
  job.startNow();
  await second.promise;
  await job.close();
  expect(faults).toHaveLength(2);
});

test("a closing job tells its running round, waits for it, and starts no other", async () => {
  const begun = deferred();
  const end = deferred();
  let rounds = 0;
  let hasLearned = false;
  const job = new Job(
    0,
    async (isStopping) => {
      rounds += 1;
      begun.resolve();
      await end.promise;
      hasLearned = isStopping();
    },
    () => expect.unreachable(),
  );
  job.startNow();
  await begun.promise;
  let isClosed = false;
  const closed = job.close().then(() => {
    isClosed = true;
  });
  await new Promise(setImmediate);
  expect(isClosed).toBe(false);
  end.resolve();
  await closed;
  expect(hasLearned).toBe(true);
  await new Promise((resolve) => {
    setTimeout(resolve, 5);
  });
  job.start();
  expect(rounds).toBe(1);
});

test("workOnEach goes on after an item that fails, and ends after three failures in a row", async () => {
  const asked: number[] = [];
  const failing = new Set([1, 3, 4, 6, 7, 8]);
  const failed: number[] = [];
  await workOnEach(
    Array.from({ length: 20 }, (_, at) => at),
    async (at) => {
      asked.push(at);
      if (failing.has(at)) await Promise.reject(new Error("no answer"));
    },
    { failuresMax: 3, isStopping: () => false, failed: (_, at) => failed.push(at) },
  );
  expect(asked).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  expect(failed).toEqual([...failing]);
});

test("workOnEach takes no item after a stop", async () => {
  let taken = 0;
  function* items(): Generator<number> {
    for (;;) yield (taken += 1);
  }
  let isStopping = false;
  const bounds = { failuresMax: 1, isStopping: () => isStopping, failed: () => undefined };
  await workOnEach(
    items(),
    async (at) => {
      isStopping = at === 3;
      await Promise.resolve();
    },
    bounds,
  );
  expect(taken).toBe(3);
  await workOnEach(items(), () => Promise.reject(new Error("nothing is begun")), bounds);
  expect(taken).toBe(3);
});
