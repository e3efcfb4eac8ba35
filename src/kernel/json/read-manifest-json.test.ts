import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../test/support/depth.ts";
import { type RawJson, RawNumber, readJson, readRawJson } from "./read-manifest-json.ts";

function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

test("readJson accepts exactly the texts that JSON.parse accepts, and returns the same value", () => {
  const almostJson = fc
    .tuple(fc.json({ maxDepth: 5 }), fc.nat(), fc.constantFrom("", ",", '"', "}", "0", "\\", "\n"))
    .map(([text, at, extra]) => {
      const cut = at % (text.length + 1);
      return text.slice(0, cut) + extra + text.slice(cut + (at % 2));
    });
  const count = runs(2_000);
  let valid = 0;
  fc.assert(
    fc.property(fc.oneof(fc.json({ maxDepth: 5 }), almostJson), (text) => {
      const reading = readJson(text);
      if (reading.ok) valid += 1;
      expect(reading.ok ? { value: reading.value } : undefined).toEqual(parsed(text));
    }),
    { numRuns: count },
  );
  expect(valid / count).toBeGreaterThan(0.1);
  expect(valid / count).toBeLessThan(0.95);
});

test.each([
  ["", 1, 1, "a value"],
  ['{"a" 1}', 1, 6, "a colon"],
  ["[1,\r\n 2,\r\n ]", 3, 2, "a value"],
  ["[1] 2", 1, 5, "the end of the document"],
  ['"abc', 1, 5, "a closing double quote"],
  ['"a\\x"', 1, 3, "a valid escape"],
])("readJson reports for %j: line %i, column %i, expected %s", (text, line, column, expected) => {
  expect(readJson(text)).toEqual({
    ok: false,
    flaw: { rule: "json-syntax", line, column, expected },
  });
});

test("readJson lists keys that occur twice, however they are escaped", () => {
  const text = '{"a":1,"b":{"x/y":1,"x\\u002fy":2},"c":[{"k":1},{"k":1,"k":2}],"\\u0061":3}';
  expect(readJson(text)).toMatchObject({ duplicateKeys: ["/b/x~1y", "/c/1/k", "/a"] });
});

/** Turns a raw document into the value that `JSON.parse` returns. */
function toPlain(value: RawJson): unknown {
  if (value instanceof RawNumber) return JSON.parse(value.raw);
  if (value instanceof Map) {
    const members = [...(value as ReadonlyMap<string, RawJson>)];
    return Object.fromEntries(members.map(([key, member]) => [key, toPlain(member)]));
  }
  return Array.isArray(value) ? value.map(toPlain) : value;
}

function read(text: string): RawJson {
  const reading = readRawJson(text, 1000);
  if (!reading.ok) throw new Error(reading.flaw.expected);
  return reading.value;
}

test("readRawJson returns the value of JSON.parse, apart from the digits of numbers", () => {
  fc.assert(
    fc.property(fc.json({ noUnicodeString: false, maxDepth: 4 }), (text) => {
      expect(toPlain(read(text))).toEqual(JSON.parse(text));
    }),
  );
});

test.each(["2e-07", "0.0000029999900000000002", "1.50", "-0", "12345678901234567890", "1E+400"])(
  "readRawJson keeps the number %s as it is written",
  (raw) => {
    expect(read(` [ ${raw} ] `)).toEqual([new RawNumber(raw)]);
  },
);

test("readRawJson refuses a document with more values than its bound, with the place", () => {
  const reading = readRawJson(`[${"1,".repeat(1000)}1]`, 1000);
  expect(reading).toMatchObject({ ok: false, flaw: { rule: "json-size", line: 1 } });
});
