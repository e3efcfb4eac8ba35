import { expect, test } from "vitest";
import { ExpiringCache } from "./expiring-cache.ts";

test("a cache returns a value until its time is over", () => {
  const cache = new ExpiringCache<string>(5_000, 10);
  cache.set("a", "one", 1_000);
  expect(cache.get("a", 5_999)).toBe("one");
  expect(cache.get("a", 6_000)).toBeUndefined();
});

test("a full cache drops its oldest values", () => {
  const cache = new ExpiringCache<number>(5_000, 3);
  for (let n = 0; n < 10; n += 1) cache.set(`k${n}`, n, n);
  expect(cache.size).toBe(3);
  expect(cache.get("k6", 10)).toBeUndefined();
  expect(cache.get("k7", 10)).toBe(7);
});

test("a cache drops expired values when a new one is set", () => {
  const cache = new ExpiringCache<number>(5_000, 1_000);
  for (let n = 0; n < 100; n += 1) cache.set(`k${n}`, n, n);
  cache.set("later", 1, 10_000);
  expect(cache.size).toBe(1);
});

test("setting a value again restarts its time", () => {
  const cache = new ExpiringCache<number>(5_000, 2);
  cache.set("a", 1, 0);
  cache.set("b", 2, 10);
  cache.set("a", 3, 20);
  cache.set("c", 4, 30);
  expect(cache.get("a", 40)).toBe(3);
  expect(cache.get("b", 40)).toBeUndefined();
});
