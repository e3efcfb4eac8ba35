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

/* `chat/parse-request.test.ts` tests the parser; these tests show the answers to clients. */

/** A model whose listings accept different kinds of content parts. */
const SENSES = "test/senses";
const senses = [
  { provider: "sees", dialect: "wire_a", kind: "image" },
  { provider: "hears", dialect: "wire_a", kind: "audio" },
  { provider: "reads", dialect: "wire_b", kind: "file" },
] as const;
const gateway = withGateway({
  manifests: [
    ...STANDARD_MANIFESTS,
    ...senses.map(({ provider, dialect, kind }) => {
      const models = [textModel(SENSES, { input_modalities: ["text", kind] })];
      return simulatorManifest({ provider, dialect, models });
    }),
  ],
});
const account = withAccount(gateway, "25.00");

const CHAT = "/v1/chat/completions";
const MESSAGES = "/v1/messages";
type Path = typeof CHAT | typeof MESSAGES;

const good = { [CHAT]: chatBody("test/a"), [MESSAGES]: chatBody("test/b") };
const invalid = (message: string | RegExp): ExpectedRefusal => ({
  status: 400,
  code: "invalid_request",
  message,
});

async function post(path: Path, call: HttpCall): Promise<HttpAnswer> {
  return await postWithKey({ gateway, account, path }, call);
}

/** The type of an error on the messages route, by error code. */
const TYPES: Readonly<Record<string, string>> = {
  invalid_request: "invalid_request_error",
  gateway_error: "api_error",
  model_unavailable: "not_found_error",
  request_too_large: "request_too_large",
};

async function expectRefused(
  path: Path,
  call: HttpCall,
  expected: ExpectedRefusal,
): Promise<HttpAnswer> {
  const answer = await expectCleanRefusal({ gateway, account, path }, call, expected);
  const { code } = expected;
  const isChat = path === CHAT;
  expect(answer.json).toMatchObject(
    isChat
      ? { error: { code, metadata: { error_type: code } } }
      : { type: "error", error: { type: TYPES[code], error_type: code } },
  );
  expect(at(answer.json, "error.code")).toBe(isChat ? code : undefined);
  return answer;
}

test.each(brokenBodies(good[CHAT]))(
  "%s is refused with a 400 that says what is wrong",
  async (_what, body, message) => {
    await expectRefused(CHAT, { body }, invalid(message));
  },
);

describe.concurrent.each([CHAT, MESSAGES] as const)("%s refuses with a 400", (path) => {
  test.each([
    [path === CHAT ? "messages[0].role" : "messages.0.role", { messages: [{ role: "robot" }] }],
    ["provider.upstream.api_key", { provider: { upstream: { api_key: "sk-my-own-secret" } } }],
  ])("a wrong or forbidden %s, and names the field's path but no secret", async (place, more) => {
    const body = { ...good[path], ...more };
    const { text } = await expectRefused(path, { body }, invalid(named(place)));
    expect(text).not.toContain("sk-my-own-secret");
  });

  test("an output bound above 32768, as a gateway_error with limit kind output_bound", async () => {
    const body = { ...good[path], max_tokens: 32_769 };
    const refusal = { status: 400, code: "gateway_error", message: "max_tokens" };
    const answer = await expectRefused(path, { body }, refusal);
    expect(answer.headers["x-tm-limit-kind"]).toBe("output_bound");
    expect(at(answer.json, "error.metadata")).toMatchObject({ retryable: false });
  });

  test("a compressed body", async () => {
    const headers = { "content-encoding": path === CHAT ? "zstd" : "gzip" };
    const call = { body: JSON.stringify(good[path]), headers };
    await expectRefused(path, call, invalid("content-encoding"));
  });
});

describe.concurrent("a model that is not listed is a 404 that echoes the id", () => {
  test.each([
    [CHAT, "ünknown\n🙂"],
    [MESSAGES, "nope"],
  ] as const)("on %s: %j", async (path, id) => {
    const refusal = { status: 404, code: "model_unavailable", message: JSON.stringify(id) };
    const answer = await expectRefused(path, { body: chatBody(id) }, refusal);
    expect(at(answer.json, "error.metadata.retryable")).toBe(false);
    expect(answer.headers["x-tm-error-origin"]).toBeUndefined();
  });

  test("a very long id is echoed in part", async () => {
    const refusal = { status: 404, code: "model_unavailable", message: "mmmmmmmm" };
    const answer = await expectRefused(CHAT, { body: chatBody("m".repeat(100_000)) }, refusal);
    expect(answer.text.length).toBeLessThan(2_000);
  });
});

const part = (content: object): object => ({ messages: [{ role: "user", content: [content] }] });
const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };

describe.concurrent("a request that no provider of the model can serve as sent is a 400", () => {
  test.each<[Path, string, string | RegExp, object]>([
    [CHAT, "test/b", "temperature", { stream: true, temperature: 1.5 }],
    [CHAT, "test/both", /messages\[0\]\.content\[0\].*image.*text/, part(image)],
    [MESSAGES, "test/a", "thinking", { thinking: { type: "enabled", budget_tokens: 1024 } }],
  ])("on %s for %s, and names %s", async (path, model, message, more) => {
    const body = chatBody(model, { max_tokens: 2_048, ...more });
    await expectRefused(path, { body }, invalid(message));
  });
});

