import { expect, test } from "vitest";

import { CachedRead } from "./cached-read.ts";

/** A clock that the test moves, and reads that the test ends. */
function reader(keptMs: number) {
  let nowMs = 0;
  const ends: { done: (value: number) => void; fail: (fault: Error) => void }[] = [];
  const clock = { monotonicMs: () => nowMs };
  const read = () =>
    new Promise<number>((done, fail) => {
      ends.push({ done, fail });
    });
  const kept = new CachedRead(read, clock, keptMs);
  return { kept, ends, wait: (ms: number) => (nowMs += ms) };
}

test("all callers share one read and its result until it expires", async () => {
  const { kept, ends, wait } = reader(60_000);
  const asked = [kept.get(), kept.get()];
  ends[0]?.done(1);
  expect(await Promise.all(asked)).toEqual([1, 1]);
  wait(59_999);
  expect(await kept.get()).toBe(1);
  wait(1);
  const later = kept.get();
  ends[1]?.done(2);
  expect(await later).toBe(2);
  expect(ends).toHaveLength(2);
});

test("a hanging read is shared for ten seconds, and its late result does not replace a newer result", async () => {
  const { kept, ends, wait } = reader(60_000);
  const hung = kept.get();
  wait(9_999);
  expect(kept.get()).toBe(hung);
  wait(1);
  const next = kept.get();
  expect(next).not.toBe(hung);
  ends[1]?.done(2);
  expect(await next).toBe(2);
  ends[0]?.done(1);
  await hung;
  expect(await kept.get()).toBe(2);
});

test("a failed read is shared for five seconds and then retried", async () => {
  const { kept, ends, wait } = reader(60_000);
  const failed = kept.get();
  ends[0]?.fail(new Error("away"));
  await expect(failed).rejects.toThrow("away");
  wait(4_999);
  await expect(kept.get()).rejects.toThrow("away");
  wait(1);
  const again = kept.get();
  ends[1]?.done(2);
  expect(await again).toBe(2);
});
