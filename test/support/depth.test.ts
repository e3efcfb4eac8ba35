import { afterEach, expect, test, vi } from "vitest";

import { isDeep, seedOf } from "./depth.ts";

afterEach(() => vi.unstubAllEnvs());

test("a quick run always has the same seed, a deep run a fresh one", () => {
  vi.stubEnv("PROPERTY_SEED", undefined);
  expect(seedOf("one") === seedOf("two")).toBe(!isDeep);
  expect(seedOf("one", 7) === 7).toBe(!isDeep);
});

test("PROPERTY_SEED repeats a search, and must be a whole number", () => {
  vi.stubEnv("PROPERTY_SEED", "4711");
  expect(seedOf("any", 7)).toBe(4_711);
  vi.stubEnv("PROPERTY_SEED", "many");
  expect(() => seedOf("any")).toThrow("PROPERTY_SEED");
});
