import { expect, test } from "vitest";

import { readSearch, writeSearch } from "./search-text.ts";

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
