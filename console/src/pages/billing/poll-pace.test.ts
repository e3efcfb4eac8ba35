import { expect, test } from "vitest";

import { pollAfterMs } from "./poll-pace.ts";

test("a purchase is polled every 2 seconds at first, then more slowly, then no more", () => {
  expect(pollAfterMs(0)).toBe(2_000);
  expect(pollAfterMs(29)).toBe(2_000);
  expect(pollAfterMs(30)).toBe(5_000);
  expect(pollAfterMs(60)).toBe(15_000);
  expect(pollAfterMs(100)).toBeUndefined();
  expect(pollAfterMs(1_000)).toBeUndefined();
});

test("a page that stays open stops polling after a quarter of an hour", () => {
  let waitedMs = 0;
  for (let answers = 0; answers < 10_000; answers += 1) waitedMs += pollAfterMs(answers) ?? 0;
  expect(waitedMs).toBeGreaterThan(10 * 60_000);
  expect(waitedMs).toBeLessThanOrEqual(15 * 60_000);
});
