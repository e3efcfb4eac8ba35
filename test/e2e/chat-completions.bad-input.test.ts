import { describe, expect, test } from "vitest";
import { BODY_BYTES_MAX } from "../../src/kernel/core/constants.ts";
import { bodyOfSize, brokenBodies, chatBody } from "../support/chat-bodies.ts";
import {
  simulatorManifest,
  STANDARD_MANIFESTS,
  textModel,
  withAccount,
  withGateway,
} from "../support/gateway.ts";
import { at, type HttpAnswer, type HttpCall } from "../support/http-call.ts";
import {
  expectCleanRefusal,
  expectRefusal,
  named,
  postWithKey,
  type ExpectedRefusal,
} from "../support/refusals.ts";

/** A listing that this route does not serve. */
const IMAGE_MANIFEST = simulatorManifest({
  provider: "prov-images",
  dialect: "wire_a",
  models: [
    {
      ...textModel("test/painter"),
      output_modality: "image",
      max_output_tokens: 4_000,
      supported_parameters: {
        n: { type: "integer", min: 1, max: 4 },
        size: { type: "enum", values: ["1024x1024"] },
      },
    },
  ],
});

const gateway = withGateway({ manifests: [...STANDARD_MANIFESTS, IMAGE_MANIFEST] });
const account = withAccount(gateway, "25.00");

const good = chatBody("test/a");
const invalid = (message: string | RegExp): ExpectedRefusal => ({
  status: 400,
  code: "invalid_request",
  message,
});

async function post(call: HttpCall): Promise<HttpAnswer> {
  return await postWithKey({ gateway, account, path: "/v1/chat/completions" }, call);
}

async function expectRefused(call: HttpCall, expected: ExpectedRefusal): Promise<HttpAnswer> {
  const route = { gateway, account, path: "/v1/chat/completions" };
  const answer = await expectCleanRefusal(route, call, expected);
  expect(at(answer.json, "error.code")).toBe(expected.code);
  expect(at(answer.json, "error.metadata.error_type")).toBe(expected.code);
  return answer;
}

describe.concurrent("a body that is not a chat request is a 400 that says what is wrong", () => {
  test.each(brokenBodies(good))("%s", async (_what, body, message) => {
    await expectRefused({ body }, invalid(message));
  });
});

/** Place as the message must name it, and what is laid over a good body. */
const wrong: readonly (readonly [string, object])[] = [
  ["model", { model: undefined }],
  ["messages", { messages: [] }],
  ["messages[0]", { messages: ["hello"] }],
  ["messages[0].role", { messages: [{ role: "robot", content: "x" }] }],
  ["messages[0].content", { messages: [{ role: "user", content: null }] }],
  [
    "messages[0].content[0].image_url.url",
    { messages: [{ role: "user", content: [{ type: "image_url", image_url: {} }] }] },
  ],
  ["stream", { stream: "yes" }],
  ["stream_options.include_usage", { stream_options: { include_usage: 1 } }],
  ["max_tokens", { max_tokens: 1.5 }],
  ["n", { n: 2 }],
  ["temperature", { temperature: 2.1 }],
  ["stop[0]", { stop: [7] }],
  [
    "tools[0].function.parameters",
    { tools: [{ type: "function", function: { name: "f", parameters: [] } }] },
  ],
  ["provider.only[0]", { provider: { only: [7] } }],
  ["provider.upstream.sort", { provider: { upstream: { sort: "price" } } }],
];

// `parse-request.test.ts` has a row of every field; these show that the answer names the place.
describe.concurrent("a field of the wrong kind is a 400 that names the field", () => {
  test.each(wrong)("%s", async (place, more) => {
    await expectRefused({ body: { ...good, ...more } }, invalid(named(place)));
  });
});

describe("an output bound outside the rules is a 400 gateway_error", () => {
  test.each([
    ["max_tokens 0", { max_tokens: 0 }, "max_tokens"],
    ["max_tokens beyond every integer", { max_tokens: 1e300 }, "max_tokens"],
    [
      "max_completion_tokens 32769",
      { max_tokens: undefined, max_completion_tokens: 32_769 },
      "max_completion_tokens",
    ],
    ["two different bounds", { max_tokens: 5, max_completion_tokens: 6 }, "differ"],
  ])("%s", async (_what, more, message) => {
    const answer = await expectRefused(
      { body: { ...good, ...more } },
      { status: 400, code: "gateway_error", message },
    );
    expect(answer.headers["x-tm-limit-kind"]).toBe("output_bound");
    expect(at(answer.json, "error.metadata.limit_kind")).toBe("output_bound");
    expect(at(answer.json, "error.metadata.retryable")).toBe(false);
  });

  test("the same bound under both names is served", async () => {
    const body = { ...good, max_tokens: 5, max_completion_tokens: 5 };
    expect((await post({ body })).status).toBe(200);
  });
});

