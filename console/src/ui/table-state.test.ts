import { describe, expect, test } from "vitest";

import {
  isShown,
  cutPage,
  needsPages,
  readSize,
  readSort,
  writeSize,
  writeSort,
} from "./table-state.ts";

describe("a table", () => {
  test("restores its sort order from the address, and ignores an invalid order", () => {
    const sort = { id: "spent", direction: "descending" } as const;
    expect(readSort(writeSort(sort), ["spent"])).toEqual(sort);
    for (const text of [undefined, "", "spent", "spent.up", "other.asc", "__proto__.asc"]) {
      expect(readSort(text, ["spent"]), text).toBeUndefined();
    }
  });

  test("restores its page size from the address, and uses the default for a size that is not offered", () => {
    expect(readSize("100")).toBe(100);
    expect(readSize("all")).toBe(0);
    for (const text of [undefined, "7", "-1", "NaN", "1e9"]) expect(readSize(text)).toBe(50);
    expect(writeSize(50)).toBeUndefined();
    expect(readSize(writeSize(0))).toBe(0);
    expect(readSize(writeSize(200))).toBe(200);
  });

  test("has page controls if it has more than 25 rows or a page does not show every row", () => {
    expect([needsPages(25, 25, 50), needsPages(26, 26, 50)]).toEqual([false, true]);
    expect([needsPages(10, 10, 10), needsPages(11, 10, 10)]).toEqual([false, true]);
    expect(needsPages(20, 10, 50)).toBe(true);
  });

  test("puts every row on exactly one page", () => {
    for (const [count, size] of [
      [0, 50],
      [1, 50],
      [65, 50],
      [100, 25],
      [1_000, 0],
    ] as const) {
      const { pages } = cutPage(count, size, undefined);
      const shown = Array.from({ length: pages }, (_none, at) => {
        const { from, to } = cutPage(count, size, String(at + 1));
        return Array.from({ length: to - from }, (_row, row) => from + row);
      }).flat();
      expect(shown).toEqual(Array.from({ length: count }, (_none, at) => at));
    }
  });

  test("shows its last page for a page number beyond it, and the first page for an invalid number", () => {
    expect(cutPage(65, 50, "9")).toEqual({ page: 2, pages: 2, from: 50, to: 65 });
    expect(cutPage(65, 50, "0").page).toBe(1);
    expect(cutPage(65, 50, "x").page).toBe(1);
  });
});

test("a column is shown as the reader chose, and without a choice as the width of the window allows", () => {
  const wide = { id: "a", shownFrom: "wide" } as const;
  expect(isShown(wide, { choice: {}, isWide: false })).toBe(false);
  expect(isShown(wide, { choice: {}, isWide: true })).toBe(true);
  expect(isShown(wide, { choice: { a: false }, isWide: true })).toBe(false);
  expect(isShown({ id: "b", shownFrom: "asked" }, { choice: { b: true }, isWide: false })).toBe(
    true,
  );
  expect(isShown({ id: "c" }, { choice: {}, isWide: false })).toBe(true);
});
