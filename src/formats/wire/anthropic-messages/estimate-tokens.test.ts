import * as fc from "fast-check";
import { expect, test } from "vitest";

import { assert } from "../../../kernel/core/assert.ts";
import { TokenCounting } from "../../modality/chat/encode-request.ts";
import { delta, done, playStream } from "../../../../test/fixtures/modality/answer-kit.ts";
import { buildBody, readGood, sentBy } from "../../../../test/fixtures/modality/request-kit.ts";
import { estimateDocument, textTokens } from "./estimate-tokens.ts";
import { anthropicMessages } from "./index.ts";

const { tokenCounter } = anthropicMessages;
assert(tokenCounter !== undefined, "messages has a route that counts");
const counting = new TokenCounting(anthropicMessages, tokenCounter);

function estimate(members: object): number {
  const read = counting.parse(sentBy(buildBody({ ...members })));
  if (!read.ok) throw new Error(read.refusal.message);
  return counting.estimate(read.request);
}

const say = (content: unknown): object => ({ messages: [{ role: "user", content }] });
const hi = estimate(say("hi"));

test("a body of one short word is estimated at 8 tokens, 7 of them for its frame", () => {
  expect(hi).toBe(3 + 4 + 1);
});

test("a tool's name, description and schema count as tokens, its cache_control does not", () => {
  const tool = { name: "f", description: "adds two numbers", input_schema: { type: "object" } };
  const one = estimate({ ...say("hi"), tools: [tool] });
  expect(one).toBeGreaterThan(hi + 8);
  expect(estimate({ ...say("hi"), tools: [tool, tool] }) - hi).toBe(2 * (one - hi));
  const hinted = { ...tool, cache_control: { type: "ephemeral" } };
  expect(estimate({ ...say("hi"), tools: [hinted] })).toBe(one);
});

test("an image counts the same number of tokens, whatever the size of its file", () => {
  const picture = (data: string): object => {
    const source = { type: "base64", media_type: "image/png", data };
    return { type: "image", source };
  };
  expect(estimate(say([picture("AAAA")]))).toBe(3 + 4 + 1_600);
  expect(estimate(say([picture("A".repeat(400_000))]))).toBe(3 + 4 + 1_600);
});

test("tool calls and their results count, thinking of earlier turns does not", () => {
  const use = { type: "tool_use", id: "t1", name: "f", input: { a: 1 } };
  const messages = (thinking: readonly object[]): object => ({
    messages: [
      { role: "user", content: "hi" },
      { role: "assistant", content: [...thinking, use] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "two" }] },
    ],
  });
  const bare = estimate(messages([]));
  expect(bare).toBeGreaterThan(hi + 2 * 4 + 2 * 8);
  const thought = { type: "thinking", thinking: "long ".repeat(100), signature: "c2ln" };
  expect(estimate(messages([thought]))).toBe(bare);
});

test("a document of text counts as its text, any other by the size of its file", () => {
  const source = { type: "text", media_type: "text/plain", data: "hi" };
  expect(estimate(say([{ type: "document", source }]))).toBe(hi);
  const file = { type: "base64", media_type: "application/pdf", data: "A".repeat(320_000) };
  expect(estimate(say([{ type: "document", source: file }]))).toBe(3 + 4 + 10_000);
});

test.each([
  ["", 0],
  ["Hello world", 2],
  ["internationalization", 4],
  ["naïve Größe", 2],
  ["1234567", 3],
  ["x = 10;", 4],
  ["東京都", 3],
  ["🙂", 2],
])("%j is estimated at %d tokens", (text, tokens) => {
  expect(textTokens(text)).toBe(tokens);
});

test("no text has more tokens than characters, and a longer text never has fewer", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (head, tail) => {
      expect(textTokens(head)).toBeLessThanOrEqual(head.length);
      expect(textTokens(head + tail)).toBeGreaterThanOrEqual(textTokens(head));
    }),
  );
});

test("a translated stream starts with the estimated input and ends with the observed one", () => {
  const usage = { prompt_tokens: 9, completion_tokens: 2 };
  const wires = { client: "wire_b", upstream: "wire_a", inputTokens: 11 } as const;
  const pieces = [delta({ content: "hi" }), { ...delta({}, "stop"), usage }, done];
  const { text } = playStream(wires, ...pieces);
  const [start = "", ...rest] = text.split("\n\n").filter((event) => event !== "");
  expect(JSON.parse(start.split("data: ")[1] ?? "")).toMatchObject({
    type: "message_start",
    message: { usage: { input_tokens: 11, output_tokens: 0 } },
  });
  expect(rest.at(-2)).toContain('"input_tokens":9');
});

test("the estimate is that of count_tokens; a very long body is estimated from its bytes", () => {
  const request = readGood("wire_b", { system: "You are careful.", max_tokens: 5 });
  expect(request.countInputTokens()).toBe(estimateDocument(request.doc));
  expect(request.countInputTokens()).toBeGreaterThan(5);
  const long = buildBody({ system: "word ".repeat(100_000), max_tokens: 5 });
  expect(readGood("wire_b", long).countInputTokens()).toBe(Math.ceil(long.length / 4));
});
