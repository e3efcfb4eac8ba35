import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  compactJson,
  findElements,
  findMember,
  findPath,
  JsonBudget,
  tryParse,
  withMember,
} from "./json-edit.ts";
import { PARSED_KEYS_MAX, PARSED_STEPS_MAX, PARSED_VALUES_MAX } from "./json-limits.ts";

/** JSON text with blanks between its tokens. */
const spacious = fc
  .tuple(fc.jsonValue(), fc.constantFrom(0, 1, "\t", " \n"))
  .map(([value, indent]) => JSON.stringify(value, null, indent));
const key = fc.oneof(fc.constantFrom("model", "usage", "a"), fc.string({ unit: "binary" }));
const object = fc.dictionary(key, fc.jsonValue(), { maxKeys: 6, noNullPrototype: true });

describe("a search in JSON text", () => {
  test("finds the text of every member's value", () => {
    fc.assert(
      fc.property(object, fc.constantFrom(0, 2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        for (const [name, member] of Object.entries(value)) {
          const span = findMember(text, 0, name);
          const found = span === undefined ? undefined : text.slice(span.start, span.end);
          expect(JSON.parse(found ?? "")).toEqual(JSON.parse(JSON.stringify(member)));
        }
      }),
    );
  });

  test("finds the elements of an array in order", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.constantFrom(0, 2), (list, indent) => {
        const text = JSON.stringify(list, null, indent);
        const found = findElements(text, 0).map(
          ({ start, end }) => JSON.parse(text.slice(start, end)) as unknown,
        );
        expect(found).toEqual(JSON.parse(JSON.stringify(list)));
      }),
    );
  });

  test.each([
    ['{"a":1,"a":2}', "2"],
    ['{"b":{"a":1},"a":[{"a":2}]}', '[{"a":2}]'],
    ['{"\\u0061":"x\\"}"}', '"x\\"}"'],
    ['{"b":"\\\\","a":-1.5e3}', "-1.5e3"],
    [' { "a" : null } ', "null"],
  ])("finds in %s the member a as %s", (text, value) => {
    const span = findPath(text, "a");
    expect(span === undefined ? "" : text.slice(span.start, span.end)).toBe(value);
  });
});

describe("an edit of JSON text", () => {
  test("replaces or adds a member, and changes nothing else", () => {
    fc.assert(
      fc.property(object, key, fc.jsonValue(), (value, name, member) => {
        const text = JSON.stringify(value, null, 1);
        const json = JSON.stringify(member);
        const edited = withMember(text, { start: 0, end: text.length }, { key: name, json });
        const before = new Map(Object.entries(JSON.parse(text) as object));
        const after = new Map(Object.entries(JSON.parse(edited) as object));
        expect(after.get(name)).toEqual(JSON.parse(json));
        before.delete(name);
        after.delete(name);
        expect(after).toEqual(before);
      }),
    );
  });

  test("drops exactly the blanks between tokens", () => {
    fc.assert(
      fc.property(spacious, (text) => {
        expect(compactJson(text)).toBe(JSON.stringify(JSON.parse(text)));
      }),
    );
    expect(compactJson('{ "n" : 12345678901234567890 }')).toBe('{"n":12345678901234567890}');
  });
});

describe("text from outside", () => {
  test("is parsed as by JSON.parse, even if its strings contain JSON", () => {
    fc.assert(
      fc.property(object, fc.constantFrom(0, 2), (value, indent) => {
        const text = JSON.stringify({ value, quoted: JSON.stringify(value) }, null, indent);
        expect(tryParse(text)?.value).toEqual(JSON.parse(text));
      }),
    );
  });

  test.each([
    ["arrays nested more than 64 deep", `${"[".repeat(65)}${"]".repeat(65)}`],
    ["too many values", `[${"0,".repeat(PARSED_VALUES_MAX)}0]`],
    ["too many keys", `{${'"a":0,'.repeat(PARSED_KEYS_MAX)}"a":0}`],
    ["too many blanks", `[${" ".repeat(PARSED_STEPS_MAX)}]`],
    ["too many escaped quotes", `["${String.raw`\"`.repeat(PARSED_STEPS_MAX + 1)}"]`],
  ])("is not parsed if it has %s", (_what, text) => {
    expect(JSON.parse(text)).toBeDefined();
    expect(tryParse(text)).toBeUndefined();
  });

  test("may contain the log probabilities of 1,500 tokens with twenty alternatives each", () => {
    const one = { token: "abc", logprob: -0.12, bytes: [97, 98, 99] };
    const twenty = Array.from({ length: 20 }, () => one);
    const all = Array.from({ length: 1_500 }, () => ({ ...one, top: twenty }));
    expect(tryParse(JSON.stringify(all))).toBeDefined();
  });

  test("is not parsed beyond the bound of values that all texts of an answer share", () => {
    const half = `[${"0,".repeat(PARSED_VALUES_MAX / 2)}0]`;
    const budget = new JsonBudget();
    expect([half, half].map((text) => tryParse(text, budget) !== undefined)).toEqual([true, false]);
  });
});
