import { expect, test } from "vitest";
import { readGood, sendAcross } from "../../../../test/fixtures/modality/request-kit.ts";

/**
 * Bugs of other gateways in translated requests, by the numbers of the list in the design notes,
 * and the correct requests.
 */

const user = { role: "user", content: "hi" };
const call = (id: string): object => ({
  id,
  type: "function",
  function: { name: "f", arguments: "{}" },
});
const calls = { role: "assistant", content: null, tool_calls: [call("c1"), call("c2")] };
const answers = [
  { role: "tool", tool_call_id: "c1", content: "1" },
  { role: "tool", tool_call_id: "c2", content: "2" },
];
const tool = { type: "function", function: { name: "f", parameters: { type: "object" } } };
const toWireB = (members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  sendAcross("wire_a", members).body;
const toWireA = (members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  sendAcross("wire_b", members).body;

test("peer bugs 17, 18, 19: two tool results become one user message, the text behind them", () => {
  const { messages } = toWireB({ messages: [user, calls, ...answers, user] });
  expect(messages).toEqual([
    user,
    {
      role: "assistant",
      content: [
        { type: "tool_use", id: "c1", name: "f", input: {} },
        { type: "tool_use", id: "c2", name: "f", input: {} },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "c1", content: "1" },
        { type: "tool_result", tool_use_id: "c2", content: "2" },
        { type: "text", text: "hi" },
      ],
    },
  ]);
});

test("peer bug 20: is_error becomes no key that a provider does not know", () => {
  const result = { type: "tool_result", tool_use_id: "t", content: "failed", is_error: true };
  expect(toWireA({ messages: [{ role: "user", content: [result] }] })["messages"]).toEqual([
    { role: "tool", tool_call_id: "t", content: "failed" },
  ]);
});

test("peer bugs 21, 22: ids that wire_b refuses are rewritten alike in call and result, and distinct", () => {
  const ids = ["functions.Bash:0", "functions.Bash:1", "functions_Bash_0", "a b"];
  const { messages } = toWireB({
    messages: [
      user,
      { role: "assistant", tool_calls: ids.map(call) },
      ...ids.map((id) => ({ role: "tool", tool_call_id: id, content: id })),
    ],
  }) as { messages: { content: { id?: string; tool_use_id?: string }[] }[] };
  const used = messages[1]?.content.map(({ id }) => id) ?? [];
  expect(messages[2]?.content.map(({ tool_use_id }) => tool_use_id)).toEqual(used);
  expect(new Set(used).size).toBe(ids.length);
  for (const id of used) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
  expect(used).toContain("functions_Bash_0");
});

test("peer bug 23: parallel_tool_calls false is carried, not lost", () => {
  const sent = toWireB({ tools: [tool], tool_choice: "required", parallel_tool_calls: false });
  expect(sent["tool_choice"]).toEqual({ type: "any", disable_parallel_tool_use: true });
  expect(sent).not.toHaveProperty("parallel_tool_calls");
});

test("peer bug 24: the parallel flag alone forces no tool", () => {
  const sent = toWireB({ tools: [tool], parallel_tool_calls: false });
  expect(sent["tool_choice"]).toMatchObject({ type: "auto" });
});

test("peer bug 25: tool_choice none stays none and keeps the tools", () => {
  const sent = toWireB({ tools: [tool], tool_choice: "none" });
  expect(sent["tool_choice"]).toEqual({ type: "none" });
  expect(sent["tools"]).toHaveLength(1);
});

test("peer bug 26: tools have a name, a description and a schema and nothing else", () => {
  const spec = { ...tool.function, description: "d", strict: true, returns: {} };
  const { tools } = toWireB({ tools: [{ ...tool, function: spec, extra: 1 }] });
  expect(tools).toEqual([
    { name: "f", description: "d", input_schema: { type: "object", properties: {} } },
  ]);
});

test("peer bug 27: a tool schema always has properties", () => {
  for (const input_schema of [undefined, {}, { type: "object" }]) {
    const { tools } = toWireA({ tools: [{ name: "f", input_schema }] });
    expect(tools).toMatchObject([{ function: { parameters: { type: "object", properties: {} } } }]);
  }
});

test("peer bug 36: an image in a tool result is refused, never sent as text", () => {
  const image = {
    type: "image",
    source: { type: "base64", media_type: "image/png", data: "AA==" },
  };
  const result = { type: "tool_result", tool_use_id: "t", content: [image] };
  const request = readGood("wire_b", { messages: [{ role: "user", content: [result] }] });
  expect(request.decoded().needs.refused.map(({ field }) => field)).toEqual([
    "messages.0.content.0.content.0",
  ]);
});

test("peer bug 37: no empty text block is sent", () => {
  const empty = [
    { type: "text", text: "" },
    { type: "text", text: "x" },
  ];
  const text = JSON.stringify(
    toWireB({
      messages: [
        { role: "system", content: "" },
        { role: "user", content: empty },
        { ...calls, content: "" },
        ...answers.map((answer) => ({ ...answer, content: "" })),
      ],
    }),
  );
  expect(text).not.toContain('"text":""');
  expect(text).not.toContain('"content":""');
  expect(text).not.toContain('"system"');
});

test("peer bug 38: thinking blocks are neither made up nor passed on", () => {
  const thought = { role: "assistant", content: "a", reasoning_content: "r" };
  expect(JSON.stringify(toWireB({ messages: [user, thought, user] }))).not.toContain("thinking");
  const block = { type: "thinking", thinking: "t", signature: "" };
  const history = [user, { role: "assistant", content: [block] }];
  expect(JSON.stringify(toWireA({ messages: history }))).not.toContain("thinking");
});

test("peer bug 43: null content and calls become proper blocks", () => {
  const { messages } = toWireB({ messages: [user, calls] }) as { messages: unknown[] };
  expect(messages[1]).toMatchObject({ content: [{ type: "tool_use" }, { type: "tool_use" }] });
});

test("peer bug 44: a strict server gets no field that was not requested", () => {
  expect(Object.keys(toWireA({}))).toEqual(["model", "messages", "max_tokens"]);
});

test("peer bug 45: stream stays a boolean", () => {
  expect(toWireA({ stream: true })["stream"]).toBe(true);
  expect(toWireB({ stream: true })["stream"]).toBe(true);
});
