import { describe, expect, test } from "vitest";
import type { WireId } from "../../../catalog/catalog.ts";
import { parseDecisionRequest } from "../../modality/decisions/parse-request.ts";
import {
  buildBody,
  readBad,
  readBody,
  readGood,
} from "../../../../test/fixtures/modality/request-kit.ts";
import { parseImageRequest } from "../../modality/images/parse-request.ts";
import { parseVideoRequest } from "../../modality/videos/parse-request.ts";

const wires: readonly WireId[] = ["wire_a", "wire_b"];

describe.each(wires)("the keys of a %s body", (wire) => {
  test.each([
    ["Max_Tokens", "max_tokens"],
    ["MODEL", "model"],
    ["max_to\u212Aens", "max_tokens"],
    ["\uFF4Dodel", "model"],
    ["\u017Ftream", "stream"],
  ])("%j at the top level is refused as a spelling of %s", (key, meant) => {
    const body = buildBody({ [key]: 1 });
    const refused = readBad(wire, body);
    expect(refused).toMatchObject({ class: "invalid_request", status: 400 });
    expect(refused.message).toBe(`${key} is not accepted: write it exactly as ${meant}`);
  });

  const part = { type: "text", text: "x", Type: "image" };
  test.each([
    ["messages", [{ role: "user", content: "x", Content: "y" }], /Content is not accepted/],
    ["messages", [{ role: "user", content: [part] }], /Type is not accepted/],
    ["cache_control", { type: "ephemeral", TTL: "1h" }, /cache_control\.TTL is not accepted/],
  ])("with another letter case inside %s are refused: %j", (field, value, message) => {
    expect(readBad(wire, buildBody({ [field]: value })).message).toMatch(message);
  });

  test("cannot be duplicated in a cache mark", () => {
    const twice = '"cache_control":{"ttl":"5m","ttl":"1h"}';
    const text = buildBody({ cache_control: 0 }).replace('"cache_control":0', twice);
    expect(readBad(wire, text).message).toMatch(/^cache_control\.ttl is duplicated/);
  });
});

test("a key of stream_options in another letter case is refused with its exact spelling", () => {
  const refused = readBad("wire_a", buildBody({ stream_options: { INCLUDE_USAGE: false } }));
  const sentence = "is not accepted: write it exactly as include_usage";
  expect(refused.message).toBe(`stream_options.INCLUDE_USAGE ${sentence}`);
});

describe("credentials and destinations at any depth", () => {
  const nested = (depth: number, innermost: unknown): unknown =>
    Array.from({ length: depth }).reduce((inner: unknown) => ({ a: [inner] }), innermost);
  type Members = Readonly<Record<string, unknown>>;
  const bytesOf = (members: Members): Buffer =>
    Buffer.from(JSON.stringify({ model: "m", ...members }));
  const asked = { state: "s", questions: { q: { question: "?" } } };
  const routes: Readonly<Record<string, (members: Members) => unknown>> = {
    "wire_a chat": (members) => readBody("wire_a", buildBody(members)),
    "wire_b chat": (members) => readBody("wire_b", buildBody(members)),
    images: (members) => parseImageRequest(bytesOf({ prompt: "p", ...members })),
    videos: (members) => parseVideoRequest(bytesOf({ prompt: "p", ...members })),
    decisions: (members) => parseDecisionRequest(bytesOf({ ...asked, ...members })),
  };

  describe.each(Object.entries(routes))("on the route of %s", (_route, read) => {
    test.each([
      ["metadata.a.API Key", { metadata: { a: { "API Key": "k" } } }],
      ["metadata.a\uFF50i-key", { metadata: { "a\uFF50i-key": "k" } }],
      ["azure_endpoint", { azure_endpoint: "x" }],
      ["awsSecretAccessKey", { awsSecretAccessKey: "x" }],
    ])("%s is refused with its path", (path, members) => {
      const words = `${path} is not accepted: a request cannot carry credentials or a destination`;
      const message: unknown = expect.stringContaining(words);
      const refusal = { class: "invalid_request", status: 400, message };
      expect(read(members)).toMatchObject({ ok: false, refusal });
    });

    test("are refused at up to 25 levels of nesting", () => {
      for (const depth of [1, 4, 5, 6, 12, 25]) {
        const found = read({ metadata: nested(depth, { connection_id: 1 }) });
        expect(JSON.stringify(found)).toContain("connection_id is not accepted");
      }
    });
  });

  test("cannot be hidden among many values: a body with too many is refused", () => {
    const values = Array.from({ length: 250_000 }, () => 0);
    for (const [route, name] of [
      ["wire_a chat", "metadata"],
      ["decisions", "metadata"],
      ["decisions", "state"],
    ] as const) {
      const message: unknown = expect.stringContaining("too many values");
      const read = routes[route]?.({ [name]: nested(7, values) });
      expect(read).toMatchObject({ ok: false, refusal: { status: 400, message } });
    }
  });

  test.each([
    ["extra_body.api_key", { extra_body: { api_key: "k" } }],
    ["plugins.0.proxy", { plugins: [{ proxy: "x" }] }],
    ["tools.0.apiKey", { tools: [{ type: "web_search", name: "web_search", apiKey: "k" }] }],
  ])("%s is refused in a chat", (path, members) => {
    for (const wire of wires) {
      const { message } = readBad(wire, buildBody(members));
      expect(message.replaceAll(/\[(\d+)\]/g, ".$1")).toContain(`${path} is not accepted`);
    }
  });

  test("are searched in objects with up to 1,000 non-ASCII names, and an object with more is refused", () => {
    const names = (count: number): object =>
      Object.fromEntries(Array.from({ length: count }, (_each, at) => [`\u212A${at}`, 1]));
    for (const wire of wires) {
      readGood(wire, { metadata: { a: names(1_000) } });
      const { message } = readBad(wire, { metadata: { a: names(1_001) } });
      expect(message).toContain("metadata.a has more than 1000 names in other letters");
    }
  });

  test("are allowed as names in messages, schemas, call arguments and the state of a decision", () => {
    const schema = { type: "object", properties: { api_key: { type: "string" } } };
    const input = { api_key: "k", base_url: "u" };
    const fn = { name: "f", parameters: schema };
    readGood("wire_a", {
      tools: [{ type: "function", function: fn }],
      functions: [fn],
      response_format: { type: "json_schema", json_schema: { name: "n", schema } },
      guided_json: schema,
      json_schema: schema,
      nvext: { guided_json: schema },
      extra_body: { guided_json: schema, google: { response_schema: schema } },
      metadata: { organization: "acme", host: "h", token: "t", url: "u" },
    });
    readGood("wire_b", {
      tools: [{ name: "f", input_schema: schema, input_examples: [input] }],
      output_config: { format: { type: "json_schema", schema } },
      messages: [
        { role: "user", content: "api_key" },
        { role: "assistant", content: [{ type: "tool_use", id: "t", name: "f", input }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "x" }] },
      ],
    });
    const state = { api_key: "k", nested: { base_url: "u" } };
    expect(JSON.stringify(routes["decisions"]?.({ state }))).not.toContain("credentials");
  });
});
