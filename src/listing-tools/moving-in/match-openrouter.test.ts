import { describe, expect, test } from "vitest";

import { matchModels, type ListedHere } from "./match-openrouter.ts";

function listed(id: string, ...otherNames: string[]): ListedHere {
  return { id, providers: ["prov"], otherNames };
}

const HERE: readonly ListedHere[] = [
  listed("openai/gpt-4.1", "gpt-4.1"),
  listed("openai/gpt-4.1-mini"),
  listed("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5-20250929"),
  listed("acme/twin"),
  listed("other/twin"),
  listed("meta/llama-4"),
  listed("lab/one", "shared-name"),
  listed("lab/two", "shared-name"),
];

function match(id: string, canonical?: string): string {
  const [found] = matchModels([canonical === undefined ? { id } : { id, canonical }], HERE);
  return `${found?.kind} ${found?.listing} ${found?.why}`;
}

describe("a model of OpenRouter", () => {
  test.each([
    ["openai/gpt-4.1", /^exact openai\/gpt-4\.1 /],
    ["openai/gpt-4.1:free", /^nearest openai\/gpt-4\.1 .*:free \(a free variant/],
    ["openai/gpt-4-1:strange", /^nearest openai\/gpt-4\.1 .*unknown here/],
    ["openai/gpt-4.1-2025-04-14", /^nearest openai\/gpt-4\.1 .*date/],
    ["claude-sonnet-4-5-20250929", /^nearest anthropic\/claude-sonnet-4\.5 .*calls its model/],
    ["meta-llama/llama-4", /^nearest meta\/llama-4 .*another author/],
    ["openai/gpt-4", /^none null .*begin alike: openai\/gpt-4\.1, openai\/gpt-4\.1-mini/],
    ["", /^none null /],
  ])("%s is matched with its reason", (id, expected) => {
    expect(match(id)).toMatch(expected);
  });

  test("is found by its permanent name", () => {
    expect(match("~anthropic/latest", "anthropic/claude-sonnet-4.5")).toMatch(
      /^nearest anthropic\/claude-sonnet-4\.5 its permanent name/,
    );
  });

  test("is never guessed where two listings fit", () => {
    expect(match("third/twin")).toMatch(/^none/);
    expect(match("shared-name")).toMatch(/^none/);
  });

  test("gets a suggestion if a listing is only near, and a next step if there is none", () => {
    const [near, none] = matchModels([{ id: "openai/gpt-4.1:free" }, { id: "x/y" }], HERE);
    expect(near?.next).toBe("send openai/gpt-4.1 from the client, if it is what you want");
    expect(none?.next).toContain("manifest import");
  });
});
