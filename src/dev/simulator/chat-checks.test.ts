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
  ["an unknown field", { ...body, some_new_field: { a: 1 } }],
  [
    "a whole tool round trip",
    { ...body, messages: [user, calls("a", "b"), result("b"), result("a"), user], tools: [tool] },
  ],
  [
    "parts and a developer message",
    { ...body, messages: [{ role: "developer", content: [{ type: "text", text: "x" }] }, user] },
  ],
  ["null fields", { ...body, temperature: null, stop: null, tools: null, tool_choice: null }],
  [
    "stream options on a stream",
    { ...body, stream: true, stream_options: { include_usage: true } },
  ],
];

test.each(ACCEPTED)("accepts %s", (_name, accepted) => {
  expect(chatProblem(accepted)).toBeUndefined();
});

const REFUSED: readonly (readonly [string, JsonObject, string])[] = [
  ["no messages", { model: "m", messages: [] }, "messages"],
  ["a text for a number", { ...body, temperature: "1" }, "temperature"],
  ["a temperature over 2", { ...body, temperature: 2.1 }, "temperature"],
  [
    "both output bounds",
    { ...body, max_tokens: 1, max_completion_tokens: 1 },
    "max_completion_tokens",
  ],
  ["an output bound of 0", { ...body, max_tokens: 0 }, "max_tokens"],
  ["stream options without a stream", { ...body, stream_options: {} }, "stream_options"],
  ["five stop sequences", { ...body, stop: ["a", "b", "c", "d", "e"] }, "stop"],
  ["a gateway's own control", { ...body, models: ["x"] }, "models"],
  ["a tool choice without tools", { ...body, tool_choice: "auto" }, "tool_choice"],
  ["an empty list of tools", { ...body, tools: [] }, "tools"],
  ["a tool of the other wire", { ...body, tools: [{ name: "f", input_schema: {} }] }, "tools.0"],
  ["a cache hint on a tool", { ...body, tools: [{ ...tool, cache_control: {} }] }, "cache_control"],
  [
    "a choice that is not a tool",
    { ...body, tools: [tool], tool_choice: { type: "function", function: { name: "g" } } },
    "'g'",
  ],
  ["an unknown role", { ...body, messages: [{ role: "bot", content: "x" }] }, "messages.0.role"],
  [
    "a user without content",
    { ...body, messages: [{ role: "user", content: null }] },
    "messages.0.content",
  ],
  [
    "an empty list of parts",
    { ...body, messages: [{ role: "user", content: [] }] },
    "messages.0.content",
  ],
  [
    "a cache hint on a part",
    {
      ...body,
      messages: [{ role: "user", content: [{ type: "text", text: "x", cache_control: {} }] }],
    },
    "cache_control",
  ],
  [
    "an error flag on a result",
    { ...body, messages: [user, calls("a"), { ...result("a"), is_error: true }] },
    "is_error",
  ],
  ["a result without a call", { ...body, messages: [user, result("a")] }, "role 'tool'"],
  [
    "a call without a result",
    { ...body, messages: [user, calls("a", "b"), result("a"), user] },
    "b",
  ],
  ["a call at the end", { ...body, messages: [user, calls("a")] }, "tool_call_id"],
  [
    "arguments that are not text",
    {
      ...body,
      messages: [
        user,
        {
          role: "assistant",
          tool_calls: [{ ...call("a"), function: { name: "f", arguments: {} } }],
        },
      ],
    },
    "arguments",
  ],
  [
    "a tool block of the other wire",
    { ...body, messages: [{ role: "user", content: [{ type: "tool_result" }] }] },
    "messages.0.content.0.type",
  ],
];

test.each(REFUSED)("refuses %s", (_name, refused, named) => {
  expect(chatProblem(refused)).toMatchObject({ status: 400 });
  expect(chatProblem(refused)?.message).toContain(named);
});
