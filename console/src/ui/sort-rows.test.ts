import { expect, test } from "vitest";

import { sortRows } from "./table-state.ts";

const rows = [
  { name: "key 10", spent: 5n },
  { name: "Key 9", spent: 90_071_992_547_409_931n },
  { name: "alpha", spent: 5n },
];

test("names are sorted with numbers by size and without regard to capitals", () => {
  const sorted = sortRows(rows, (row) => row.name, { id: "name", direction: "ascending" });
  expect(sorted.map(({ name }) => name)).toEqual(["alpha", "Key 9", "key 10"]);
});

test("amounts are sorted by size, and equal ones keep their order in both directions", () => {
  const order = (direction: "ascending" | "descending"): string[] =>
    sortRows(rows, (row) => row.spent, { id: "spent", direction }).map(({ name }) => name);
  expect(order("ascending")).toEqual(["key 10", "alpha", "Key 9"]);
  expect(order("descending")).toEqual(["Key 9", "key 10", "alpha"]);
});

test("rows without the value come last in both directions", () => {
  const some = [{ at: undefined }, { at: 2 }, { at: 1 }];
  const order = (direction: "ascending" | "descending") =>
    sortRows(some, ({ at }) => at, { id: "at", direction }).map(({ at }) => at);
  expect(order("ascending")).toEqual([1, 2, undefined]);
  expect(order("descending")).toEqual([2, 1, undefined]);
});
