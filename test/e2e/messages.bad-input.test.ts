import { describe, expect, test } from "vitest";
import { BODY_BYTES_MAX } from "../../src/kernel/core/constants.ts";
import { bodyOfSize, brokenBodies, chatBody } from "../support/chat-bodies.ts";
import { withAccount, withGateway } from "../support/gateway.ts";
import { at, type HttpAnswer, type HttpCall } from "../support/http-call.ts";
import {
  expectCleanRefusal,
  expectRefusal,
  named,
  postWithKey,
  type ExpectedRefusal,
} from "../support/refusals.ts";

const gateway = withGateway();
const account = withAccount(gateway, "25.00");

const good = chatBody("test/b");
const invalid = (message: string | RegExp): ExpectedRefusal => ({
  status: 400,
  code: "invalid_request",
  message,
});

async function post(call: HttpCall): Promise<HttpAnswer> {
  return await postWithKey({ gateway, account, path: "/v1/messages" }, call);
}

async function expectRefused(
  call: HttpCall,
  expected: ExpectedRefusal & { readonly type?: string },
): Promise<HttpAnswer> {
  const route = { gateway, account, path: "/v1/messages" };
  const answer = await expectCleanRefusal(route, call, expected);
  expect(answer.json).toMatchObject({
    type: "error",
    error: { type: expected.type ?? "invalid_request_error", error_type: expected.code },
  });
  expect(answer.json).not.toHaveProperty("error.code");
  return answer;
}

describe.concurrent(
  "a body that is not a messages request is a 400 that says what is wrong",
  () => {
    test.each(brokenBodies(good))("%s", async (_what, body, message) => {
      await expectRefused({ body }, invalid(message));
    });
  },
);

const asks = (block: unknown): object => ({ messages: [{ role: "user", content: [block] }] });

/** Place as the message must name it, and what is laid over a good body. */
const wrong: readonly (readonly [string, object])[] = [
  ["model", { model: "" }],
  ["messages", { messages: {} }],
  ["messages.0", { messages: ["hello"] }],
  ["messages.0.role", { messages: [{ role: "tool", content: "x" }] }],
  ["messages.0.content", { messages: [{ role: "user" }] }],
  ["messages.0.content.0.type", asks({ type: 7 })],
  ["messages.0.content.0.source", asks({ type: "image" })],
  ["messages.0.content.0.tool_use_id", asks({ type: "tool_result", content: "x" })],
  ["stream", { stream: 1 }],
  ["max_tokens", { max_tokens: "10" }],
  ["system.0.text", { system: [{ type: "text" }] }],
  ["stop_sequences.0", { stop_sequences: [7] }],
  ["tools.0.input_schema", { tools: [{ name: "f", input_schema: [] }] }],
  ["metadata.user_id", { metadata: { user_id: 7 } }],
  ["provider.only.0", { provider: { only: [7] } }],
];

// `parse-request.test.ts` has a row of every field; these show that the answer names the place.
describe.concurrent("a field of the wrong kind is a 400 that names the field", () => {
  test.each(wrong)("%s", async (place, more) => {
    await expectRefused({ body: { ...good, ...more } }, invalid(named(place)));
  });
});

describe.concurrent("an output bound outside the rules is a 400 gateway_error", () => {
  test.each([
    ["max_tokens 0", { max_tokens: 0 }, "max_tokens"],
    ["max_tokens 32769", { max_tokens: 32_769 }, "max_tokens"],
    ["two different bounds", { max_tokens: 5, max_completion_tokens: 6 }, "differ"],
  ])("%s", async (_what, more, message) => {
    const answer = await expectRefused(
      { body: { ...good, ...more } },
      { status: 400, code: "gateway_error", type: "api_error", message },
    );
    expect(answer.headers["x-tm-limit-kind"]).toBe("output_bound");
    expect(at(answer.json, "error.metadata.retryable")).toBe(false);
  });
});

describe("an output bound that fits", () => {
  test("the same bound under both names is served", async () => {
    const body = { ...good, max_tokens: 5, max_completion_tokens: 5 };
    expect(await post({ body })).toMatchObject({ status: 200 });
  });

  test("a body without a bound is served, and 4096 is written into it", async () => {
    const answer = await post({ body: { ...good, max_tokens: undefined } });
    expect(answer).toMatchObject({ status: 200 });
    expect(gateway.simulator.calls().at(-1)?.body).toMatchObject({ max_tokens: 4096 });
  });

  test("the name of the other wire is accepted too", async () => {
    const body = { ...good, max_tokens: undefined, max_completion_tokens: 7 };
    expect(await post({ body })).toMatchObject({ status: 200 });
    expect(gateway.simulator.calls().at(-1)?.body).toMatchObject({ max_tokens: 7 });
  });
});

describe.concurrent("a field that a request may not contain is a 400 that names it", () => {
  test.each([
    ["api_key", { api_key: "sk-1" }],
    ["provider.data_collection", { provider: { data_collection: "deny" } }],
  ])("%s", async (name, more) => {
    await expectRefused({ body: { ...good, ...more } }, invalid(named(name)));
  });
});

