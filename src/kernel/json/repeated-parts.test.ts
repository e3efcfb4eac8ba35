import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { runs } from "../../../test/support/depth.ts";
import type { JsonDocument, JsonNode } from "./json-document.ts";
import { compileRules, FORBIDDEN_KEYS, WordTable } from "./json-keys.ts";
import { JSON_KEYS_MAX, JSON_VALUES_MAX } from "./json-limits.ts";
import { RepeatedParts } from "./repeated-parts.ts";
import { scanJson, type ScannedJson } from "./scan-json.ts";

const words = new WordTable(["__proto__", "constructor", "tools", "name"]);
const rules = { forbidden: FORBIDDEN_KEYS, repeated: "tools" };
const FILLER = "x".repeat(5_000);

function scan(text: string): ScannedJson {
  return scanJson(Buffer.from(text), words, rules);
}

/** Collects everything that a document reports about a value and its children. */
function shown(doc: JsonDocument, node: JsonNode = 0): unknown {
  const own = [doc.kind(node), doc.raw(node), doc.count(node)];
  if (doc.isArray(node)) return [...own, doc.items(node).map((item) => shown(doc, item))];
  if (!doc.isObject(node)) return own;
  const members = doc
    .keys(node)
    .map((key) => [doc.text(key), doc.keyWord(key), shown(doc, doc.valueOf(key))]);
  return [...own, members];
}

function outcomeOf(scanned: ScannedJson): unknown {
  return scanned.ok ? shown(scanned.doc) : scanned.fault;
}

describe("a repeated part", () => {
  test("is found once it was noted twice, if it is whole and has the same rules", () => {
    const parts = new RepeatedParts();
    const body = Buffer.from(`["${FILLER}"]`);
    const known = compileRules(rules, words);
    const place = { start: 0, end: body.length };
    const tape = (): Int32Array => new Int32Array([2, 0, body.length, 4]);
    for (let times = 0; times < 2; times += 1) {
      expect(parts.find(body, 0, known)).toBeUndefined();
      parts.note(body, place, { rules: known, keys: 0, tape });
    }
    expect(parts.find(body, 0, known)?.bytes).toEqual(body);
    expect(parts.find(body, 0, compileRules({ forbidden: [] }, words))).toBeUndefined();
    expect(parts.find(body.subarray(0, -1), 0, known)).toBeUndefined();
    const other = Buffer.from(body);
    other[2_500] = 0x79;
    expect(parts.find(other, 0, known)).toBeUndefined();
  });

  test("reads the same each time, wherever it is in the body", () => {
    const value = fc.jsonValue({ maxDepth: 12 });
    fc.assert(
      fc.property(value, value, fc.integer({ min: 0, max: 9 }), (part, other, blanks) => {
        const tools = JSON.stringify([part, FILLER, { name: part }]).replaceAll("__proto__", "p");
        const texts = [0, 1, 2, 3].map((time) => {
          const before = time % 2 === 0 ? "" : `"b":${JSON.stringify(other)},`;
          const text = `{${before}"tools":${" ".repeat(blanks)}${tools},"after":[1]}`;
          return text.replaceAll("__proto__", "p");
        });
        for (const text of texts) {
          const fresh = scanJson(Buffer.from(text), words, { forbidden: FORBIDDEN_KEYS });
          expect(outcomeOf(scan(text))).toEqual(outcomeOf(fresh));
        }
      }),
      { numRuns: runs(200) },
    );
  });

  test("counts its keys each time, so that no body exceeds the bound of keys", () => {
    const keys = Array.from({ length: JSON_KEYS_MAX - 10 }, (_, at) => `"k${at}":1`).join(",");
    const tools = `"tools":[{${keys}}]`;
    for (let times = 0; times < 3; times += 1) expect(scan(`{${tools}}`).ok).toBe(true);
    const more = Array.from({ length: 20 }, (_, at) => `"m${at}":1`).join(",");
    expect(scan(`{${more},${tools}}`)).toMatchObject({ fault: { fault: "keys" } });
    expect(scan(`{${tools},${more}}`)).toMatchObject({ fault: { fault: "keys" } });
  });

  test("counts its values each time, so that no body exceeds the bound of values", () => {
    const tools = `"tools":[${"1,".repeat(JSON_VALUES_MAX - 100)}1]`;
    for (let times = 0; times < 3; times += 1) expect(scan(`{${tools}}`).ok).toBe(true);
    const more = `"more":[${"1,".repeat(200)}1]`;
    expect(scan(`{${more},${tools}}`)).toMatchObject({ fault: { fault: "values" } });
    expect(scan(`{${tools},${more}}`)).toMatchObject({ fault: { fault: "values" } });
  });

  test("gives the result of a fresh scan if one body has it twice", () => {
    const tools = `"tools":["${FILLER} twice"]`;
    const texts = [`{${tools}}`, `{${tools}}`, `{${tools}}`, `{${tools},"a":[1],${tools},"b":{}}`];
    for (const text of texts) {
      const fresh = scanJson(Buffer.from(text), words, { forbidden: FORBIDDEN_KEYS });
      expect(outcomeOf(scan(text))).toEqual(outcomeOf(fresh));
    }
  });

  test("is refused each time if it contains a forbidden name", () => {
    const text = `{"tools":[{"constructor":"${FILLER}"}]}`;
    for (let times = 0; times < 4; times += 1) {
      expect(scan(text)).toMatchObject({ fault: { fault: "forbidden_key" } });
    }
  });
});
