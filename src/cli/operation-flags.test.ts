import { Type } from "typebox";
import { describe, expect, test } from "vitest";

import { argumentNames, commandFields, fieldOption, readField } from "./operation-flags.ts";

const body = Type.Object({
  cap_usd: Type.Optional(Type.Union([Type.String({ description: "dollars" }), Type.Null()])),
  rpm: Type.Optional(Type.Union([Type.Integer({ description: "a number" }), Type.Null()])),
  tags: Type.Array(Type.String(), { description: "tags" }),
  confirm: Type.Optional(Type.Boolean({ description: "true" })),
  confirm_name: Type.String({ description: "what a person types" }),
});
const contract = { summary: "", needs: "keys", body } as const;
const face = { usage: "key change <key_id>", typed: ["confirm_name"], none: ["rpm"] } as const;
const fields = commandFields(contract, face);

function read(name: string, flags: Readonly<Record<string, string | boolean>>): unknown {
  const field = fields.find(([each]) => each === name);
  return field && readField(flags, field, face);
}

describe("the flags of a route's command", () => {
  test("are its fields, described as they are there, but for what a person types", () => {
    const options = fields.map(([name, shape, { isRequired }]) =>
      fieldOption(name, shape, isRequired),
    );
    expect(
      options.map(({ flags, description, mandatory }) => [flags, description, mandatory]),
    ).toEqual([
      ["--cap-usd <text>", "dollars", false],
      ["--rpm <n>", "a number", false],
      ["--tags <list>", "tags, with commas between them", true],
      ["--confirm", "true", false],
    ]);
    expect(argumentNames(face.usage)).toEqual(["key_id"]);
  });

  test("become values of the body, and what is no number is left to the schema", () => {
    expect(read("rpm", { rpm: "7" })).toBe(7);
    expect(read("rpm", { rpm: "none" })).toBeNull();
    expect(read("rpm", { rpm: "many" })).toBe("many");
    expect(read("cap_usd", { capUsd: "none" })).toBe("none");
    expect(read("tags", { tags: " a,, b" })).toEqual(["a", "b"]);
    expect(read("tags", { tags: "" })).toEqual([]);
    expect(read("confirm", { confirm: true })).toBe(true);
    expect(read("confirm", {})).toBeUndefined();
  });
});
