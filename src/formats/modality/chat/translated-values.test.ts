import { describe, expect, test } from "vitest";

import type { CapabilityDescriptor } from "../../../catalog/catalog.ts";
import { findProblem } from "../../../../test/fixtures/modality/profile-kit.ts";
import { readBad, readGood, sendAcross } from "../../../../test/fixtures/modality/request-kit.ts";

const user = { role: "user", content: "hi" };

function refusedBy(wire: "wire_a" | "wire_b", members: object): { field: string; message: string } {
  const [first] = readGood(wire, { ...members }).decoded().needs.refused;
  if (first === undefined) throw new Error("nothing is refused");
  return first;
}

test.each([
  ["wire_a", { response_format: { type: "text" } }],
  ["wire_a", { thinking: { type: "disabled" } }],
  ["wire_b", { thinking: { type: "disabled" } }],
  ["wire_b", { response_format: { type: "text" } }],
  ["wire_a", { frequency_penalty: 0, presence_penalty: 0.0, store: false, logprobs: false }],
  ["wire_a", { service_tier: "default", logit_bias: null }],
] as const)("%s %j asks for nothing: it is left out and not reported", (wire, members) => {
  const { body, dropped } = sendAcross(wire, members);
  expect(Object.keys(body).toSorted()).toEqual(["max_tokens", "messages", "model"]);
  expect(dropped).toEqual([]);
});

test("no default value and no reasoning of the history excludes a provider of the other wire", () => {
  const strict = { provider: { require_parameters: true } };
  const calls = [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }];
  const spec = { name: "f", parameters: { type: "object" }, strict: false };
  const told = { role: "assistant", content: "a", reasoning_content: "r", tool_calls: calls };
  const result = { role: "tool", tool_call_id: "c", content: "r" };
  const toolsA = [{ type: "function", function: spec }];
  const membersA = { messages: [user, told, result], tools: toolsA };
  const plain = { ...membersA, store: false, ...strict };
  expect(findProblem("wire_a", plain, { to: "wire_b" })).toBeUndefined();
  expect(sendAcross("wire_a", membersA).dropped).toEqual(["messages[].reasoning_content"]);
  const thought = { type: "thinking", thinking: "t", signature: "s" };
  const use = { type: "tool_use", id: "c", name: "f", input: {} };
  const done = { type: "tool_result", tool_use_id: "c", content: "r", is_error: false };
  const said = { role: "assistant", content: [thought, use] };
  const toolsB = [{ name: "f", input_schema: { type: "object" }, strict: false }];
  const membersB = { messages: [user, said, { role: "user", content: [done] }], tools: toolsB };
  expect(findProblem("wire_b", { ...membersB, ...strict }, { to: "wire_a" })).toBeUndefined();
  expect(sendAcross("wire_b", membersB).dropped).toEqual(["messages.content.thinking"]);
  const failed = { role: "user", content: [{ ...done, is_error: true }] };
  const wrong = { messages: [user, said, failed], tools: toolsB, ...strict };
  expect(findProblem("wire_b", wrong, { to: "wire_a" })).toBe("messages.content.is_error");
});

const usual = ["low", "medium", "high"];
test.each<[string, readonly string[] | undefined, string | undefined]>([
  ["high", usual, "high"],
  ["max", usual, "high"],
  ["xhigh", ["low", "high", "max"], "high"],
  ["low", ["none", "high"], "high"],
  ["none", ["none", "low"], "none"],
  ["ultra", usual, undefined],
  ["high", undefined, undefined],
])("the effort %s for a listing of %j becomes %s on either wire", (effort, values, expected) => {
  const declared = { type: "enum", values } as CapabilityDescriptor;
  const listing = values && { supportedParameters: new Map([["reasoning_effort", declared]]) };
  const toB = sendAcross("wire_a", { reasoning_effort: effort }, listing);
  const toA = sendAcross("wire_b", { output_config: { effort } }, listing);
  expect(toB.body["output_config"]).toEqual(expected && { effort: expected });
  expect(toA.body["reasoning_effort"]).toBe(expected);
  expect(toB.dropped).toEqual(expected === undefined ? ["reasoning_effort"] : []);
  expect(toA.dropped).toEqual(expected === undefined ? ["output_config.effort"] : []);
});

test("more than four stop sequences are refused in a translation to chat completions, with both numbers", () => {
  const five = ["a", "b", "c", "d", "e"];
  const { field, message } = refusedBy("wire_b", { stop_sequences: five });
  expect(field).toBe("stop_sequences");
  expect(message).toMatch(/5 .* 4 .*send fewer/);
  expect(sendAcross("wire_b", { stop_sequences: five.slice(1) }).body["stop"]).toHaveLength(4);
  expect(sendAcross("wire_a", { stop: five }).body["stop_sequences"]).toHaveLength(5);
});

