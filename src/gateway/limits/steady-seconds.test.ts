import { expect, test } from "vitest";
import { SteadySeconds } from "./rolling-window.ts";

test("callers that arrive in another order than they read the clock do not move time", () => {
  const seconds = new SteadySeconds();
  expect(seconds.at(100_000)).toBe(100);
  expect(seconds.at(98_500)).toBe(100);
  expect(seconds.at(100_900)).toBe(100);
  expect(seconds.at(101_000)).toBe(101);
});

test("a wall clock that jumps ahead and back continues counting seconds from where it was", () => {
  const seconds = new SteadySeconds();
  seconds.at(100_000);
  expect(seconds.at(3_700_000)).toBe(3_700);
  expect(seconds.at(101_000)).toBe(3_700);
  expect(seconds.at(103_000)).toBe(3_702);
  expect(seconds.at(162_000)).toBe(3_761);
});
