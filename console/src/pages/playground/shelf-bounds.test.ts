import { expect, test } from "vitest";

import { beyondBounds } from "./shelf-bounds.ts";

const size = (record: string): number => record.length;

test("the oldest go first, by their number and by their size", () => {
  expect(beyondBounds(["a", "b", "c"], { count: 2 })).toEqual(["c"]);
  const chars = { max: 6, of: size };
  expect(beyondBounds(["new", "mid", "old"], { count: 9, chars })).toEqual(["old"]);
  expect(beyondBounds(["new", "mid"], { count: 9, chars })).toEqual([]);
});

test("what was kept last stays, also when it is larger than all that may be kept", () => {
  const chars = { max: 2, of: size };
  expect(beyondBounds(["enormous", "x"], { count: 9, chars })).toEqual(["x"]);
});