test("thinking in the history is dropped and reported, and a message with nothing else is left out", () => {
  const thought = { type: "thinking", thinking: "t", signature: "s" };
  const hidden = { type: "redacted_thinking", data: "x" };
  const said = { role: "assistant", content: [thought, { type: "text", text: "a" }] };
  const silent = { role: "assistant", content: [thought, hidden] };
  const { body, dropped } = sendAcross("wire_b", { messages: [user, said, user, silent, user] });
  expect(body["messages"]).toEqual([user, { role: "assistant", content: "a" }, user, user]);
  expect(dropped).toEqual(["messages.content.thinking", "messages.content.redacted_thinking"]);
});

describe("legacy functions", () => {
  const parameters = { type: "object", properties: { city: { type: "string" } } };
  const functions = [{ name: "get_weather", description: "d", parameters }, { name: "get_time" }];

  test("become tools with parallel tool calls disabled", () => {
    const { body, dropped } = sendAcross("wire_a", { functions });
    expect(body["tools"]).toEqual([
      { name: "get_weather", description: "d", input_schema: parameters },
      { name: "get_time", input_schema: { type: "object", properties: {} } },
    ]);
    expect(body["tool_choice"]).toEqual({ type: "auto", disable_parallel_tool_use: true });
    expect(dropped).toEqual([]);
  });

  test.each([
    ["auto", { type: "auto", disable_parallel_tool_use: true }],
    ["none", { type: "none" }],
    [{ name: "get_time" }, { type: "tool", name: "get_time", disable_parallel_tool_use: true }],
  ])("function_call %j becomes tool_choice %j", (chosen, expected) => {
    const { body } = sendAcross("wire_a", { functions, function_call: chosen });
    expect(body["tool_choice"]).toEqual(expected);
  });

  test("calls and results of the history are linked by tool ids", () => {
    const call = (name: string, args: string) => {
      const function_call = { name, arguments: args };
      return { role: "assistant", content: null, function_call };
    };
    const result = (name: string) => ({ role: "function", name, content: `${name} result` });
    const history = [user, call("a", '{"n":1}'), result("a"), call("b", ""), result("b")];
    const { body, dropped } = sendAcross("wire_a", { functions, messages: history });
    expect(body["messages"]).toEqual([
      user,
      { role: "assistant", content: [expect.objectContaining({ name: "a", input: { n: 1 } })] },
      { role: "user", content: [expect.objectContaining({ content: "a result" })] },
      { role: "assistant", content: [expect.objectContaining({ name: "b", input: {} })] },
      { role: "user", content: [expect.objectContaining({ content: "b result" })] },
    ]);
    const ids = JSON.stringify(body).match(/"(?:tool_use_)?id":"[^"]+"/g) ?? [];
    expect(new Set(ids.map((id) => id.split(":")[1]))).toHaveProperty("size", 2);
    expect(dropped).toEqual([]);
  });

  const unanswered = [user, { role: "function", name: "a", content: "x" }];
  const broken = [user, { role: "assistant", function_call: { name: "a", arguments: "[" } }];
  test.each<[object, string]>([
    [{ functions, tools: [{ type: "function", function: { name: "x" } }] }, "functions"],
    [{ functions, function_call: "maybe" }, "function_call"],
    [{ functions, messages: unanswered }, "messages[1].role"],
    [{ messages: broken }, "messages[1].function_call.arguments"],
  ])("%j is refused in a translation with the path %s", (members, field) => {
    expect(refusedBy("wire_a", members).field).toBe(field);
  });

  const nameless = { role: "assistant", function_call: {} };
  test.each<[object, RegExp]>([
    [{ functions: [{ description: "d" }] }, /^functions\[0\]\.name is missing/],
    [{ functions: ["x"] }, /^functions\[0\] must be an object/],
    [{ functions, function_call: {} }, /^function_call\.name is missing/],
    [{ messages: [nameless] }, /^messages\[0\]\.function_call\.name /],
  ])("%j is refused as malformed when the request is read", (members, words) => {
    expect(readBad("wire_a", { ...members }).message).toMatch(words);
  });

  test("an empty list of functions is ignored, and the request's tools are sent", () => {
    const tools = [{ type: "function", function: { name: "a" } }];
    expect(readGood("wire_a", { functions: [], tools }).usesFunctions).toBe(false);
    expect(readGood("wire_a", { functions }).usesFunctions).toBe(true);
    expect(sendAcross("wire_a", { functions: [], tools }).body["tools"]).toHaveLength(1);
  });

  test.each<[object, boolean]>([
    [{}, false],
    [{ tool_choice: null }, false],
    [{ tool_choice: "required" }, false],
    [{ tool_choice: { type: "function", function: { name: "a" } } }, true],
    [{ functions, function_call: "auto" }, false],
    [{ functions, function_call: { name: "a" } }, true],
  ])("a request with %j names the tool to call: %j", (members, expected) => {
    expect(readGood("wire_a", { ...members }).namesTool).toBe(expected);
  });

  test("function_call without functions is dropped and reported", () => {
    const { body, dropped } = sendAcross("wire_a", { function_call: "auto" });
    expect(body).not.toHaveProperty("tool_choice");
    expect(dropped).toEqual(["function_call"]);
  });
});
