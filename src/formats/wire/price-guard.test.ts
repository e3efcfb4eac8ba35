import { describe, expect, test } from "vitest";
import type { CapabilityDescriptor, Deployment, WireId } from "../../catalog/catalog.ts";
import { ownKeyDeployment } from "../../catalog/deployment-copy.ts";
import type { OrgId } from "../../kernel/core/ids.ts";
import type { ParsedChatRequest } from "../modality/chat/parse-request.ts";
import {
  buildBody,
  chatFor,
  buildDeployment,
  otherWire,
  readGood,
  send,
} from "../../../test/fixtures/modality/request-kit.ts";
import type { UpstreamRequest } from "./modality.ts";

const wires: readonly WireId[] = ["wire_a", "wire_b"];
type Members = Readonly<Record<string, unknown>>;

type Parameters = Readonly<Record<string, CapabilityDescriptor>>;

function declaring(wire: WireId, parameters: Parameters): Deployment {
  return buildDeployment(wire, { supportedParameters: new Map(Object.entries(parameters)) });
}

function problemOf(wire: WireId, members: Members, deployment: Deployment): string | undefined {
  const request = readGood(wire, members);
  return chatFor(request).servabilityProblem(request, deployment)?.field;
}

const boolean: CapabilityDescriptor = { type: "boolean" };
const unknown: CapabilityDescriptor = { type: "unknown" };
const hour = { type: "ephemeral", ttl: "1h" };

describe.each(wires)("a %s request that would raise the provider's price", (wire) => {
  test.each<[string, Members]>([
    ["service_tier", { service_tier: "priority" }],
    ["speed", { speed: "fast" }],
  ])("is sent without %s, which is reported as dropped, on both wires", (name, members) => {
    for (const to of [wire, otherWire(wire)]) {
      const sent = send(readGood(wire, members), buildDeployment(to));
      expect(sent.body).not.toHaveProperty(name);
      expect(sent.dropped).toContain(name);
    }
  });

  test.each<[string, Members]>([
    ["web_search_options", { web_search_options: {} }],
    ["search_parameters", { search_parameters: { mode: "on" } }],
    ["enable_search", { enable_search: true }],
    ["search_options", { search_options: { forced_search: true } }],
    ["plugins", { plugins: [{ id: "web" }] }],
    ["audio", { audio: { voice: "alloy", format: "wav" } }],
    ["modalities", { modalities: ["text", "audio"] }],
    ["mcp_servers", { mcp_servers: [{ type: "url" }] }],
    ["container", { container: "c" }],
    ["compaction", { compaction: { type: "summarize" } }],
    ["inference_geo", { inference_geo: "eu" }],
    ["fallbacks", { fallbacks: ["x"] }],
  ])("is refused for %s on both wires unless the listing declares it", (field, members) => {
    for (const to of [wire, otherWire(wire)]) {
      expect(problemOf(wire, members, buildDeployment(to))).toBe(field);
    }
    expect(problemOf(wire, members, declaring(wire, { [field]: unknown }))).toBeUndefined();
  });

  test("is served, and loses no field, if its priced fields are empty or have default values", () => {
    const empty = { mcp_servers: [], plugins: [], audio: null, speed: null, enable_search: false };
    const members = { ...empty, modalities: ["text"] };
    expect(problemOf(wire, members, buildDeployment(wire))).toBeUndefined();
    expect(send(readGood(wire, members), buildDeployment(wire)).dropped).toEqual([]);
  });

  test("is sent with a service tier that the listing declares, and without any other tier", () => {
    const listing = declaring(wire, {
      service_tier: { type: "enum", values: ["default", "flex"] },
      web_search_options: boolean,
    });
    const flex = send(readGood(wire, { service_tier: "flex" }), listing);
    expect(flex.body).toHaveProperty("service_tier", "flex");
    expect(flex.dropped).toEqual([]);
    const dearest = send(readGood(wire, { service_tier: "priority" }), listing);
    expect(dearest.body).not.toHaveProperty("service_tier");
    expect(dearest.dropped).toEqual(["service_tier"]);
  });

  test("excludes with require_parameters a deployment that would drop a field", () => {
    const members = { service_tier: "flex", provider: { require_parameters: true } };
    expect(problemOf(wire, members, buildDeployment(wire))).toBe("service_tier");
    const listing = declaring(wire, { service_tier: { type: "enum", values: ["flex"] } });
    expect(problemOf(wire, members, listing)).toBeUndefined();
  });

  test("is sent with cache marks of the default lifetime instead of one hour", () => {
    const marks = [hour, { ttl: "1h", type: "ephemeral" }, { type: "ephemeral", ttl: "5m" }];
    const content = marks.map((mark) => ({ type: "text", text: "a", cache_control: mark }));
    const members = { cache_control: hour, messages: [{ role: "user", content }] };
    const sent = send(readGood(wire, members), buildDeployment(wire));
    expect(sent.text).not.toContain('"1h"');
    expect(sent.text.match(/"type":"ephemeral"/g)).toHaveLength(4);
    expect(sent.text).toContain('"ttl":"5m"');
    expect(sent.dropped).toEqual(["cache_control.ttl"]);
  });

  test("is sent with OpenAI's cache marks of the default lifetime instead of twelve hours", () => {
    const marked = (ttl: string) => ({ mode: "explicit", ttl });
    const members = (ttl: string): Members => {
      const part = { type: "text", text: "a", prompt_cache_breakpoint: marked(ttl) };
      return { prompt_cache_options: marked(ttl), messages: [{ role: "user", content: [part] }] };
    };
    const sent = send(readGood(wire, members("12h")), buildDeployment(wire));
    expect(sent.text).not.toContain("12h");
    expect(sent.text.match(/"mode":"explicit"/g)).toHaveLength(2);
    expect(sent.dropped).toEqual(["prompt_cache_breakpoint.ttl", "prompt_cache_options.ttl"]);
    const usual = send(readGood(wire, members("30m")), buildDeployment(wire));
    expect(usual.text.match(/"30m"/g)).toHaveLength(2);
    expect(usual.dropped).toEqual([]);
    const across = send(readGood(wire, members("12h")), buildDeployment(otherWire(wire)));
    expect(across.text).not.toContain("12h");
  });
});

