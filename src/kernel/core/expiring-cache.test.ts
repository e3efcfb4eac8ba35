import { expect, test } from "vitest";
import { ExpiringCache } from "./expiring-cache.ts";

test("setting a value again restarts its time", () => {
  const cache = new ExpiringCache<number>(5_000, 2);
  cache.set("a", 1, 0);
  cache.set("b", 2, 10);
  cache.set("a", 3, 20);
  cache.set("c", 4, 30);
  expect(cache.get("a", 40)).toBe(3);
  expect(cache.get("b", 40)).toBeUndefined();
});
