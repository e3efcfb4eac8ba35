import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../../test/support/depth.ts";
import { MEDIA_PART_TOKENS, OUTPUT_TOKENS_DEFAULT } from "../../../kernel/core/constants.ts";
import { JSON_KEYS_MAX, JSON_VALUES_MAX } from "../../../kernel/json/json-limits.ts";
import {
  buildBody,
  buildDeployment,
  chatFor,
  marketModel,
  readBad,
  readBody,
  readGood,
  result,
  send,
  type KnownWire,
} from "../../../../test/fixtures/modality/request-kit.ts";

const wires: readonly KnownWire[] = ["wire_a", "wire_b"];
/** The beginning of a body that is accepted. */
const START = '{"model":"m","messages":[{"role":"user","content":"x"}]';

describe.each(wires)("reading a %s body", (wire) => {
  test("reads the facts for routing and billing, and a token for each UTF-8 byte, from the bytes", () => {
    const messages = [{ role: "user", content: "é😀" }];
    const text = buildBody({ stream: true, max_tokens: 100, temperature: 0.5, messages });
    const request = readGood(wire, text);
    expect(request).toMatchObject({
      wire: { id: wire },
      modelId: marketModel,
      stream: true,
      outputTokens: 100,
      temperature: 0.5,
      mediaParts: [],
      estimatedInputTokens: Buffer.byteLength(text),
      controls: { allowFallbacks: true, requireParameters: false, connections: "prefer" },
      droppedParams: [],
    });
    expect(request.body.toString()).toBe(text);
  });

  test("uses the defaults for absent and null fields", () => {
    const empty = { stream: null, max_tokens: null, temperature: null, provider: null, n: null };
    for (const members of [{}, empty]) {
      const request = readGood(wire, members);
      expect(request).toMatchObject({ stream: false, outputTokens: OUTPUT_TOKENS_DEFAULT });
      expect(request).not.toHaveProperty("temperature");
    }
  });

  test.each([
    ["", "the body is not valid JSON at byte 0"],
    ["[]", "the body must be one JSON object"],
    [`{"a":${"[".repeat(100)}`, "the body is nested deeper than 64 levels at byte 68"],
    [`${START},"metadata":{"a":{"__proto__":1}}}`, "metadata.a.__proto__"],
    [buildBody({ constructor: 1 }), "constructor is not accepted as a field name"],
  ])("%.60s is refused: %s", (body, message) => {
    const refused = readBad(wire, body);
    expect(refused).toMatchObject({ class: "invalid_request", status: 400 });
    expect(refused.message).toContain(message);
    expect(refused.origin).toBeUndefined();
  });

  test("accepts the keys constructor and prototype in schemas and call arguments, but not __proto__", () => {
    const names = '{"constructor":{"type":"string"},"a":{"prototype":{}}}';
    const schema = `{"type":"object","properties":${names}}`;
    const call = `{"type":"tool_use","id":"t","name":"f","input":${names}}`;
    const taken = {
      wire_a: [
        `${START},"tools":[{"type":"function","function":{"name":"f","parameters":${schema}}}]}`,
        `${START},"functions":[{"name":"f","parameters":${schema}}]}`,
        `${START},"response_format":{"type":"json_schema","json_schema":{"schema":${schema}}}}`,
      ],
      wire_b: [
        `${START},"tools":[{"name":"f","input_schema":${schema}}]}`,
        `${START},"tools":[{"name":"f","input_schema":{},"input_examples":[${names}]}]}`,
        `${START},"output_config":{"format":{"type":"json_schema","schema":${schema}}}}`,
        `{"model":"m","messages":[{"role":"assistant","content":[${call}]}]}`,
      ],
    };
    for (const body of taken[wire]) {
      expect(readGood(wire, body)).toHaveProperty("modelId");
      const polluting = body.replace('"constructor"', '"__proto__"');
      const { message } = readBad(wire, polluting);
      expect(message).toContain("__proto__ is not accepted as a field name");
    }
  });

  test.each([
    ['"metadata":{"input":{"constructor":1}}', "metadata.input.constructor"],
    ['"tools":[{"type":"function","function":{"constructor":1}}]', "function.constructor"],
    ['"x":{"tools":[{"input_schema":{"prototype":1}}]}', "x.tools.0.input_schema.prototype"],
    ['"tools":[[{"input_schema":{"constructor":1}}]]', "tools.0.0.input_schema.constructor"],
  ])("%s is refused: its key is outside a schema or call arguments", (members, path) => {
    expect(readBad(wire, `${START},${members}}`).message).toContain(path);
  });

  test.each([
    ["keys", JSON_KEYS_MAX, (at: number) => `{"k${at}":1}`],
    ["values", JSON_VALUES_MAX, () => "1"],
  ] as const)("a body with more than the maximum number of %s is refused", (what, most, item) => {
    const items = Array.from({ length: most }, (_, at) => item(at)).join();
    const refused = readBad(wire, `${START},"x":[${items}]}`);
    expect(refused).toMatchObject({ class: "invalid_request", status: 400 });
    expect(refused.message).toContain(`the body has more than ${most} ${what}`);
  });

  const typedTwice = '[{"type":"text","text":"x","type":"image"}]';
  test.each([
    [`${START},"mod\\u0065l":"b"}`, /^model is duplicated/],
    [`${START},"x":1,"y":2,"x":3}`, /^x is duplicated/],
    [`${START},"provider":{"only":["a"],"only":[]}}`, /^provider.only is duplicated/],
    [START.replace("}]", ',"content":"y"}]}'), /^messages(\[0\]|\.0)\.content is duplicated/],
    [START.replace('"x"', typedTwice) + "}", /type is duplicated/],
  ])("refuses a duplicate key with its path, even if one is escaped: %s", (body, words) => {
    expect(readBad(wire, body).message).toMatch(words);
  });

  test.each([
    ["model", undefined], ["model", ""], ["model", 7], ["model", null],
    ["messages", undefined], ["messages", []], ["messages", "hi"], ["messages", {}], ["messages", null],
    ["messages", ["hi"]], ["messages", [{ content: "x" }]], ["messages", [{ role: "user" }]],
    ["messages", [{ role: 1, content: "x" }]], ["messages", [{ role: "robot", content: "x" }]],
    ["messages", [{ role: "user", content: 5 }]], ["messages", [{ role: "user", content: null }]],
    ["messages", [{ role: "user", content: [5] }]], ["messages", [{ role: "user", content: [{}] }]],
    ["messages", [{ role: "user", content: [{ type: 1 }] }]],
    ["messages", [{ role: "user", content: [{ type: "text" }] }]],
    ["messages", [{ role: "user", content: [{ type: "text", text: 1 }] }]],
    ["stream", "true"], ["stream", 1], ["max_tokens", "5"], ["max_tokens", 1.5], ["max_tokens", {}],
    ["max_completion_tokens", true], ["temperature", "1"], ["temperature", -0.1], ["temperature", 2.1],
    ["top_p", "x"], ["top_k", []], ["n", 2], ["n", 0], ["n", "1"], ["response_format", "json"],
    ["thinking", true], ["service_tier", 1], ["metadata", "x"], ["tools", {}], ["tools", ["x"]],
    ["tool_choice", 3], ["provider", "acme"], ["provider", []],
  ] as const)("%s %j is refused, and the message names the field", (field, value) => {
    const refused = readBad(wire, { [field]: value });
    expect(refused).toMatchObject({ class: "invalid_request", status: 400 });
    expect(refused.message.startsWith(field)).toBe(true);
  }); // prettier-ignore

  test.each([
    [{ max_tokens: 0 }],
    [{ max_tokens: 32_769 }],
    [{ max_completion_tokens: 0 }],
    [{ max_tokens: 5, max_completion_tokens: 6 }],
  ])("refuses the output bound %j as a gateway_error of the kind output_bound", (members) => {
    const refused = { class: "gateway_error", status: 400, retryable: false };
    const limit = { kind: "output_bound" };
    expect(readBad(wire, members)).toMatchObject({ ...refused, limit });
  });

  test("accepts output bounds of 1 and of 32,768 tokens, and two equal bounds", () => {
    for (const tokens of [1, 32_768]) {
      expect(readGood(wire, { max_tokens: tokens }).outputTokens).toBe(tokens);
      expect(readGood(wire, { max_completion_tokens: tokens }).outputTokens).toBe(tokens);
    }
    expect(readGood(wire, { max_tokens: 9, max_completion_tokens: 9 }).outputTokens).toBe(9);
  });

  test.each([
    "api_key", "apiKey", "base_url", "baseURL", "connection_id", "api_base", "organization",
    "authorization", "headers", "extra_headers", "endpoint", "url", "token", "credentials",
  ])("%s is refused at the top and inside provider", (name) => {
    for (const value of ["x", null]) {
      expect(readBad(wire, { [name]: value }).message).toContain(`${name} is not accepted`);
      const inside = readBad(wire, { provider: { [name]: value } });
      expect(inside.message).toContain(`provider.${name} is not accepted`);
      const deeper = readBad(wire, { provider: { upstream: { [name]: value } } });
      expect(deeper.message).toContain(`provider.upstream.${name} is not accepted`);
    }
  }); // prettier-ignore

  test("reads the provider controls", () => {
    const upstream = { only: ["x"], allow_fallbacks: false };
    const provider = {
      only: ["a"], ignore: ["b"], order: [], allow_fallbacks: false, require_parameters: true,
      upstream, connections: "never",
    }; // prettier-ignore
    expect(readGood(wire, { provider }).controls).toEqual({
      only: ["a"], ignore: ["b"], order: [], allowFallbacks: false, requireParameters: true,
      upstream, connections: "never",
    }); // prettier-ignore
  });

  test.each([
    [{ sort: "price" }, "provider.sort"],
    [{ model: "x" }, "provider.model"],
    [{ only: "a" }, "provider.only"],
    [{ allow_fallbacks: "no" }, "provider.allow_fallbacks"],
    [{ connections: "always" }, "provider.connections"],
    [{ upstream: { sort: "price" } }, "provider.upstream.sort"],
  ])("the provider control %j is refused with its path", (provider, field) => {
    expect(readBad(wire, { provider }).message.startsWith(field)).toBe(true);
  });

  test("drops routing fields of other gateways and reports them as dropped", () => {
    const members = { route: "fallback", models: ["a"], transforms: [] };
    expect(readGood(wire, members).droppedParams).toEqual(["route", "models", "transforms"]);
  });

  test("accepts any JSON body or refuses it with a sentence", () => {
    const value = fc.jsonValue({ maxDepth: 5 });
    const known = fc.constantFrom(
      "model", "messages", "stream", "max_tokens", "tools", "tool_choice", "stop", "system",
      "provider", "metadata", "thinking", "output_config", "stream_options", "stop_sequences",
    ); // prettier-ignore
    const leaf = fc.oneof(value, fc.constantFrom("user", "text", "tool_use", "function", "auto"));
    const key = fc.constantFrom(
      "role", "content", "type", "text", "id", "name", "function", "source", "input", "data",
      "tool_calls", "image_url", "tool_use_id", "url", "allowed_tools",
    ); // prettier-ignore
    const part = fc.dictionary(key, leaf, { maxKeys: 5 });
    const nested = fc.dictionary(key, fc.oneof(leaf, part, fc.array(part, { maxLength: 3 })));
    const field = fc.oneof(value, nested, fc.array(nested, { maxLength: 3 }));
    fc.assert(
      fc.property(fc.dictionary(known, field), fc.boolean(), (members, onTop) => {
        const body = onTop ? buildBody(members) : JSON.stringify(members);
        const read = readBody(wire, body);
        const said = read.ok ? read.request.decoded().needs.refused : [read.refusal];
        expect(said.every(({ message }) => message.length > 10)).toBe(true);
      }),
      { numRuns: runs(1500) },
    );
  });
});