describe("a cache mark whose ttl is duplicated", () => {
  const part = (member: string): Members => ({
    messages: [{ role: "user", content: [{ type: "text", text: "a", [member]: "MARK" }] }],
  });
  const fn = { name: "f", cache_control: "MARK" };
  const untyped = { type: "a_result", content: [{ cache_control: "MARK" }] };

  test.each<[string, WireId, Members]>([
    ["prompt_cache_options", "wire_a", { prompt_cache_options: "MARK" }],
    ["prompt_cache_breakpoint", "wire_a", part("prompt_cache_breakpoint")],
    ["cache_control of a tool's function", "wire_a", { tools: [{ type: "function", function: fn }] }],
    ["cache_control without a type around it", "wire_b", { messages: [{ role: "user", content: [untyped] }] }],
  ])("is sent with neither if either is long: %s on %s", (place, wire, members) => {
    const usual = place.startsWith("prompt") ? "30m" : "5m";
    const long = place.startsWith("prompt") ? "12h" : "1h";
    const sendWith = (mark: string) =>
      send(readGood(wire, buildBody(members).replace('"MARK"', mark)), buildDeployment(wire));
    for (const [first, second] of [
      [usual, long],
      [long, usual],
    ]) {
      const sent = sendWith(`{"ttl":"${first}","mode":"explicit","ttl":"${second}"}`);
      expect(sent.text).not.toContain("ttl");
      expect(sent.dropped).toEqual([expect.stringMatching(/\.ttl$/)]);
    }
    expect(sendWith(`{"ttl":"${usual}","ttl":null}`).dropped).toEqual([]);
  }); // prettier-ignore
});