describe.concurrent("a field that a request may not contain is a 400 that names it", () => {
  const refused = [
    ["provider.sort", { provider: { sort: "price" } }],
    ["provider.upstream.api_key", { provider: { upstream: { api_key: "sk-1" } } }],
    ["api_key", { api_key: "sk-1" }],
    ["base_url", { base_url: "http://127.0.0.1:1" }],
    ["connection_id", { connection_id: "conn_1" }],
    ["headers", { headers: { authorization: "x" } }],
  ] as const;
  test.each(refused)("%s", async (name, more) => {
    await expectRefused({ body: { ...good, ...more } }, invalid(named(name)));
  });

  test("a provider control that leaves no provider", async () => {
    const only = { ...good, provider: { only: ["prov-b"] } };
    await expectRefused({ body: only }, invalid("provider.only"));
    const ignore = { ...good, provider: { ignore: ["prov-a"] } };
    await expectRefused({ body: ignore }, invalid("provider.ignore"));
  });

  test("a secret in a refused field is not repeated in the message", async () => {
    const body = { ...good, api_key: "sk-my-own-secret" };
    const { text: answered } = await expectRefused({ body }, invalid("api_key"));
    expect(answered).not.toContain("sk-my-own-secret");
  });
});

describe.concurrent("a model that is not listed is a 404 that echoes the id", () => {
  test("a very long id is echoed in part", async () => {
    const answer = await expectRefused(
      { body: chatBody("m".repeat(100_000)) },
      { status: 404, code: "model_unavailable", message: "mmmmmmmm" },
    );
    expect(answer.text.length).toBeLessThan(2_000);
  });

  test.each(["nope", "test/a:free", "TEST/A", "test/a ", "ünknown\n🙂"])("%j", async (id) => {
    const answer = await expectRefused(
      { body: chatBody(id) },
      { status: 404, code: "model_unavailable", message: JSON.stringify(id) },
    );
    expect(at(answer.json, "error.metadata.retryable")).toBe(false);
    expect(answer.headers["x-tm-error-origin"]).toBeUndefined();
  });
});

const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
const audio = { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } };
const asks = (part: object): object => ({ messages: [{ role: "user", content: [part] }] });

/** Model, field as the message must name it, and what is laid over a good body. */
const unservable: readonly (readonly [string, string, object])[] = [
  ["test/b", "temperature", { temperature: 1.5 }],
  ["test/b", "response_format", { response_format: { type: "json_object" } }],
  ["test/b", "thinking", { thinking: { type: "enabled", budget_tokens: 1024 } }],
  [
    "test/b",
    "functions",
    { functions: [{ name: "f" }], tools: [{ type: "function", function: { name: "g" } }] },
  ],
  ["test/b", "audio", { audio: { voice: "x", format: "wav" } }],
  ["test/b", "web_search_options", { web_search_options: {} }],
  ["test/b", "messages[0].content[0]", asks(image)],
  ["test/both", "messages[0].content[0]", asks(image)],
  ["test/a", "messages[0].content[0]", asks(audio)],
  ["test/b", "tools[0].type", { tools: [{ type: "custom", custom: { name: "f" } }] }],
];

describe.concurrent("a request that no provider of the model can serve as sent is a 400", () => {
  test.each(unservable)("%s: %s", async (model, field, more) => {
    await expectRefused({ body: chatBody(model, more) }, invalid(field));
  });

  test("a part that the model does not take, and the message names the kinds it takes", async () => {
    await expectRefused({ body: chatBody("test/both", asks(image)) }, invalid(/image.*text/));
  });

  test("an image model on this route, and the message names the right one", async () => {
    await expectRefused({ body: chatBody("test/painter") }, invalid("/v1/images/generations"));
  });

  test("a refused stream, which gets one JSON document", async () => {
    await expectRefused({ body: { ...good, stream: true, n: 2 } }, invalid(named("n")));
    const body = chatBody("test/b", { stream: true, temperature: 1.5 });
    await expectRefused({ body }, invalid("temperature"));
  });
});

