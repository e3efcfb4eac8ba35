import { expect, test } from "vitest";
import { ExpiringCache } from "./expiring-cache.ts";

test("a value is good until its time is over", () => {
  const cache = new ExpiringCache<string>(5_000, 10);
  cache.set("a", "one", 1_000);
  expect(cache.get("a", 5_999)).toBe("one");
  expect(cache.get("a", 6_000)).toBeUndefined();
});

test("never holds more than its bound, and the oldest leave first", () => {
  const cache = new ExpiringCache<number>(5_000, 3);
  for (let n = 0; n < 10; n += 1) cache.set(`k${n}`, n, n);
  expect(cache.size).toBe(3);
  expect(cache.get("k6", 10)).toBeUndefined();
  expect(cache.get("k7", 10)).toBe(7);
});

test("expired values are dropped when new ones come in", () => {
  const cache = new ExpiringCache<number>(5_000, 1_000);
  for (let n = 0; n < 100; n += 1) cache.set(`k${n}`, n, n);
  cache.set("later", 1, 10_000);
  expect(cache.size).toBe(1);
});

test("a value set again lives anew", () => {
  const cache = new ExpiringCache<number>(5_000, 2);
  cache.set("a", 1, 0);
  cache.set("b", 2, 10);
  cache.set("a", 3, 20);
  cache.set("c", 4, 30);
  expect(cache.get("a", 40)).toBe(3);
  expect(cache.get("b", 40)).toBeUndefined();
});