describe("a listing that prices cache writes of one hour", () => {
  const day = { type: "ephemeral", ttl: "24h" };
  const micro = 10n ** 6n;
  const unpriced = {
    pinId: "p",
    prompt: 3n * micro,
    cachedPrompt: micro,
    cacheWrite: 4n * micro,
    completion: 5n * micro,
    internalReasoning: 5n * micro,
  };
  const prices = { ...unpriced, cacheWrite1h: 7n * micro };
  const quote = (request: ParsedChatRequest, deployment: Deployment): bigint =>
    chatFor(request).quote(request, deployment);

  test("sends cache marks of one hour but not of a day, and quotes the prompt at the hour's price", () => {
    const listing = buildDeployment("wire_b", { prices });
    const usual = readGood("wire_b", { max_tokens: 1, cache_control: { type: "ephemeral" } });
    const asked = readGood("wire_b", { max_tokens: 1, cache_control: hour });
    const sent = send(asked, listing);
    expect(sent.body).toHaveProperty("cache_control", hour);
    expect(sent.dropped).toEqual([]);
    const strict = { cache_control: hour, provider: { require_parameters: true } };
    expect(problemOf("wire_b", strict, listing)).toBeUndefined();
    expect(quote(usual, listing)).toBe(BigInt(usual.estimatedInputTokens) * 4n + 5n);
    expect(quote(asked, listing)).toBe(BigInt(asked.estimatedInputTokens) * 7n + 5n);
    const system = [{ type: "text", text: "a", cache_control: day }];
    const mixed = send(readGood("wire_b", { cache_control: hour, system }), listing);
    expect(mixed.body).toHaveProperty("cache_control", hour);
    expect(mixed.text).not.toContain("24h");
    expect(mixed.dropped).toEqual(["cache_control.ttl"]);
  });

  test("sends a mark of five minutes and of one hour at the hour's price, and none with a third lifetime", () => {
    const listing = buildDeployment("wire_b", { prices });
    const read = (...ttls: readonly string[]): ParsedChatRequest => {
      const block = { type: "a_result", content: [{ cache_control: "MARK" }] };
      const body = buildBody({ max_tokens: 1, messages: [{ role: "user", content: [block] }] });
      const members = ttls.map((ttl) => `"ttl":"${ttl}"`).join(",");
      return readGood("wire_b", body.replace('"MARK"', `{${members}}`));
    };
    const asked = read("5m", "1h");
    expect(quote(asked, listing)).toBe(BigInt(asked.estimatedInputTokens) * 7n + 5n);
    expect(send(asked, listing).dropped).toEqual([]);
    const mixed = send(read("1h", "24h"), listing);
    expect(mixed.text).not.toContain("ttl");
    expect(mixed.dropped).toEqual(["cache_control.ttl"]);
  });

  test("asks for one-hour writes only if a one-hour cache mark is really sent", () => {
    const listing = buildDeployment("wire_b", { prices });
    const upstreamOf = (members: Members, deployment: Deployment): UpstreamRequest => {
      const request = readGood("wire_b", members);
      const encoded = chatFor(request).encode(request, deployment);
      if (!encoded.ok) throw new Error(encoded.refusal.message);
      return encoded.upstream;
    };
    const plain = buildDeployment("wire_b", { prices: unpriced });
    expect(upstreamOf({ cache_control: hour }, listing).asksHourWrites).toBe(true);
    for (const [members, deployment] of [
      [{ cache_control: { type: "ephemeral", ttl: "5m" } }, listing],
      [{ cache_control: day }, listing],
      [{ cache_control: hour }, plain],
      [{ cache_control: hour }, buildDeployment("wire_a", { prices })],
    ] as const) {
      expect(upstreamOf(members, deployment).asksHourWrites).toBeUndefined();
    }
  });

  test.each(wires)("on wire_a does not send or quote the one-hour marks of %s clients", (wire) => {
    const block = { type: "text", text: "a", cache_control: hour };
    const asked = readGood(wire, { messages: [{ role: "user", content: [block] }] });
    const listing = buildDeployment("wire_a", { prices });
    const plain = buildDeployment("wire_a", { prices: unpriced });
    expect(send(asked, listing).text).not.toContain("1h");
    expect(quote(asked, listing)).toBe(quote(asked, plain));
  });
});

