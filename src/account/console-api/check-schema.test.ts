import { Type } from "typebox";
import { describe, expect, test } from "vitest";

import { compileCheck } from "./check-schema.ts";
import { ROUTES } from "./contract.ts";
import { KEY_MODELS_MAX } from "./contract/keys.ts";

const newKey = compileCheck(ROUTES["POST /api/console/keys"].body, "body");
const keyChange = compileCheck(ROUTES["PATCH /api/console/keys/:key_id"].body, "body");
const usage = compileCheck(ROUTES["GET /api/console/usage"].query, "text");

describe("a body", () => {
  test("is accepted if it fits the schema", () => {
    expect(newKey({ name: "ci", rpm: 20, cap_usd: "12.5" })).toBeUndefined();
    expect(keyChange({ rpm: null, cap_usd: "" })).toBeUndefined();
  });

  test("of a new key may name the maximum number of models, but no more", () => {
    const models = Array.from({ length: KEY_MODELS_MAX }, (_, at) => `acme/${at}`);
    expect(newKey({ name: "ci", models })).toBeUndefined();
    expect(newKey({ name: "ci", models: [...models, "acme/more"] })).toBeDefined();
  });

  test.each<[string, unknown, string | undefined, string]>([
    ["with a field that the route does not have", { name: "a", cap: "1" }, "cap", "not a field"],
    ["without a field that it needs", {}, "name", "is missing"],
    [
      "with a string in place of a number",
      { name: "a", rpm: "20" },
      "rpm",
      "must be a whole number",
    ],
    ["with a number in place of dollars", { name: "a", cap_usd: 5 }, "cap_usd", "six decimals"],
    ["with seven decimals", { name: "a", cap_usd: "1.0000001" }, "cap_usd", "six decimals"],
    ["with an amount below zero", { name: "a", cap_usd: "-1" }, "cap_usd", "not negative"],
    ["that is a list", [], undefined, "the request must be an object"],
    ["that is null", null, undefined, "the request must be an object"],
  ])("%s is refused with its field and the reason", (_, body, field, words) => {
    const problem = newKey(body);
    expect(problem).toMatchObject({ field });
    expect(problem?.message).toContain(words);
  });

  test("is neither converted nor stripped", () => {
    const body = { name: "a", other: 1 };
    newKey(body);
    expect(body).toEqual({ name: "a", other: 1 });
  });

  test("with an invalid list element is refused with the element's index", () => {
    const check = compileCheck(ROUTES["POST /api/console/optimize"].body, "body");
    const wanted = { name: "a", objective: "fastest", models: ["a", "b"], budget_usd: "1" };
    expect(check({ ...wanted, prompts: ["a", "b", ""] })).toMatchObject({ field: "prompts[2]" });
  });
});

describe("a query", () => {
  test("has its text parsed as a number where the schema has a number", () => {
    const schema = Type.Object({ limit: Type.Integer({ minimum: 1 }) });
    const query = { limit: "20" };
    expect(compileCheck(schema, "text")(query)).toBeUndefined();
    expect(query).toEqual({ limit: 20 });
  });

  test.each<[string, object, string]>([
    ["that misspells a filter", { modle: "a" }, "modle"],
    ["with a time that is not an instant", { from: "yesterday" }, "from"],
    ["with an impossible instant", { from: "2026-13-40T00:00:00Z" }, "from"],
    ["with a status that does not exist", { status: "bad" }, "status"],
    ["that repeats a filter", { model: ["a", "b"] }, "model"],
  ])("%s is refused with the filter's name", (_, query, field) => {
    expect(usage(query)).toMatchObject({ field });
  });
});
