import { expect, test } from "vitest";

import { readPicks, withPick, writePicks } from "./compare-picks.ts";

test("at most four models are read from the address, each once", () => {
  expect(readPicks(undefined)).toEqual([]);
  expect(readPicks(",a/b,, a/b ,c")).toEqual(["a/b", "c"]);
  expect(readPicks("a,b,c,d,e")).toEqual(["a", "b", "c", "d"]);
});

test("a model can be picked and unpicked, and a fifth one is not added", () => {
  expect(withPick(["a"], "b", true)).toEqual(["a", "b"]);
  expect(withPick(["a", "b"], "a", false)).toEqual(["b"]);
  expect(withPick(["a", "b", "c", "d"], "e", true)).toEqual(["a", "b", "c", "d"]);
  expect(withPick(["a", "b"], "b", true)).toEqual(["a", "b"]);
});

test("picked models are written to the address as one list, and no picks as no parameter", () => {
  expect(writePicks([])).toBeUndefined();
  expect(writePicks(["a/b", "c"])).toBe("a/b,c");
});
