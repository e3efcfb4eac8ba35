import * as fc from "fast-check";
import { expect, test } from "vitest";

import { CsvReader, type CsvRow } from "./csv-reader.ts";
import { csvLine } from "./csv.ts";

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

test("what was written comes back, nulls as nulls, wherever the pieces are cut", () => {
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
  ["a\nb", "the last row is incomplete"],
])("%j is refused: %s", (text, problem) => {
  expect(() => readAll([text])).toThrow(problem);
});
