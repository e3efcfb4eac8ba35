import { Type } from "typebox";
import { expect, test } from "vitest";

import { commandFields, readField } from "./operation-command.ts";

const body = Type.Object({
  cap_usd: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  rpm: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
  tags: Type.Array(Type.String()),
});
const face = { usage: "key change <key_id>", none: ["rpm"] } as const;
const fields = commandFields({ summary: "", needs: "keys", body }, face);

test.each<[string, string, unknown]>([
  ["rpm", "7", 7],
  ["rpm", "none", null],
  ["rpm", "many", "many"],
  ["cap_usd", "none", "none"],
  ["tags", " a,, b", ["a", "b"]],
  ["tags", "", []],
])("the flag of %s with the text %j becomes %j", (name, text, value) => {
  const field = fields.find(([each]) => each === name);
  const flags = { [name === "cap_usd" ? "capUsd" : name]: text };
  expect(field && readField(flags, field, face)).toEqual(value);
});