const picture = "iVBORw0KGgo=".repeat(50);

describe("media parts", () => {
  test("are found on wire_a, with place and kind", () => {
    const url = `data:image/png;base64,${picture}`;
    const content = [
      { type: "text", text: "x" },
      { type: "image_url", image_url: { url } },
      { type: "image_url", image_url: { url: "https://a.test/i.png" } },
      { type: "input_audio", input_audio: { data: "AA==", format: "wav" } },
      { type: "file", file: { file_id: "f" } },
      { type: "video_url", video_url: { url: "https://a.test/v.mp4" } },
      { type: "hologram", hologram: {} },
    ];
    const system = { role: "system", content: "s" };
    const text = buildBody({ messages: [system, { role: "user", content }] });
    const request = readGood("wire_a", text);
    expect(request.mediaParts).toEqual([
      { path: "messages[1].content[1]", kind: "image" },
      { path: "messages[1].content[2]", kind: "image" },
      { path: "messages[1].content[3]", kind: "audio" },
      { path: "messages[1].content[4]", kind: "file" },
      { path: "messages[1].content[5]", kind: "video" },
    ]);
    // An inline image counts as its allowance and not as its bytes. A video that has only a URL
    // adds the same allowance.
    const bytes = text.length - picture.length;
    expect(request.estimatedInputTokens).toBe(bytes + 4 * MEDIA_PART_TOKENS);
  });

  test.each([
    ["audio", { type: "image_url", image_url: { url: "data:audio/mp3;base64,AA==" } }],
    ["video", { type: "image_url", image_url: { url: "DATA:Video/mp4;base64,AA==" } }],
    ["audio", { type: "file", file: { filename: "a.mp3", file_data: "data:audio/mp3;base64,AA==" } }],
    ["video", { type: "audio_url", audio_url: "data:video/mp4;base64,AA==" }],
    ["file", { type: "file", file: { file_data: "data:application/pdf;base64,AA==" } }],
    ["image", { type: "image_url", image_url: { url: "https://a.test/data:audio/mp3" } }],
  ])("are %s on wire_a if their data URL says so, for that is what providers charge: %j", (kind, part) => {
    const text = buildBody({ messages: [{ role: "user", content: [part] }] });
    const escaped = text.replaceAll("/", "\\/").replaceAll("data:", String.raw`\u0064ata:`);
    for (const body of [text, escaped]) {
      const path = "messages[0].content[0]";
      expect(readGood("wire_a", body).mediaParts).toEqual([{ path, kind }]);
    }
  }); // prettier-ignore

  test("are found on wire_b in messages, tool results and documents", () => {
    const source = { type: "base64", media_type: "image/png", data: picture };
    const image = { type: "image", source };
    const document = { type: "document", source: { type: "content", content: [image] } };
    const content = [
      { type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: "x" }, image] },
      document,
      { type: "image", source: { type: "url", url: "https://a.test/i.png" } },
      { type: "tool_result", tool_use_id: "t", content: [document] },
    ];
    const text = buildBody({ messages: [{ role: "user", content }] });
    const request = readGood("wire_b", text);
    expect(request.mediaParts).toEqual([
      { path: "messages.0.content.0.content.1", kind: "image" },
      { path: "messages.0.content.1", kind: "file" },
      { path: "messages.0.content.1.source.content.0", kind: "image" },
      { path: "messages.0.content.2", kind: "image" },
      { path: "messages.0.content.3.content.0", kind: "file" },
      { path: "messages.0.content.3.content.0.source.content.0", kind: "image" },
    ]);
    const bytes = text.length - 3 * picture.length;
    expect(request.estimatedInputTokens).toBe(bytes + 6 * MEDIA_PART_TOKENS);
  });

  test("are found on wire_b in a block whose content is one block and no list, with its allowance", () => {
    const source = { type: "url", url: "https://a.test/big.pdf" };
    const fetched = {
      type: "web_fetch_result",
      url: source.url,
      content: { type: "document", source },
    };
    const block = { type: "web_fetch_tool_result", tool_use_id: "s", content: fetched };
    const text = buildBody({ messages: [{ role: "assistant", content: [block] }] });
    const request = readGood("wire_b", text);
    const path = "messages.0.content.0.content.content";
    expect(request.mediaParts).toEqual([{ path, kind: "file" }]);
    expect(request.estimatedInputTokens).toBe(text.length + MEDIA_PART_TOKENS);
  });
});

