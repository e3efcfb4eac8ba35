import { describe, expect, test } from "vitest";

import type { Deployment, WireId } from "../../../catalog/catalog.ts";
import { assert } from "../../../kernel/core/assert.ts";
import { anthropicMessages } from "../../wire/anthropic-messages/index.ts";
import {
  buildBody,
  chatFor,
  toBytes,
  buildDeployment,
  encode,
  marketModel,
  readBad,
  readGood,
  send,
  sendAcross,
  sendSame,
  sentBy,
} from "../../../../test/fixtures/modality/request-kit.ts";
import { TokenCounting } from "./encode-request.ts";

const wires: readonly WireId[] = ["wire_a", "wire_b"];
/** A micro-dollar for each output token. */
const PRICES = {
  pinId: "pin",
  prompt: 0n,
  cachedPrompt: 0n,
  cacheWrite: 0n,
  completion: 1_000_000n,
  internalReasoning: 1_000_000n,
};

describe.each(wires)("a %s body on its own wire", (wire) => {
  test("keeps every byte except the model's", () => {
    const body =
      ' { "vendor_x" : 1.00e2 ,"model":"acme/test-1", "max_tokens" : 5e0,\n' +
      ' "messages":[ {"role":"user","content":"\\u0041\\ud800é","vendor":12345678901234567890} ] } ';
    const { text } = sendSame(wire, body, { upstreamModelId: "up/é" });
    expect(text).toBe(body.replace('"acme/test-1"', '"up/é"'));
  });

  test("loses the gateway's own fields, wherever they are", () => {
    const own = '"provider":{"only":["a"]},"route":1';
    const rest = `"model":"${marketModel}","max_tokens":5,"messages":[{"role":"user","content":"x"}]`;
    const expected = `{${rest}}`;
    for (const body of [`{${own},${rest}}`, `{${rest},${own}}`]) {
      expect(sendSame(wire, body).text).toBe(expected);
    }
    const around = `{"models":[],${rest},"transforms":["x"]}`;
    const sent = sendSame(wire, around);
    expect(sent.text).toBe(expected);
    expect(sent.dropped).toEqual(["models", "transforms"]);
  });

  test("gets the default output bound, also in place of null", () => {
    const text = buildBody({});
    expect(sendSame(wire, text).text).toBe(`${text.slice(0, -1)},"max_tokens":4096}`);
    expect(sendSame(wire, { max_tokens: null }).text).toBe(buildBody({ max_tokens: 4096 }));
  });

  test("gets a default output bound that the listing can write, and the hold is as small", () => {
    const text = buildBody({});
    const least = { maxOutputTokens: 4_000 };
    expect(sendSame(wire, text, least).text).toBe(`${text.slice(0, -1)},"max_tokens":4000}`);
    expect(sendAcross(wire, text, least).body).toMatchObject({ max_tokens: 4_000 });
    const quote = (maxOutputTokens: number) => {
      const request = readGood(wire, text);
      return chatFor(request).quote(
        request,
        buildDeployment(wire, { prices: PRICES, maxOutputTokens }),
      );
    };
    expect(quote(32_768) - quote(4_000)).toBe(96n);
  });

  test.each(["max_tokens", "max_completion_tokens"])(
    "a %s above what the listing writes is sent as it is, on one wire and across, and is held for",
    (name) => {
      const members = { [name]: 32_000 };
      const least = { prices: PRICES, maxOutputTokens: 8_192 };
      expect(sendSame(wire, members, least).text).toContain(":32000");
      expect(sendAcross(wire, members, least).body).toMatchObject({ max_tokens: 32_000 });
      const request = readGood(wire, members);
      for (const to of wires) {
        expect(chatFor(request).quote(request, buildDeployment(to, least))).toBe(32_000n);
      }
    },
  );

  test("keeps fields that a translation would drop or refuse, byte for byte", () => {
    const members = {
      response_format: { type: "json_object" },
      thinking: { type: "enabled" },
      tools: [{ type: "custom", name: "x" }],
      metadata: { user_id: "u" },
      max_tokens: 5,
    };
    expect(sendSame(wire, members).text).toBe(buildBody(members));
  });
});