describe.concurrent("a model that is not listed is a 404 that echoes the id", () => {
  test.each(["nope", "test/b:free"])("%j", async (id) => {
    await expectRefused(
      { body: chatBody(id) },
      {
        status: 404,
        code: "model_unavailable",
        type: "not_found_error",
        message: JSON.stringify(id),
      },
    );
  });
});

const source = { type: "base64", media_type: "image/png", data: "AAAA" };
const pdf = { ...source, media_type: "application/pdf" };
const thinking = { type: "enabled", budget_tokens: 1024 };

/** Model, field as the message must name it, and what is laid over a good body. */
const unservable: readonly (readonly [string, string, object])[] = [
  ["test/b", "temperature", { temperature: 1.5 }],
  ["test/a", "thinking", { thinking, max_tokens: 2048 }],
  ["test/a", "response_format", { response_format: { type: "json_object" } }],
  ["test/a", "output_config.format", { output_config: { format: { type: "json_schema" } } }],
  ["test/a", "mcp_servers", { mcp_servers: [{ type: "url", url: "https://example.com" }] }],
  ["test/a", "container", { container: "c" }],
  ["test/a", "inference_geo", { inference_geo: "eu" }],
  ["test/a", "messages.0.content.0", asks({ type: "image", source })],
  ["test/b", "messages.0.content.0", asks({ type: "document", source: pdf })],
  ["test/a", "tools.0.type", { tools: [{ type: "web_search_20250305", name: "web_search" }] }],
];

describe.concurrent("a request that no provider of the model can serve as sent is a 400", () => {
  test.each(unservable)("%s: %s", async (model, field, more) => {
    await expectRefused({ body: chatBody(model, more) }, invalid(field));
  });

  test("a refused request that asked for a stream gets one JSON document", async () => {
    await expectRefused({ body: { ...good, stream: true, n: 2 } }, invalid(named("n")));
    const body = chatBody("test/b", { stream: true, temperature: 1.5 });
    await expectRefused({ body }, invalid("temperature"));
  });
});

describe("bodies that are too large or compressed", () => {
  const filled = chatBody("test/b", { messages: [{ role: "user", content: "{filler}" }] });

  test("one byte over 10 MB is a 413 that the client can read", async () => {
    await expectRefused(
      { body: bodyOfSize(filled, BODY_BYTES_MAX + 1) },
      { status: 413, code: "request_too_large", type: "request_too_large", message: "10485760" },
    );
  });

  test("exactly 10 MB of text is read, and refused only for its tokens", async () => {
    const answer = await post({ body: bodyOfSize(filled, BODY_BYTES_MAX) });
    expectRefusal(answer, { status: 429, code: "rate_limit" });
    expect(answer.headers["x-tm-limit-kind"]).toBe("tpm");
  });

  test("exactly 10 MB with an inline image is served, because its bytes are not tokens", async () => {
    const filler = { type: "base64", media_type: "image/png", data: "{filler}" };
    const messages = [{ role: "user", content: [{ type: "image", source: filler }] }];
    const body = bodyOfSize(chatBody("test/b", { messages }), BODY_BYTES_MAX);
    expect(await post({ body })).toMatchObject({ status: 200 });
  });

  test("content-encoding gzip is a 400", async () => {
    await expectRefused(
      { body: JSON.stringify(good), headers: { "content-encoding": "gzip" } },
      invalid("content-encoding"),
    );
  });
});

describe("an unusual but valid request", () => {
  const lone = String.raw`{"model":"MODEL","messages":[{"role":"user","content":"a\ud800b\udc00"}]}`;

  test.each(["test/a", "test/b"])("a lone surrogate reaches %s as it was sent", async (model) => {
    const answer = await post({ body: lone.replace("MODEL", model) });
    expect(answer).toMatchObject({ status: 200 });
    expect(gateway.simulator.calls().at(-1)?.bodyText).toContain(String.raw`a\ud800b\udc00`);
    expect(at(answer.json, "content.0.text")).toBe("You said: a\ud800b\udc00");
  });

  test("any version header and ?beta=true are accepted, and neither is passed on", async () => {
    const call = { body: good, headers: { "anthropic-version": "1999-01-01" } };
    const answer = await postWithKey({ gateway, account, path: "/v1/messages?beta=true" }, call);
    expect(answer).toMatchObject({ status: 200 });
    const sent = gateway.simulator.calls().at(-1);
    expect(sent).toMatchObject({ query: "", headers: { "anthropic-version": "2023-06-01" } });
  });

  test("beta names outside the allowlist are dropped and named", async () => {
    const headers = { "anthropic-beta": "prompt-caching-2024-07-31,made-up-2025-01-01" };
    const answer = await post({ body: good, headers });
    expect(answer.headers["x-tm-dropped-params"]).toBe("made-up-2025-01-01");
    expect(gateway.simulator.calls().at(-1)?.headers).toMatchObject({
      "anthropic-beta": "prompt-caching-2024-07-31",
    });
  });
});
