import { expect, test } from "vitest";
import { chatProblem } from "./chat-checks.ts";
import type { JsonObject } from "./json.ts";

const user = { role: "user", content: "hi" };
const body = { model: "m", messages: [user] };
const tool = { type: "function", function: { name: "f", parameters: { type: "object" } } };
const call = (id: string) => ({ id, type: "function", function: { name: "f", arguments: "{}" } });
const calls = (...ids: readonly string[]) => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map(call),
});
const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "ok" });

const ACCEPTED: readonly (readonly [string, JsonObject])[] = [
  ["a plain request", body],
  [
    "a whole tool round trip",
    { ...body, messages: [user, calls("a", "b"), result("b"), result("a"), user], tools: [tool] },
  ],
  ["null fields", { ...body, temperature: null, stop: null, tools: null, tool_choice: null }],
];

test.each(ACCEPTED)("accepts %s", (_name, accepted) => {
  expect(chatProblem(accepted)).toBeUndefined();
});

const REFUSED: readonly (readonly [string, JsonObject, string])[] = [
  ["no messages", { model: "m", messages: [] }, "messages"],
  ["a text for a number", { ...body, temperature: "1" }, "temperature"],
  [
    "both output bounds",
    { ...body, max_tokens: 1, max_completion_tokens: 1 },
    "max_completion_tokens",
  ],
  ["stream options without a stream", { ...body, stream_options: {} }, "stream_options"],
  ["a gateway's own control", { ...body, models: ["x"] }, "models"],
  ["a tool choice without tools", { ...body, tool_choice: "auto" }, "tool_choice"],
  ["a tool of the other wire", { ...body, tools: [{ name: "f", input_schema: {} }] }, "tools.0"],
  [
    "a choice that is not a tool",
    { ...body, tools: [tool], tool_choice: { type: "function", function: { name: "g" } } },
    "'g'",
  ],
  [
    "a cache hint on a part",
    {
      ...body,
      messages: [{ role: "user", content: [{ type: "text", text: "x", cache_control: {} }] }],
    },
    "cache_control",
  ],
  ["a result without a call", { ...body, messages: [user, result("a")] }, "role 'tool'"],
  [
    "a call without a result",
    { ...body, messages: [user, calls("a", "b"), result("a"), user] },
    "b",
  ],
];

test.each(REFUSED)("refuses %s", (_name, refused, named) => {
  expect(chatProblem(refused)).toMatchObject({ status: 400 });
  expect(chatProblem(refused)?.message).toContain(named);
});
