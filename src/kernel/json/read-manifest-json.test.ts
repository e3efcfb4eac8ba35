import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../test/support/depth.ts";
import { readJson } from "./read-manifest-json.ts";

function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

test("reads exactly the texts that are JSON, with the value of the platform's parser", () => {
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
  ["{", 1, 2, "a key in double quotes"],
  ['{"a" 1}', 1, 6, "a colon"],
  ['{"a":1 "b":2}', 1, 8, "a comma or }"],
  ["[1,\r\n 2,\r\n ]", 3, 2, "a value"],
  ["[1] 2", 1, 5, "the end of the document"],
  ['"abc', 1, 5, "a closing double quote"],
  ['"a\\x"', 1, 3, "a valid escape"],
  ["[01]", 1, 3, "a comma or ]"],
  ["[tru]", 1, 2, "a value"],
])("of %j it says line %i, column %i: expected %s", (text, line, column, expected) => {
  expect(readJson(text)).toEqual({
    ok: false,
    flaw: { rule: "json-syntax", line, column, expected },
  });
});

test("finds keys that are written twice, however they are escaped", () => {
  const text = '{"a":1,"b":{"x/y":1,"x\\u002fy":2},"c":[{"k":1},{"k":1,"k":2}],"\\u0061":3}';
  expect(readJson(text)).toMatchObject({ duplicateKeys: ["/b/x~1y", "/c/1/k", "/a"] });
});
