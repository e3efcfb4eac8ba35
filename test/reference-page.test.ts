import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { readOperations } from "../console/src/pages/docs/openapi-rows.ts";

const FILE = join(import.meta.dirname, "../schema/openapi-v1.json");
const operations = readOperations(JSON.parse(readFileSync(FILE, "utf8")));

test("the reference shows every route of the OpenAPI document with its headers and refusals", () => {
  expect(operations.length).toBeGreaterThan(15);
  for (const { name, summary, answer, refusals, headers } of operations) {
    expect(summary, name).not.toBe("");
    expect(refusals.map(({ status }) => status)).toContain("429");
    expect(headers.map((each) => each.name)).toContain("x-request-id");
    const isWhole = !/usage$|limits$|completions$/.test(name) || answer.length > 2;
    expect({ name, isWhole }).toEqual({ name, isWhole: true });
  }
});

test("a field is shown with its type, its bounds and its members", () => {
  const chat = operations.find(({ name }) => name === "POST /v1/chat/completions");
  const field = (name: string) => chat?.body.find((each) => each.name === name);
  expect(field("max_tokens")).toMatchObject({ type: "integer, 1 to 32768", isRequired: false });
  expect(field("messages.role")?.type).toContain('"assistant"');
  expect(field("provider.only")).toMatchObject({ type: "array", about: "no other provider" });
  expect(chat?.refusals.find(({ status }) => status === "429")?.classes).toContain("rate_limit");
});

test("each route has a curl example with the key and every required field", () => {
  for (const { name, curl, body, parameters } of operations) {
    expect(curl, name).toContain('-H "authorization: Bearer $TOKEN_MARKET_KEY"');
    expect(curl, name).not.toMatch(/\{\w+\}|undefined/);
    const needed = [...body, ...parameters].filter(
      ({ isRequired, name: field }) => isRequired && !field.includes("."),
    );
    for (const field of needed) {
      const [, word = ""] = /^(\w+)/.exec(field.name) ?? [];
      const isIn = curl.includes(word) || curl.includes(`$${word.toUpperCase()}`);
      expect({ name, word, isIn }).toEqual({ name, word, isIn: true });
    }
  }
});