describe("wire_a", () => {
  test.each([
    ["absent", {}, { include_usage: true }],
    ["null", { stream_options: null }, { include_usage: true }],
    ["empty", { stream_options: {} }, { include_usage: true }],
    ["without include_usage", { stream_options: { x: 1 } }, { include_usage: true, x: 1 }],
    ["false", { stream_options: { x: 1, include_usage: false } }, { x: 1, include_usage: true }],
    ["true", { stream_options: { include_usage: true } }, { include_usage: true }],
  ])("a stream asks for usage: stream_options %s", (_, members, expected) => {
    const { body } = sendSame("wire_a", { stream: true, ...members });
    expect(body["stream_options"]).toEqual(expected);
  });

  const listing = (...names: string[]): Partial<Deployment> => ({
    supportedParameters: new Map(names.map((name) => [name, { type: "unknown" }])),
  });
  const [plain, newer] = ["max_tokens", "max_completion_tokens"] as const;

  test("writes the default bound under the name that the listing declares", () => {
    expect(sendSame("wire_a", {}, listing(newer)).text).toBe(buildBody({ [newer]: 4096 }));
    expect(sendSame("wire_a", {}, listing(newer, plain)).text).toBe(buildBody({ [plain]: 4096 }));
  });

  test.each([
    [newer, [plain], plain],
    [plain, [newer], newer],
    [newer, [], plain],
    [plain, [], plain],
    [newer, [newer, plain], newer],
    [plain, [newer, plain], plain],
    [newer, [newer], newer],
  ] as const)("writes %s for listings of %j as %s, and no other", (sent, declared, expected) => {
    const { text } = sendSame("wire_a", { [sent]: 9 }, listing(...declared));
    expect(text).toBe(buildBody({ [expected]: 9 }));
    const other = sent === plain ? newer : plain;
    const withNull = sendSame("wire_a", { [sent]: 9, [other]: null }, listing(...declared)).body;
    expect(withNull).toMatchObject({ [expected]: 9 });
    expect(withNull).not.toHaveProperty(expected === plain ? newer : plain);
  });

  test("sends provider.upstream as the provider field to an aggregator, and no such field to others", () => {
    const upstream = { ignore: ["x"], allow_fallbacks: false };
    const members = { max_tokens: 5, provider: { only: ["acme"], upstream } };
    const sent = sendSame("wire_a", members, { priority: 1 });
    expect(sent.text).toBe(buildBody({ max_tokens: 5, provider: upstream }));
    expect(sendSame("wire_a", members, { priority: 0 }).text).toBe(buildBody({ max_tokens: 5 }));
  });
});

// Helpers of the official clients send their parsed copies of an answer back with the history.
test.each([
  ["parsed with a value", { parsed: { a: { b: [1] } } }, {}],
  ["parsed_arguments", {}, { parsed_arguments: { a: 1 } }],
])("a client's own copy of an answer reaches no provider: %s", (_name, answer, more) => {
  const history = (members: object, fields: object): object[] => {
    const fn = { name: "f", arguments: '{"a":1}', ...fields };
    const tool_calls = [{ id: "c1", type: "function", function: fn }];
    return [
      { role: "user", content: "hi" },
      { role: "assistant", content: "x", ...members, tool_calls },
      { role: "tool", tool_call_id: "c1", content: "1" },
    ];
  };
  const messages = history(answer, more);
  const { body, dropped } = sendSame("wire_a", { messages });
  expect(body["messages"]).toEqual(history({}, {}));
  expect(dropped).toEqual([]);
  expect(sendAcross("wire_a", { messages }).text).not.toContain("parsed");
});

test("a tool's name that is repeated outside its function is removed there", () => {
  const tool = { type: "function", function: { name: "f", parameters: { type: "object" } } };
  const custom = { type: "custom", name: "g" };
  const { body, dropped } = sendSame("wire_a", { tools: [{ name: "f", ...tool }, custom] });
  expect(body["tools"]).toEqual([tool, custom]);
  expect(dropped).toEqual([]);
});

