import { expect, test } from "vitest";

import { changeSearch, readSearch, writeSearch } from "./search-text.ts";

test("a filter's value is a string after a round trip through the address, even if it looks like a number", () => {
  const search = { model: "acme/large: a&b", from: "2026-11-01T00:00:00.000Z", n: "007" };
  expect(readSearch(writeSearch(search))).toEqual(search);
});

test("an empty filter is not in the address", () => {
  expect(writeSearch({ model: undefined, key: "", status: "ok" })).toBe("?status=ok");
  expect(writeSearch({})).toBe("");
});

test("the first of two query parameters with the same name counts", () => {
  expect(readSearch("?a=1&a=2")).toEqual({ a: "1" });
});

const shown = { by: "key", page: "2", "group-page": "3", caps_page: "4", cursor: "c" };

test.each([
  {
    says: "a filter leads to the first page of every list",
    wanted: { by: "model" },
    after: { by: "model" },
  },
  { says: "so does the end of a filter", wanted: { by: "" }, after: {} },
  {
    says: "a page of one list leaves the other lists where they are",
    wanted: { caps_page: "5" },
    after: { ...shown, caps_page: "5" },
  },
  {
    says: "an order of one list leads to the first page of this list only",
    wanted: { "group-sort": "spent.desc", "group-page": undefined },
    after: { by: "key", page: "2", caps_page: "4", cursor: "c", "group-sort": "spent.desc" },
  },
])("$says", ({ wanted, after }) => {
  expect(changeSearch(shown, wanted)).toEqual(after);
});
