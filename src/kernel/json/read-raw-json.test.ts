import * as fc from "fast-check";
import { expect, test } from "vitest";

import { type RawJson, RawNumber, readRawJson } from "./read-manifest-json.ts";

/** As `JSON.parse` gives it, made from the raw document. */
function parsed(value: RawJson): unknown {
  if (value instanceof RawNumber) return JSON.parse(value.raw);
  if (value instanceof Map) {
    const members = [...(value as ReadonlyMap<string, RawJson>)];
    return Object.fromEntries(members.map(([key, member]) => [key, parsed(member)]));
  }
  return Array.isArray(value) ? value.map(parsed) : value;
}

function read(text: string): RawJson {
  const reading = readRawJson(text, 1000);
  if (!reading.ok) throw new Error(reading.flaw.expected);
  return reading.value;
}

test("any JSON is read as what the platform reads, but for its numbers' digits", () => {
  fc.assert(
    fc.property(fc.json({ noUnicodeString: false, maxDepth: 4 }), (text) => {
      expect(parsed(read(text))).toEqual(JSON.parse(text));
    }),
  );
});

test.each(["2e-07", "0.0000029999900000000002", "1.50", "-0", "12345678901234567890", "1E+400"])(
  "the number %s stays as it is written",
  (raw) => {
    expect(read(` [ ${raw} ] `)).toEqual([new RawNumber(raw)]);
  },
);

test("a key that a parser could act on is a text like any other", () => {
  const object = read('{"__proto__": {"prompt": 1}, "constructor": 2}');
  expect(object instanceof Map && [...object.keys()]).toEqual(["__proto__", "constructor"]);
  expect(({} as Record<string, unknown>)["prompt"]).toBeUndefined();
});

test("a document with more values than the bound is refused with the place", () => {
  const reading = readRawJson(`[${"1,".repeat(1000)}1]`, 1000);
  expect(reading).toMatchObject({ ok: false, flaw: { rule: "json-size", line: 1 } });
});

test("a key written twice is named", () => {
  const reading = readRawJson('{"a": {"b": 1, "b": 2}}', 1000);
  expect(reading).toMatchObject({ ok: true, duplicateKeys: ["/a/b"] });
});
