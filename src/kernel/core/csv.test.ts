import { describe, expect, test } from "vitest";
import { csvLine, plainCell } from "./csv.ts";

describe("a line of CSV", () => {
  const cases: readonly (readonly [fields: (string | null)[], line: string])[] = [
    [["a", "b"], "a,b"],
    [["a,b", 'say "x"', "two\nlines", "cr\r"], '"a,b","say ""x""","two\nlines","cr\r"'],
    [[null, "", "0"], ',"",0'],
    [[" a", "b "], '" a","b "'],
    [[null], ""],
  ];
  test.each(cases)("%j is %s", (fields, line) => {
    expect(csvLine(fields)).toBe(line);
  });
});

describe("a cell for a spreadsheet", () => {
  const formulas = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\0=1", "＝1"];
  test.each(formulas)("%j is shown and not run", (text) => {
    expect(plainCell(text)).toBe(`'${text}`);
  });

  test.each(["acme/small", "a=1", "5-2", "", "x@y", "'=1"])("%j stays as it is", (text) => {
    expect(plainCell(text)).toBe(text);
  });
});