describe("bodies that are too large or compressed", () => {
  const tooLarge = { status: 413, code: "request_too_large", message: "10485760" };
  const filled = chatBody("test/a", { messages: [{ role: "user", content: "{filler}" }] });

  test("one byte over 10 MB is a 413 that the client can read", async () => {
    await expectRefused({ body: bodyOfSize(filled, BODY_BYTES_MAX + 1) }, tooLarge);
  });

  test("a chunked body without a length is cut off at 10 MB too", async () => {
    await expectRefused({ body: bodyOfSize(filled, BODY_BYTES_MAX + 1), chunked: true }, tooLarge);
  });

  test("exactly 10 MB of text is read, and refused only for its tokens", async () => {
    const answer = await post({ body: bodyOfSize(filled, BODY_BYTES_MAX) });
    expectRefusal(answer, { status: 429, code: "rate_limit" });
    expect(answer.headers["x-tm-limit-kind"]).toBe("tpm");
  });

  test("exactly 10 MB with an inline image is served, because its bytes are not tokens", async () => {
    const filler = { type: "image_url", image_url: { url: "data:image/png;base64,{filler}" } };
    const body = chatBody("test/a", { messages: [{ role: "user", content: [filler] }] });
    const answer = await post({ body: bodyOfSize(body, BODY_BYTES_MAX) });
    expect(answer).toMatchObject({ status: 200 });
  });

  test.each(["gzip", "zstd"])("content-encoding %s is a 400", async (encoding) => {
    await expectRefused(
      { body: JSON.stringify(good), headers: { "content-encoding": encoding } },
      invalid("content-encoding"),
    );
  });
});

describe("an unusual but valid request", () => {
  const lone = String.raw`{"model":"MODEL","max_tokens":64,"messages":[{"role":"user","content":"a\ud800b\udc00"}]}`;
  test.each(["test/a", "test/b"])("a lone surrogate reaches %s as it was sent", async (model) => {
    const answer = await post({ body: lone.replace("MODEL", model) });
    expect(answer.status).toBe(200);
    expect(gateway.simulator.calls().at(-1)?.bodyText).toContain(String.raw`a\ud800b\udc00`);
    expect(at(answer.json, "choices.0.message.content")).toBe("You said: a\ud800b\udc00");
  });

  test.each(["test/a", "test/b"])("a null field counts as absent in front of %s", async (model) => {
    const names = ["stream", "temperature", "top_p", "stop", "tools", "tool_choice", "n", "user"];
    const nulls = Object.fromEntries([...names, "provider"].map((name) => [name, null]));
    const answer = await post({ body: { ...chatBody(model), ...nulls } });
    expect(answer).toMatchObject({ status: 200 });
  });

  test("a temperature above 1 is served when the wire accepts it", async () => {
    expect(await post({ body: { ...good, temperature: 1.5 } })).toMatchObject({ status: 200 });
  });

  test("unprintable field names are dropped and named safely", async () => {
    const odd = { "x\r\nx-injected: 1": 1, "ünïcode🙂": 2, "a,b": 3, "": 4 };
    const many = Object.fromEntries(Array.from({ length: 900 }, (_item, n) => [`field_${n}`, n]));
    for (const more of [odd, many]) {
      const answer = await post({ body: { ...chatBody("test/b"), ...more } });
      expect(answer.status).toBe(200);
      expect(answer.headers).not.toHaveProperty("x-injected");
      const dropped = String(answer.headers["x-tm-dropped-params"]);
      expect(dropped).toMatch(/^[\x21-\x7e]+$/);
      expect(dropped.length).toBeLessThanOrEqual(2_048);
    }
  });

  test("routing fields of other gateways are dropped and named", async () => {
    const more = { route: "fallback", models: ["test/b"], transforms: ["middle-out"] };
    const answer = await post({ body: { ...good, ...more } });
    expect(answer.status).toBe(200);
    const dropped = String(answer.headers["x-tm-dropped-params"]).split(",").toSorted();
    expect(dropped).toEqual(["models", "route", "transforms"]);
    const body = gateway.simulator.calls().at(-1)?.body;
    for (const name of Object.keys(more)) expect(body).not.toHaveProperty(name);
  });
});