describe("wire_b", () => {
  test("writes the output bound max_completion_tokens as max_tokens", () => {
    for (const more of [{}, { max_tokens: 9 }]) {
      const { text } = sendSame("wire_b", { max_completion_tokens: 9, ...more });
      expect(text).toBe(buildBody({ max_tokens: 9 }));
    }
  });

  test("passes beta names of known families, and reports all others as dropped", () => {
    const beta =
      "claude-code-20250219,claude-code-2025-02-19, interleaved-thinking-2025-05-14 ," +
      "prompt-caching-scope-2026-01-05,oauth,computer-use-2025-01-24,x\u00e9\ty";
    const { headers, dropped } = send(readGood("wire_b", {}, beta), buildDeployment("wire_b"));
    expect(headers["anthropic-beta"]).toBe(
      "claude-code-20250219,claude-code-2025-02-19,interleaved-thinking-2025-05-14,oauth," +
        "computer-use-2025-01-24",
    );
    expect(dropped).toEqual(["prompt-caching-scope-2026-01-05", "x??y"]);
  });

  test("sends no anthropic-beta header if no beta name may pass", () => {
    const { headers } = send(readGood("wire_b", {}, "foo-2025-01-01"), buildDeployment("wire_b"));
    expect(headers).not.toHaveProperty("anthropic-beta");
  });

  test("drops the fields that a dropped beta name enables, and none for other names", () => {
    const start =
      '{"model":"acme/test-1","max_tokens":5,"messages":[{"role":"user","content":"x"}]';
    const tool =
      '{"name":"a","defer_loading":true,"input_schema":{"type":"object"},"input_examples":[]}';
    const without = `${start},"tools":[${tool}]}`;
    const body = `${start},"tools":[${tool}],"context_management":{"edits":[]}}`;
    for (const [beta, expected] of [
      ["context-management-2025-06-27", without],
      ["interleaved-thinking-2025-05-14", body],
      ["my-context-management-2025-06-27", body],
    ] as const) {
      expect(send(readGood("wire_b", body, beta), buildDeployment("wire_b")).text).toBe(expected);
    }
  });

  const global = { cache_control: { type: "ephemeral", scope: "global" } };
  const local = { cache_control: { type: "ephemeral" } };
  const said = { role: "user", content: "x" };
  const words = [{ type: "text", text: "s" }];
  const removal = { type: "tool_removal", tool: { type: "tool_reference", name: "f" } };
  const addition = { ...removal, type: "tool_addition" };
  const system = (content: readonly object[], more = {}) => ({ role: "system", content, ...more });

  test.each([
    ["prompt-caching-scope-2026-01-05", "cache_control.scope",
      { system: [{ ...words[0], ...global }], tools: [{ name: "f", ...global }],
        messages: [{ role: "user", content: [{ ...words[0], ...global }] }] },
      { system: [{ ...words[0], ...local }], tools: [{ name: "f", ...local }],
        messages: [{ role: "user", content: [{ ...words[0], ...local }] }] }],
    ["per-turn-control-2026-07-01", "messages.output_config",
      { messages: [said, system(words, { output_config: { effort: "low" } })] },
      { messages: [said, system(words)] }],
    ["per-turn-control-2026-07-01", "messages.output_config",
      { messages: [said, { role: "system", output_config: { effort: "low" } }, said] },
      { messages: [said, said] }],
    ["mid-conversation-output-config-2026-07-01", "messages.output_config",
      { messages: [said, system([], { output_config: { effort: "low" } }), said,
        { role: "system", content: "", output_config: { effort: "high" } }, said] },
      { messages: [said, said, said] }],
    ...[
      "mid-conversation-effort-2026-08-01", "per-message-effort-2026-07-01", "timing-2026-09-09",
    ].map((beta) => [beta, "messages.output_config",
      { messages: [said, system(words, { output_config: { effort: "low" } })] },
      { messages: [said, system(words)] }] as const),
    ["mid-conversation-system-clear-at-2026-08-21", "messages.clear_at",
      { messages: [said, system(words, { clear_at: "next_user_message" })] },
      { messages: [said, system(words)] }],
    ["mid-conversation-output-config-2026-07-01,mid-conversation-system-clear-at-2026-08-21",
      "messages.output_config,messages.clear_at",
      { messages: [said, system([], { clear_at: "never", output_config: { effort: "low" } })] },
      { messages: [said] }],
    ["prompt-caching-evict-2026-05-12", "cache_control.evict_on_complete",
      { cache_control: { type: "ephemeral", evict_on_complete: true },
        system: [{ ...words[0], cache_control: { type: "ephemeral", evict_on_complete: true } }] },
      { cache_control: local.cache_control, system: [{ ...words[0], ...local }] }],
    ["dangerous-tool-use-2026-09-03", "safeguards",
      { safeguards: [{ type: "dangerous_tool_use" }] }, {}],
    ["mid-conversation-tool-changes-2026-07-01", "messages.content.tool_removal",
      { messages: [said, system([removal, ...words])] }, { messages: [said, system(words)] }],
    ["inline-tools-2026-09-15", "messages.content.tool_addition",
      { messages: [said, system([addition]), said, system([addition])] },
      { messages: [said, said] }],
    ["thinking-binding-controls-2026-08-01", "thinking.block_binding",
      { thinking: { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } } },
      { thinking: { type: "adaptive" } }],
    ["thinking-display-updates-2026-08-18", "thinking.display",
      { thinking: { type: "adaptive", display: "updates" } }, { thinking: { type: "adaptive" } }],
  ] as const)("drops, with the beta name %s, %s below the top level", (beta, name, sent, wanted) => {
    const { text, dropped } = send(readGood("wire_b", sent, beta), buildDeployment("wire_b"));
    expect(text).toBe(buildBody({ ...wanted, max_tokens: 4096 }));
    expect(dropped).toEqual([...name.split(","), ...beta.split(",")]);
    expect(sendSame("wire_b", sent).text).toBe(buildBody({ ...sent, max_tokens: 4096 }));
  }); // prettier-ignore

  test("keeps a thinking.display that needs no beta name, although one for it is dropped", () => {
    const beta = "thinking-display-updates-2026-08-18";
    const body = buildBody({
      thinking: { type: "adaptive", display: "summarized" },
      max_tokens: 9,
    });
    const { text, dropped } = send(readGood("wire_b", body, beta), buildDeployment("wire_b"));
    expect(text).toBe(body);
    expect(dropped).toEqual([beta]);
  });

  test("refuses output_format with the hint to send output_config.format", () => {
    const output_format = { type: "json_schema" };
    const { message } = readBad("wire_b", { max_tokens: 5, output_format });
    expect(message).toBe("output_format is not accepted; send it as output_config.format");
  });
});

