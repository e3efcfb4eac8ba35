import { expect, test } from "vitest";

import { Job, workOnEach } from "./job.ts";

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

test("a round that fails is reported, and the next one comes", async () => {
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

test("a stop waits for the round under way, which learns of it, and none comes after it", async () => {
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

test("one that fails keeps no other waiting; many in a row end the round", async () => {
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

test("after a stop nothing more is taken", async () => {
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