describe("the content of wire_b blocks that the gateway does not know", () => {
  const document = (source: object) => ({ type: "document", source });
  const stored = document({ type: "file", file_id: "file_1" });
  const cited = { type: "cited", content: [{ type: "text", text: "x", cache_control: "MARK" }] };
  const say = (block: object) => ({ messages: [{ role: "user", content: [block] }] });

  test.each([
    ["one block", { type: "fetched", content: stored }, "content.source.type is file"],
    ["one block in one block", { type: "a", content: { type: "b", content: stored } }, "content.content.source.type is file"],
    ["a list", { type: "search_result", source: "s", content: [stored] }, "content.0.source.type is file"],
    ["a list in a tool result", result("t", { content: [{ type: "a", content: [stored] }] }), "content.0.content.0.source.type is file"],
  ])("%s, cannot be a stored file", (_name, block, message) => {
    const refused = readBad("wire_b", say(block));
    expect(refused.message).toContain(`messages.0.content.0.${message}`);
  }); // prettier-ignore

  test.each([
    ["a mark's ttl", "ttl", cited, '"MARK"', '{"ttl":"5m","ttl":"1h"}'],
    ["a block's type", "type", { type: "a", content: { type: "cited" } }, '"cited"', '"cited","type":"document"'],
  ])("cannot duplicate %s, of which the provider might read the other", (_name, key, block, once, twice) => {
    const text = buildBody(say(block));
    expect(readBad("wire_b", text.replace(once, twice)).message).toContain(`${key} is duplicated`);
  }); // prettier-ignore

  test.each([
    ["a text", "x"],
    ["null", null],
    ["a list without types", ["x", 1, { title: "t" }, [stored]]],
    ["one value without a type", { title: "t" }],
  ])("is passed on if it is %s", (_name, content) => {
    const request = readGood("wire_b", say({ type: "unknown_result", content }));
    expect(request.mediaParts).toEqual([]);
  });
});

