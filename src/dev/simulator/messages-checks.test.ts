import { expect, test } from "vitest";
import type { JsonObject } from "./json.ts";
import { answerTo } from "./answer.ts";
import { messagesProblem } from "./messages-checks.ts";
import { readMessagesRequest } from "./messages-request.ts";

const headers = { "anthropic-version": "2023-06-01" };
const user = { role: "user", content: "hi" };
const body = { model: "m", max_tokens: 10, messages: [user] };
const tool = { name: "f", input_schema: { type: "object" } };
const text = (words: string) => ({ type: "text", text: words });
const use = (id: string) => ({ type: "tool_use", id, name: "f", input: {} });
const result = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "ok" });
const said = (...content: readonly JsonObject[]) => ({ role: "assistant", content });
const userMessage = (...content: readonly JsonObject[]) => ({ role: "user", content });
const withTools = (...messages: readonly JsonObject[]) => ({ ...body, tools: [tool], messages });

const ACCEPTED: readonly (readonly [string, JsonObject])[] = [
  ["a plain request", body],
  [
    "a tool round trip, results first and then text",
    withTools(
      user,
      said(text("ok"), use("a"), use("b")),
      userMessage(result("b"), result("a"), text("go on")),
    ),
  ],
  [
    "a system message in the middle",
    { ...body, messages: [user, { role: "system", content: "be short" }] },
  ],
  ["a prefill", { ...body, messages: [user, { role: "assistant", content: "I" }] }],
];

test.each(ACCEPTED)("accepts %s", (_name, accepted) => {
  expect(messagesProblem(accepted, headers)).toBeUndefined();
});

const REFUSED: readonly (readonly [string, JsonObject, string])[] = [
  [
    "a longer cache hint behind a shorter one",
    {
      ...body,
      system: [{ ...text("s"), cache_control: { type: "ephemeral" } }],
      messages: [userMessage({ ...text("x"), cache_control: { type: "ephemeral", ttl: "1h" } })],
    },
    "must not come after",
  ],
  ["an unknown field", { ...body, stream_options: {} }, "stream_options: Extra inputs"],
  ["no output bound", { model: "m", messages: [user] }, "max_tokens: Field required"],
  ["foreign metadata", { ...body, metadata: { user: "x" } }, "metadata.user"],
  ["an assistant first", { ...body, messages: [said(text("x"))] }, "first message"],
  ["empty content", { ...body, messages: [{ role: "user", content: "" }] }, "non-empty content"],
  [
    "a part of the other wire",
    { ...body, messages: [userMessage({ type: "image_url" })] },
    "image_url",
  ],
  [
    "a trailing blank in a prefill",
    { ...body, messages: [user, { role: "assistant", content: "I " }] },
    "trailing whitespace",
  ],
  [
    "tool blocks without tools",
    { ...body, messages: [user, said(use("a")), userMessage(result("a"))] },
    "must define tools",
  ],
  [
    "a call without a result",
    withTools(user, said(use("a"), use("b")), userMessage(result("a"))),
    "immediately after: b",
  ],
  ["a result without a call", withTools(userMessage(result("a"))), "unexpected `tool_use_id`"],
  [
    "an unsigned thinking block",
    { ...body, messages: [user, said({ type: "thinking", thinking: "x" })] },
    "signature",
  ],
  ["a tool choice without tools", { ...body, tool_choice: { type: "auto" } }, "tool_choice"],
  [
    "a choice that is not a tool",
    { ...body, tools: [tool], tool_choice: { type: "tool", name: "g" } },
    "'g'",
  ],
  [
    "thinking over the bound",
    { ...body, thinking: { type: "enabled", budget_tokens: 2000 } },
    "budget_tokens",
  ],
];

test.each(REFUSED)("refuses %s", (_name, refused, named) => {
  expect(messagesProblem(refused, headers)).toMatchObject({ status: 400 });
  expect(messagesProblem(refused, headers)?.message).toContain(named);
});

test("asks for the version header", () => {
  expect(messagesProblem(body, {})?.message).toContain("anthropic-version");
  expect(messagesProblem(body, { "anthropic-version": "1999-01-01" })?.status).toBe(400);
});

test("what is marked for an hour is reported as written for an hour, and no more", () => {
  const hour = { type: "ephemeral", ttl: "1h" };
  const usual = { type: "ephemeral" };
  const marked = (...marks: readonly JsonObject[]): JsonObject => ({
    ...body,
    system: marks.map((cache_control) => ({ ...text("x".repeat(40)), cache_control })),
  });
  const written = (of: JsonObject): readonly [number, number] => {
    const { cacheWrite, hourWrite } = answerTo(readMessagesRequest(of)).usage;
    return [cacheWrite, hourWrite];
  };
  const [one] = written(marked(usual));
  const [both] = written(marked(hour, usual));
  expect(written(marked(usual))).toEqual([one, 0]);
  expect(written(marked(hour))).toEqual([one, one]);
  expect(written(marked(hour, usual))).toEqual([both, one]);
  const whole = { ...marked(), cache_control: hour };
  const { prompt } = answerTo(readMessagesRequest(whole)).usage;
  expect(written(whole)).toEqual([prompt, prompt]);
});
