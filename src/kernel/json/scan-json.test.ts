import { isUtf8 } from "node:buffer";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { runs } from "../../../test/support/depth.ts";
import { JsonDocument, type JsonNode } from "./json-document.ts";
import { FORBIDDEN_KEYS, WordTable } from "./json-keys.ts";
import { JSON_KEYS_MAX, JSON_VALUES_MAX, type JsonFault } from "./json-limits.ts";
import { scanJson } from "./scan-json.ts";

const words = new WordTable(["__proto__", "a", "model", "messages", "stream"]);

function scan(text: string | Buffer): JsonDocument | JsonFault {
  const scanned = scanJson(Buffer.from(text as string), words);
  return scanned.ok ? scanned.doc : scanned.fault;
}

function read(text: string | Buffer): JsonDocument {
  const scanned = scanJson(Buffer.from(text as string), words);
  if (!scanned.ok) throw new Error(`not read: ${JSON.stringify(scanned.fault)}`);
  return scanned.doc;
}

/** Rebuilds a value from the document, member by member. */
function rebuilt(doc: JsonDocument, node: JsonNode = 0): unknown {
  if (doc.isArray(node)) return doc.items(node).map((item) => rebuilt(doc, item));
  if (doc.isObject(node)) {
    return Object.fromEntries(
      doc.keys(node).map((key) => [doc.text(key), rebuilt(doc, doc.valueOf(key))]),
    );
  }
  return doc.isString(node) ? doc.text(node) : doc.value(node);
}

function isTakenByJsonParse(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** JSON of at most `READ_DEPTH_MAX` levels, and without the refused key `__proto__`. */
const json = fc
  .jsonValue({ maxDepth: 6, noUnicodeString: false })
  .filter((value) => !JSON.stringify(value).includes("__proto__"));

describe("a scan", () => {
  test("reads every JSON text, with the values of JSON.parse", () => {
    fc.assert(
      fc.property(json, fc.constantFrom(undefined, 1, "\t", "\r\n"), (value, space) => {
        const text = JSON.stringify(value, undefined, space);
        expect(rebuilt(read(text))).toEqual(JSON.parse(text));
      }),
      { numRuns: runs(500) },
    );
  });

  test("accepts a JSON text with a few changed bytes exactly if JSON.parse does", () => {
    const change = fc.record({
      at: fc.nat(),
      length: fc.nat(2),
      text: fc.constantFrom(...Array.from('{}[]",:\\u0eE+-.1tfn \n\u0001é/'), "\\u00", "null", ""),
    });
    fc.assert(
      fc.property(json, fc.array(change, { minLength: 1, maxLength: 3 }), (value, changes) => {
        let text = JSON.stringify(value);
        for (const { at, length, text: inserted } of changes) {
          const from = at % (text.length + 1);
          text = text.slice(0, from) + inserted + text.slice(from + length);
        }
        text = Buffer.from(text).toString();
        if (text.includes("__proto__")) return;
        expect(scan(text) instanceof JsonDocument).toBe(isTakenByJsonParse(text));
      }),
      { numRuns: runs(3000) },
    );
  });

  test("accepts any bytes exactly if they are UTF-8 and JSON, and never throws", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const body = Buffer.from(bytes);
        const taken = scan(body) instanceof JsonDocument;
        expect(taken).toBe(isUtf8(body) && isTakenByJsonParse(body.toString()));
      }),
      { numRuns: runs(2000) },
    );
  });

  test.each([
    "", " ", "{", "[1,]", '{"a":1,}', '{"a"}', "{a:1}", "[1 2]", "01", "-", "1.", ".5", "1e", "+1",
    "tru", "trueX", "nul", "fals", '"\u0001"', '"\\x"', '"\\u12G4"', '"abc', '"abc\\', "[1]]", "{}{}",
    "\ufeff{}", "NaN", "'a'", '{"a":1 "b":2}', '{"a"::1}', "[,1]", "\u00a0{}",
  ])("refuses %j as not JSON", (text) => {
    expect(scan(text)).toMatchObject({ fault: "syntax" });
  }); // prettier-ignore

  test.each(["0", "-0.5e+10", '"\\ud800"', " [ ] ", "\r\n\t{}", '"\u007f"', "1e999"])(
    "accepts %j as JSON",
    (text) => {
      expect(read(text).raw(0)).toBe(text.trim());
    },
  );
});