describe("known fields of one wire", () => {
  test.each([
    ["stream_options", true], ["stream_options", { include_usage: "yes" }], ["stop", 5], ["stop", [5]],
    ["parallel_tool_calls", "no"], ["user", {}], ["safety_identifier", 1], ["store", "x"], ["seed", 0.5],
    ["logprobs", 1], ["top_logprobs", "2"], ["logit_bias", []], ["frequency_penalty", "x"],
    ["presence_penalty", {}], ["verbosity", 1], ["prediction", "x"], ["prompt_cache_key", 1],
    ["reasoning_effort", 1], ["reasoning", "high"], ["modalities", "text"], ["modalities", [1]],
    ["audio", "x"], ["web_search_options", true], ["functions", {}], ["function_call", 1],
    ["tools", [{}]], ["tools", [{ type: "function" }]], ["tools", [{ type: "function", function: {} }]],
    ["tools", [{ type: "function", function: { name: "f", parameters: "x" } }]],
    ["tool_choice", {}], ["tool_choice", { type: "function", function: {} }],
    ["messages", [{ role: "tool", content: "x" }]],
    ["messages", [{ role: "assistant", content: 1 }]],
    ["messages", [{ role: "assistant", tool_calls: {} }]],
    ["messages", [{ role: "assistant", tool_calls: [{ id: "x", function: { name: 1 } }] }]],
    ["messages", [{ role: "assistant", tool_calls: [{ id: 1 }] }]],
    ["messages", [{ role: "assistant", tool_calls: [{ id: "x", function: { name: "f", arguments: {} } }] }]],
    ["messages", [{ role: "user", content: [{ type: "image_url", image_url: "https://x" }] }]],
    ["messages", [{ role: "user", content: "x", name: 1 }]],
  ] as const)("wire_a %s %j is refused, and the message names the field", (field, value) => {
    expect(readBad("wire_a", { [field]: value }).message.startsWith(field)).toBe(true);
  }); // prettier-ignore

  test.each([
    ["system", 5], ["system", [{ type: "text" }]], ["stop_sequences", "x"], ["stop_sequences", [1]],
    ["tools", [{ name: 1 }]], ["tools", [{ name: "f", input_schema: [] }]], ["tool_choice", "auto"],
    ["tool_choice", {}], ["tool_choice", { type: "auto", disable_parallel_tool_use: "x" }],
    ["metadata", { user_id: 1 }], ["thinking", {}], ["output_config", "x"], ["mcp_servers", {}],
    ["output_config", { format: "json" }], ["container", 1], ["inference_geo", 1],
    ["messages", [{ role: "user", content: [{ type: "tool_result", content: "x" }] }]],
    ["messages", [{ role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: 5 }] }]],
    ["messages", [{ role: "assistant", content: [{ type: "tool_use", id: "t", name: "f" }] }]],
    ["messages", [{ role: "assistant", content: [{ type: "tool_use", id: "t", name: "f", input: "{}" }] }]],
    ["messages", [{ role: "user", content: [{ type: "image" }] }]],
    ["messages", [{ role: "user", content: [{ type: "image", source: "x" }] }]],
    ["messages", [{ role: "assistant", content: [{ type: "thinking", thinking: 1 }] }]],
  ] as const)("wire_b %s %j is refused, and the message names the field", (field, value) => {
    expect(readBad("wire_b", { [field]: value }).message.startsWith(field)).toBe(true);
  }); // prettier-ignore

  test("the path of a wrong value has brackets on wire_a and dots on wire_b", () => {
    const messages = [{ role: "user", content: [{ type: "text", text: 1 }] }];
    const said = wires.map((wire) => readBad(wire, { messages }).message);
    const words = "text must be a string";
    expect(said).toEqual([`messages[0].content[0].${words}`, `messages.0.content.0.${words}`]);
  });
});

