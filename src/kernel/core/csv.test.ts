import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { csvLine, CsvReader, type CsvRow, plainCell } from "./csv.ts";

describe("csvLine", () => {
  const cases: readonly (readonly [fields: (string | null)[], line: string])[] = [
    [["a", "b"], "a,b"],
    [["a,b", 'say "x"', "two\nlines", "cr\r"], '"a,b","say ""x""","two\nlines","cr\r"'],
    [[null, "", "0"], ',"",0'],
    [[null], ""],
  ];
  test.each(cases)("writes %j as %s", (fields, line) => {
    expect(csvLine(fields)).toBe(line);
  });
});

describe("plainCell", () => {
  const formulas = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\0=1", "＝1"];
  test.each(formulas)(
    "puts an apostrophe before %j, so that a spreadsheet does not run it",
    (text) => {
      expect(plainCell(text)).toBe(`'${text}`);
    },
  );

  test.each(["acme/small", "a=1", "5-2", "", "x@y", "'=1"])("does not change %j", (text) => {
    expect(plainCell(text)).toBe(text);
  });
});

const field = fc.option(
  fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('"', ",", "\n", "\r", " ", "a", "é") })),
);
const rows = fc.array(fc.array(field, { minLength: 1, maxLength: 5 }), { maxLength: 8 });

function readAll(pieces: readonly string[]): CsvRow[] {
  const reader = new CsvReader();
  const found = pieces.flatMap((piece) => reader.push(piece));
  reader.end();
  return found;
}

test("a reader returns the written rows, nulls as nulls, however the text is cut into pieces", () => {
  fc.assert(
    fc.property(rows, fc.array(fc.nat({ max: 200 }), { maxLength: 6 }), (written, cuts) => {
      const text = written.map((row) => `${csvLine(row)}\n`).join("");
      const places = [0, ...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b)];
      const pieces = places.map((from, n) => text.slice(from, places[n + 1]));
      expect(readAll(pieces)).toEqual(written);
    }),
  );
});

test.each([
  ['a"b\n', "a quote inside a bare field"],
  ['"a"b\n', "text after a closing quote"],
  ["a,b", "the last row is incomplete"],
  ['"a\n', "the last row is incomplete"],
])("a reader refuses the text %j: %s", (text, problem) => {
  expect(() => readAll([text])).toThrow(problem);
});
