import { expect, test } from "vitest";

import { readPicks, withPick, writePicks } from "./compare-picks.ts";

test("the address has at most four models, each once", () => {
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

test("without picks, the address has no models", () => {
  expect(writePicks([])).toBeUndefined();
  expect(writePicks(["a/b", "c"])).toBe("a/b,c");
});
