import Anthropic from "@anthropic-ai/sdk";
import { expect, test } from "vitest";

import { readBad, readGood } from "../../../../test/fixtures/modality/request-kit.ts";
import { anthropicMessages } from "./index.ts";

const thread = { type: "create" };

test("a request with a thread is refused with the error that the official client recognizes", async () => {
  const refused = readBad("wire_b", { max_tokens: 5, thread });
  expect(refused).toMatchObject({ class: "invalid_request", status: 400, retryable: false });
  expect(refused.message).toMatch(/^thread is not taken/);
  const body = anthropicMessages.errorBody(refused, "r");
  expect(JSON.parse(body)).toMatchObject({
    error: { type: "invalid_request_error", details: { error_code: "thread_unsupported_request" } },
  });
  const client = new Anthropic({
    apiKey: "k",
    baseURL: "http://x",
    maxRetries: 0,
    fetch: async () =>
      new Response(body, { status: 400, headers: { "content-type": "application/json" } }),
  });
  const messages = [{ role: "user" as const, content: "x" }];
  await expect(
    client.messages.create({ model: "m", max_tokens: 5, messages }),
  ).rejects.toBeInstanceOf(Anthropic.ThreadUnsupportedRequestError);
});

test("a request whose thread is null is accepted", () => {
  expect(readGood("wire_b", { max_tokens: 5, thread: null })).toHaveProperty("modelId");
});