test("a scan of a string finds its end at any length and at any alignment in memory", () => {
  const memory = Buffer.alloc(300);
  for (const stop of ["\u0000", "\u001f", "\\", '"']) {
    for (let shift = 0; shift < 4; shift++) {
      for (let length = 0; length < 60; length++) {
        const text = `"${"é ~!#\u007f[]".repeat(9).slice(0, length)}${stop}"`;
        const body = memory.subarray(shift, shift + memory.write(text, shift));
        const offset =
          stop === '"' || stop === "\\" ? body.length - (stop === '"' ? 1 : 0) : body.length - 2;
        expect(scanJson(body, words)).toMatchObject({ fault: { fault: "syntax", offset } });
      }
    }
  }
});

describe("a refused scan", () => {
  test("names the place of the first wrong byte", () => {
    expect(scan('{"a": tru }')).toEqual({ fault: "syntax", offset: 9 });
    expect(scan('{"a":1')).toEqual({ fault: "syntax", offset: 6 });
  });

  test("names the place of the first byte that is not UTF-8", () => {
    const bytes = Buffer.concat([Buffer.from('{"a":"é'), Buffer.from([0xff]), Buffer.from('"}')]);
    expect(scan(bytes)).toEqual({ fault: "encoding", offset: 8 });
  });

  test("has the fault depth beyond 64 levels of arrays or objects", () => {
    const nested = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;
    const objects = (levels: number): string => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
    expect(scan(nested(64))).toBeInstanceOf(JsonDocument);
    expect(scan(objects(64))).toBeInstanceOf(JsonDocument);
    expect(scan(nested(65))).toEqual({ fault: "depth", offset: 64 });
    expect(scan(objects(65))).toMatchObject({ fault: "depth" });
    expect(scan("[".repeat(100_000))).toEqual({ fault: "depth", offset: 64 });
  });

  test("more keys or more values than the bounds are refused", () => {
    const object = (keys: number): string =>
      `{${Array.from({ length: keys }, (_, i) => `"k${i}":0`).join(",")}}`;
    expect(scan(object(JSON_KEYS_MAX))).toBeInstanceOf(JsonDocument);
    expect(scan(object(JSON_KEYS_MAX + 1))).toMatchObject({ fault: "keys" });
    const list = (values: number): string => `[${"0,".repeat(values - 1)}0]`;
    expect(scan(list(JSON_VALUES_MAX - 1))).toBeInstanceOf(JsonDocument);
    expect(scan(list(JSON_VALUES_MAX))).toMatchObject({ fault: "values" });
  });

  test.each(["__proto__", "constructor", "prototype"])(
    "the key %s is refused at any depth, also with escapes",
    (name) => {
      const known = new WordTable(FORBIDDEN_KEYS);
      const escaped = name.replace("o", "\\u006f");
      const texts = [`{"${name}":1}`, `{"a":[{"b":{"${name}":{}}}]}`, `{"a":[{"${escaped}":1}]}`];
      for (const text of texts) {
        expect(scanJson(Buffer.from(text), known, { forbidden: FORBIDDEN_KEYS })).toMatchObject({
          fault: { fault: "forbidden_key" },
        });
      }
      expect(
        scanJson(Buffer.from(`{"a":"${name}"}`), known, { forbidden: FORBIDDEN_KEYS }),
      ).not.toHaveProperty("fault");
    },
  );

  test("depends on its own word table, not on one used before with the same rules", () => {
    const rules = { forbidden: FORBIDDEN_KEYS };
    const body = Buffer.from('{"a":{"prototype":1}}');
    for (const names of [["a"], FORBIDDEN_KEYS, ["a"], ["b", ...FORBIDDEN_KEYS]]) {
      expect(scanJson(body, new WordTable(names), rules).ok).toBe(!names.includes("prototype"));
    }
  });
});

test("a scanned document returns a value of 40 nested levels whole", () => {
  const value = JSON.parse(`${'{"x":['.repeat(20)}7${"]}".repeat(20)}`) as unknown;
  const doc = read(JSON.stringify({ a: value, model: 1 }));
  expect(doc.value(doc.member(0, words.findId("a")))).toEqual(value);
  expect(doc.number(doc.member(0, words.findId("model")))).toBe(1);
});
