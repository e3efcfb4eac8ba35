import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ABSENT, JsonDocument } from "./json-document.ts";
import { type JsonText, textToken } from "./json-text.ts";
import { scanJson } from "./scan-json.ts";
import { Splice } from "./splice.ts";
import { WordTable } from "./json-keys.ts";

const names = ["__proto__", "model", "drop1", "drop2", "drop3", "options"];
const words = new WordTable(names);
const id = (name: string): number => words.findId(name);

function read(text: string): JsonDocument {
  const scanned = scanJson(Buffer.from(text), words);
  if (!scanned.ok) throw new Error("not read");
  return scanned.doc;
}

test("a splice without edits returns the body unchanged", () => {
  const doc = read('{"model":"x"}');
  const splice = new Splice(doc);
  splice.remove([id("drop1")]);
  expect(splice.result().toBuffer()).toEqual(doc.body);
});

test("a splice replaces a member and leaves every other byte", () => {
  const doc = read('{ "a" : 1.0e2 ,\n "model" : "x" , "b":"\\u00e9é" }');
  const splice = new Splice(doc);
  splice.replace(doc.member(0, id("model")), textToken("é/2"));
  expect(splice.result().toBuffer().toString()).toBe(
    '{ "a" : 1.0e2 ,\n "model" : "é/2" , "b":"\\u00e9é" }',
  );
});

test("a splice adds a member to an inner object, with a comma only if one is needed", () => {
  for (const [before, after] of [
    ['{"options":{}}', '{"options":{"x":true}}'],
    ['{"options":{ "y":1}}', '{"options":{"x":true, "y":1}}'],
  ] as const) {
    const doc = read(before);
    const splice = new Splice(doc);
    splice.insertInto(doc.member(0, id("options")), "x", "true" as JsonText);
    expect(splice.result().toBuffer().toString()).toBe(after);
  }
});

test("a splice that removes any members and adds one gives the same object as editing it", () => {
  const member = fc.constantFrom<string>("drop1", "drop2", "drop3", "other1", "other2");
  const space = fc.constantFrom("", " ", "\n  ");
  fc.assert(
    fc.property(fc.uniqueArray(member), fc.nat(5), space, (before, modelAt, gap) => {
      const keys = before.toSpliced(modelAt, 0, "model");
      const text = `${gap}{${keys.map((key) => `${gap}"${key}"${gap}:${gap}"v-${key}"${gap}`).join(",")}}${gap}`;
      const doc = read(text);
      const splice = new Splice(doc);
      splice.remove([id("drop1"), id("drop2"), id("drop3")]);
      splice.replace(doc.member(0, id("model")), "1" as JsonText);
      splice.insert("added", "[]" as JsonText);
      const expected = keys
        .filter((key) => !key.startsWith("drop"))
        .map((key) => [key, key === "model" ? 1 : `v-${key}`] as const);
      const edited = JSON.parse(splice.result().toBuffer().toString()) as object;
      expect(Object.entries(edited)).toEqual([...expected, ["added", []]]);
    }),
  );
  expect(read("{}").member(0, id("model"))).toBe(ABSENT);
});
