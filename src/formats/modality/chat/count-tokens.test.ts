import { expect, test } from "vitest";
import { assert } from "../../../kernel/core/assert.ts";
import { anthropicMessages } from "../../wire/anthropic-messages/index.ts";
import { bodyOf, bytesOf, deploymentOf, sentBy } from "../fixtures/request-kit.ts";
import { TokenCounting } from "./count-tokens.ts";

const { tokenCounter } = anthropicMessages;
assert(tokenCounter !== undefined, "messages has a route that counts");
const counting = new TokenCounting(anthropicMessages, tokenCounter);

test("a count needs no bound, takes any, and takes thinking", () => {
  for (const members of [{}, { max_tokens: 100_000 }, { thinking: { type: "adaptive" } }]) {
    const read = counting.parse(sentBy(bodyOf(members)));
    expect(read).toMatchObject({ request: { modelId: "acme/test-1", wire: { id: "wire_b" } } });
  }
});

test("a count is checked like a messages body", () => {
  const read = counting.parse(sentBy(bodyOf({ system: 5 })));
  expect(read).toMatchObject({ refusal: { class: "invalid_request" } });
});

test("the provider is asked with the caller's body, without a bound", () => {
  const body = bodyOf({ tools: [{ name: "f" }], provider: { only: ["acme"] } });
  const read = counting.parse(sentBy(body, "token-counting-2024-11-01"));
  if (!read.ok) throw new Error(read.refusal.message);
  const asked = counting.encode(read.request, deploymentOf("wire_b", { upstreamModelId: "up" }));
  expect(asked.path).toBe("/messages/count_tokens");
  expect(JSON.parse(bytesOf(asked.body).toString())).toEqual({
    model: "up",
    messages: [{ role: "user", content: "hi" }],
    tools: [{ name: "f" }],
  });
  expect(asked.droppedParams).toEqual(["token-counting-2024-11-01"]);
});