const PARTS = {
  image: { type: "image_url", image_url: { url: "https://a.test/i.png" } },
  audio: { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
  video: { type: "video_url", video_url: { url: "https://a.test/v.mp4" } },
  file: { type: "file", file: { file_data: "data:application/pdf;base64,AAAA" } },
};

describe.concurrent("a part that no listing of the model accepts as sent is refused", () => {
  test.each<[string, (keyof typeof PARTS)[], RegExp]>([
    [
      "with the kinds that the model accepts",
      ["video"],
      /^messages\[0\]\.content\[0\] is a part of kind video; test\/senses accepts text, audio, file, image; send one of these or choose a model that accepts video$/,
    ],
    ["with its own path", ["image", "video"], /messages\[0\]\.content\[1\] is a part of kind/],
    [
      "with the kinds that one listing accepts, where no listing accepts all parts together",
      ["image", "audio"],
      /no listing of test\/senses accepts every part of this request.*is a part of kind (image|audio); the listing of (sees|hears) accepts text/s,
    ],
    [
      "as untranslatable, where the listing declares its kind but its wire cannot carry it",
      ["file"],
      /messages\[0\]\.content\[0\] is a part of kind file, which/,
    ],
  ])("%s", async (_how, kinds, message) => {
    const content = kinds.map((kind) => PARTS[kind]);
    const body = chatBody(SENSES, { messages: [{ role: "user", content }] });
    await expectRefused(CHAT, { body }, invalid(message));
  });
});

describe("a body of 10 MB", () => {
  const filled = chatBody("test/a", { messages: [{ role: "user", content: "{filler}" }] });

  test.each([
    [CHAT, { chunked: true }],
    [MESSAGES, {}],
  ] as const)("and one byte on %s is a 413 that the client can read: %j", async (path, how) => {
    const refusal = { status: 413, code: "request_too_large", message: "10485760" };
    const body = bodyOfSize(filled, BODY_BYTES_MAX + 1);
    await expectRefused(path, { ...how, body }, refusal);
  });

  test("is refused only for its tokens if it is text, and served if it is an image", async () => {
    const answer = await post(CHAT, { body: bodyOfSize(filled, BODY_BYTES_MAX) });
    expectRefusal(answer, { status: 429, code: "rate_limit" });
    expect(answer.headers["x-tm-limit-kind"]).toBe("tpm");
    const filler = { type: "image_url", image_url: { url: "data:image/png;base64,{filler}" } };
    const body = bodyOfSize(chatBody("test/a", part(filler)), BODY_BYTES_MAX);
    expect(await post(CHAT, { body })).toMatchObject({ status: 200 });
  });
});

describe("an unusual but valid request", () => {
  const lone = String.raw`{"model":"MODEL","max_tokens":64,"messages":[{"role":"user","content":"a\ud800b\udc00"}]}`;
  test.each(["test/a", "test/b"])("a lone surrogate reaches %s as it was sent", async (model) => {
    const answer = await post(CHAT, { body: lone.replace("MODEL", model) });
    expect(answer.status).toBe(200);
    expect(gateway.simulator.calls().at(-1)?.bodyText).toContain(String.raw`a\ud800b\udc00`);
    expect(at(answer.json, "choices.0.message.content")).toBe("You said: a\ud800b\udc00");
  });

  test("a null field counts as absent when the request is translated", async () => {
    const names = ["stream", "temperature", "top_p", "stop", "tools", "tool_choice", "n", "user"];
    const nulls = Object.fromEntries([...names, "provider"].map((name) => [name, null]));
    expect((await post(CHAT, { body: { ...chatBody("test/b"), ...nulls } })).status).toBe(200);
  });

  test("a body without an output bound is served, and 4096 is written into it", async () => {
    const body = { ...good[MESSAGES], max_tokens: undefined };
    expect((await post(MESSAGES, { body })).status).toBe(200);
    expect(gateway.simulator.calls().at(-1)?.body).toMatchObject({ max_tokens: 4096 });
    const renamed = { ...body, max_completion_tokens: 7 };
    expect((await post(MESSAGES, { body: renamed })).status).toBe(200);
    expect(gateway.simulator.calls().at(-1)?.body).toMatchObject({ max_tokens: 7 });
  });

  test("unprintable field names are dropped and named safely", async () => {
    const odd = { "x\r\nx-injected: 1": 1, "ünïcode🙂": 2, "a,b": 3, "": 4 };
    const many = Object.fromEntries(Array.from({ length: 900 }, (_item, n) => [`field_${n}`, n]));
    for (const more of [odd, many]) {
      const answer = await post(CHAT, { body: { ...chatBody("test/b"), ...more } });
      expect(answer.status).toBe(200);
      expect(answer.headers).not.toHaveProperty("x-injected");
      const dropped = String(answer.headers["x-tm-dropped-params"]);
      expect(dropped).toMatch(/^[\x21-\x7e]+$/);
      expect(dropped.length).toBeLessThanOrEqual(2_048);
    }
  });

  test("any anthropic-version header and ?beta=true are accepted, and neither is passed on", async () => {
    const call = { body: good[MESSAGES], headers: { "anthropic-version": "1999-01-01" } };
    const answer = await postWithKey({ gateway, account, path: `${MESSAGES}?beta=true` }, call);
    expect(answer).toMatchObject({ status: 200 });
    const sent = gateway.simulator.calls().at(-1);
    expect(sent).toMatchObject({ query: "", headers: { "anthropic-version": "2023-06-01" } });
  });
});
