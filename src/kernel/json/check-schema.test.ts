import { Type } from "typebox";
import { expect, test } from "vitest";

import { byType, closed, pathText, schemaCheck, schemaFaults } from "./check-schema.ts";

const WORDS = { missing: "required", unknown: "is not one of {names}" };

const label = Type.String({ title: "label", description: "a string" });
const labels = Type.Array(label, { minItems: 2, uniqueItems: true });
const choice = byType({
  pick: { labels: Type.Unsafe({ ...labels, title: "what to choose from" }) },
  say: {},
});
const sentenceOf = (value: unknown): string => {
  const fault = schemaCheck(choice, WORDS)(value);
  return fault === undefined ? "" : `${pathText(fault.path)} ${fault.message}`;
};

test.each([
  [{ type: "pick", labels: ["a", "b"] }, ""],
  [{ type: "pick" }, "labels required: what to choose from"],
  [{ type: "pick", labels: ["a"] }, "labels 1 label, at least 2 needed"],
  [{ type: "pick", labels: ["a", "b", "a"] }, "labels[2] this label is duplicated"],
  [{ type: "say", labels: ["a", "b"] }, "labels the type say does not accept this field"],
  [{ type: "sing" }, "type use one of pick, say"],
  [{}, "type required: one of pick, say"],
  [7, " must be an object"],
])("the first fault of %j is one sentence with its place", (value, sentence) => {
  expect(sentenceOf(value)).toBe(sentence);
});

test("schemaFaults lists every fault, with the names that are allowed", () => {
  const schema = Type.Array(closed({ "7": Type.Integer(), b: Type.Integer() }));
  const faults = schemaFaults(
    schema,
    WORDS,
  )([
    { "7": "x", c: 1 },
    { "7": 1, b: 2 },
  ]);
  expect(faults.map(({ path, message }) => `${pathText(path)} ${message}`)).toEqual([
    "[0].b required",
    "[0].c is not one of 7, b",
    "[0].7 must be a whole number",
  ]);
});

test("a field that may be null does not allow null in another field of the same types", () => {
  const TEXTS = { type: ["string", "array"], description: "a text or texts" };
  const either = closed({ a: Type.Unsafe({ ...TEXTS, nullable: true }), b: Type.Unsafe(TEXTS) });
  const check = schemaCheck(either, WORDS);
  expect(check({ a: null, b: "x" })).toBeUndefined();
  expect(check({ a: "x", b: null })).toEqual({ path: ["b"], message: "must be a text or texts" });
});