describe("translated requests", () => {
  test("report the fields that the gateway dropped and those that the translation dropped", () => {
    const request = readGood("wire_a", { models: ["x"], seed: 1 });
    expect(encode(request, buildDeployment("wire_b")).droppedParams).toEqual(["models", "seed"]);
  });

  test("never send the marketplace's model id when the endpoint has its own", () => {
    for (const wire of wires) {
      for (const target of wires) {
        const deployment = buildDeployment(target, { upstreamModelId: 'é"\\x' });
        const sent = send(readGood(wire, {}), deployment);
        expect(sent.body["model"]).toBe('é"\\x');
        expect(sent.text).not.toContain(marketModel);
      }
    }
  });
});

const { tokenCounter } = anthropicMessages;
assert(tokenCounter !== undefined, "messages has a route that counts");
const counting = new TokenCounting(anthropicMessages, tokenCounter);

test("a count_tokens request needs no output bound, and accepts any bound and thinking", () => {
  for (const members of [{}, { max_tokens: 100_000 }, { thinking: { type: "adaptive" } }]) {
    const read = counting.parse(sentBy(buildBody(members)));
    expect(read).toMatchObject({ request: { modelId: "acme/test-1", wire: { id: "wire_b" } } });
  }
});

test("a count_tokens request is sent with the client's body, without an output bound", () => {
  const body = buildBody({ tools: [{ name: "f" }], provider: { only: ["acme"] } });
  const read = counting.parse(sentBy(body, "token-counting-2024-11-01"));
  if (!read.ok) throw new Error(read.refusal.message);
  const asked = counting.encode(read.request, buildDeployment("wire_b", { upstreamModelId: "up" }));
  expect(asked.path).toBe("/messages/count_tokens");
  expect(JSON.parse(toBytes(asked.body).toString())).toEqual({
    model: "up",
    messages: [{ role: "user", content: "hi" }],
    tools: [{ name: "f" }],
  });
  expect(asked.droppedParams).toEqual(["token-counting-2024-11-01"]);
});