describe("the token estimate of a media part", () => {
  const url = "https://a.test/long";
  const textUrl = { url: `data:text/plain;base64,${picture}` };
  const pdf = { type: "base64", media_type: "application/pdf", data: picture };
  const sound = { type: "base64", data: "A" };
  test.each<[string, KnownWire, object, number]>([
    ["a data URL that is not an image", "wire_a", { type: "image_url", image_url: textUrl }, 1],
    ["an inline document", "wire_b", { type: "document", source: pdf }, 1],
    ["audio_url as a string", "wire_a", { type: "audio_url", audio_url: url }, 1],
    ["input_video", "wire_a", { type: "input_video", input_video: { url } }, 1],
    ["a video without data or URL", "wire_a", { type: "video" }, 1],
    ["a video with data and a URL", "wire_a", { type: "video", video: { data: "AA==", url } }, 1],
    ["a data URL", "wire_a", { type: "video_url", video_url: { url: "data:v;base64,AA" } }, 0],
    ["input_audio", "wire_a", { type: "input_audio", input_audio: { data: "AA==" } }, 0],
    ["audio in base64", "wire_b", { type: "audio", source: sound }, 0],
  ])("%s on %s, %j, adds %i media allowances to all bytes", (_name, wire, part, allowances) => {
    const text = buildBody({ messages: [{ role: "user", content: [part] }] });
    const { estimatedInputTokens } = readGood(wire, text);
    expect(estimatedInputTokens).toBe(text.length + allowances * MEDIA_PART_TOKENS);
  });
});