describe.each(wires)("a %s request with a customer's own provider key", (wire) => {
  const connection = { connectionId: "conn_1", orgId: "org_1" as OrgId, sealedKey: Buffer.of(1) };
  const own = ownKeyDeployment(buildDeployment(wire), connection);

  test.each<[string, Members]>([
    ["service_tier", { service_tier: "priority" }],
    ["web_search_options", { web_search_options: {} }],
    ["modalities", { modalities: ["text", "audio"] }],
    ["inference_geo", { inference_geo: "eu" }],
    ["tools", { tools: [{ type: "web_search_20250305", name: "web_search" }] }],
    ["cache_control", { cache_control: { type: "ephemeral", ttl: "1h" } }],
  ])("keeps %s: the provider bills its own customer", (field, members) => {
    expect(problemOf(wire, members, own)).toBeUndefined();
    const sent = send(readGood(wire, members), own);
    expect(sent.body).toHaveProperty(field, members[field]);
    expect(sent.dropped).toEqual([]);
    const strict = { ...members, provider: { require_parameters: true } };
    expect(problemOf(wire, strict, own)).toBeUndefined();
  });

  test.each<[string, Members]>([
    ["container", { container: "c" }],
    ["compaction", { compaction: { type: "summarize" } }],
    ["fallbacks", { fallbacks: ["x"] }],
    ["mcp_servers", { mcp_servers: [{ type: "url" }] }],
  ])("is refused for %s, for a reason other than its price", (field, members) => {
    const request = readGood(wire, members);
    const problem = chatFor(request).servabilityProblem(request, own);
    expect(problem).toEqual({ field, message: expect.not.stringContaining("charge") });
  });
});

test.each([
  ["wire_a", "default"],
  ["wire_b", "standard_only"],
] as const)("%s keeps the service tier %s, which costs the usual price", (wire, service_tier) => {
  const members = { service_tier, provider: { require_parameters: true } };
  expect(problemOf(wire, members, buildDeployment(wire))).toBeUndefined();
  const sent = send(readGood(wire, members), buildDeployment(wire));
  expect(sent.body).toHaveProperty("service_tier", service_tier);
  expect(sent.dropped).toEqual([]);
});

test("a tool that the provider runs is refused with its path, unless the listing declares it", () => {
  for (const type of ["web_search", "builtin_function", "code_interpreter"]) {
    const tools = [
      { type: "function", function: { name: "f" } },
      { type, [type]: {} },
    ];
    expect(problemOf("wire_a", { tools }, buildDeployment("wire_a"))).toBe("tools[1].type");
    for (const usual of [boolean, unknown]) {
      const plain = declaring("wire_a", { tools: usual });
      expect(problemOf("wire_a", { tools }, plain)).toBe("tools[1].type");
      const listing = declaring("wire_a", { tools: usual, [type]: unknown });
      expect(problemOf("wire_a", { tools }, listing)).toBeUndefined();
    }
  }
  for (const type of ["web_search_20250305", "code_execution_20250825", "web_fetch_20250910"]) {
    const tools = [
      { name: "f", input_schema: {} },
      { type, name: "web_search" },
    ];
    expect(problemOf("wire_b", { tools }, buildDeployment("wire_b"))).toBe("tools.1.type");
    const family = type.replace(/_\d+$/, "");
    for (const name of [type, family]) {
      const listing = declaring("wire_b", { [name]: unknown });
      expect(problemOf("wire_b", { tools }, listing)).toBeUndefined();
    }
  }
});

test("a tool that the client runs needs no declaration by the listing", () => {
  const custom = { type: "custom", custom: { name: "x" } };
  expect(problemOf("wire_a", { tools: [custom] }, buildDeployment("wire_a"))).toBeUndefined();
  const tools = [
    { type: "bash_20250124", name: "bash" },
    { type: "text_editor_20250728", name: "str_replace_based_edit_tool" },
    { type: "computer_20250124", name: "computer" },
    { type: "memory_20250818", name: "memory" },
    { type: "computer_toolset_20260801" },
    { type: "browser_toolset_20260801" },
    { type: "custom", name: "c", input_schema: {} },
    { type: null, name: "d", input_schema: {} },
  ];
  expect(problemOf("wire_b", { tools }, buildDeployment("wire_b"))).toBeUndefined();
});

test("one-hour marks are removed from system, tools and tool results, but not from call arguments", () => {
  const result = [{ type: "text", text: "x", cache_control: hour }];
  const use = { type: "tool_use", id: "t", name: "f", input: { cache_control: hour } };
  const members = {
    system: [{ type: "text", text: "s", cache_control: hour }],
    tools: [{ name: "f", input_schema: { type: "object" }, cache_control: hour }],
    messages: [
      { role: "user", content: "x" },
      { role: "assistant", content: [use] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: result }] },
    ],
  };
  const sent = send(readGood("wire_b", members), buildDeployment("wire_b"));
  expect(sent.text.match(/"ttl":"1h"/g)).toHaveLength(1);
  expect(sent.text).toContain('"input":{"cache_control":{"type":"ephemeral","ttl":"1h"}}');
});
