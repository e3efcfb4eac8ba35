import { expect, test } from "vitest";

import { readSearch, writeSearch } from "./search-text.ts";

test("a filter stays the text that it was, also when it looks like a number", () => {
  const search = { model: "acme/large: a&b", from: "2026-11-01T00:00:00.000Z", n: "007" };
  expect(readSearch(writeSearch(search))).toEqual(search);
});

test("a filter that is not set leaves no trace in the address", () => {
  expect(writeSearch({ model: undefined, key: "", status: "ok" })).toBe("?status=ok");
  expect(writeSearch({})).toBe("");
});

test("a name given twice has its first value", () => {
  expect(readSearch("?a=1&a=2")).toEqual({ a: "1" });
});