test("the refusal of a max_tokens above 32,768 names the client setting maxOutputTokens", () => {
  const { message } = readBad("wire_b", { max_tokens: 64_000 });
  expect(message).toMatch(/max_tokens must be from 1 to 32768.*maxOutputTokens/s);
});

/** How a request with these tools ends on each wire: refused, not servable, or sent as this text. */
function judge(members: Readonly<Record<string, unknown>>): readonly unknown[] {
  return wires.map((wire) => {
    const read = readBody(wire, buildBody(members));
    if (!read.ok) return read.refusal.message;
    return wires.map((to) => {
      const target = buildDeployment(to);
      const problem = chatFor(read.request).servabilityProblem(read.request, target);
      return problem ?? send(read.request, target);
    });
  });
}

describe("the same tools in request after request", () => {
  const inner = { name: "look", description: "x".repeat(5_000), parameters: { type: "object" } };
  const look = { ...inner, type: "function", function: inner };
  const odd = (count: number): object =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`é${at}`, [{ proxyless: at }]]));
  const hour = { type: "ephemeral", ttl: "1h" };

  test.each<[string, Readonly<Record<string, unknown>>]>([
    ["good tools", { tools: [look] }],
    ["a tool that is no object", { tools: [look, 1] }],
    ["a tool that only one wire accepts", { tools: [look, { type: "other", name: "" }] }],
    ["a credential", { tools: [look, { ...look, more: { api_key: "k", padding: "p" } }] }],
    ["a credential beside them", { tools: [look], metadata: { more: { api_key: "k", a: "b" } } }],
    ["too many odd names together", { tools: [look, odd(600)], metadata: { more: odd(600) } }],
    ["a tool that the provider runs", { tools: [look, { type: "web_search_9", name: "w" }] }],
    ["a cache mark for an hour", { tools: [{ ...look, cache_control: hour }] }],
    ["a later field of the wrong type", { tools: [look], temperature: "warm" }],
  ])("are judged each time as the first time: %s", (name, members) => {
    // The name makes the bytes new, so that the first time is judged without any memory.
    const tools = [{ ...look, description: name }, ...(members["tools"] as readonly unknown[])];
    const first = judge({ ...members, tools });
    for (let times = 0; times < 4; times += 1) expect(judge({ ...members, tools })).toEqual(first);
  });
});
