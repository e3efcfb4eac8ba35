import { describe, expect, test } from "vitest";
import type { Deployment } from "../../../catalog/catalog.ts";
import type { ManifestWireProfile } from "../../../catalog/manifest/index.ts";
import {
  type Members,
  EVERY_HISTORY_RULE,
  findProblem,
  profiled,
} from "../../../../test/fixtures/modality/profile-kit.ts";
import { sendAcross, sendSame } from "../../../../test/fixtures/modality/request-kit.ts";

const strict: Members = { require_parameters: true };
const callA = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
const user = { role: "user", content: "hi" };

describe("history rules", () => {
  const rules = (...history: NonNullable<ManifestWireProfile["history"]>) => profiled({ history });
  const sendHistory = (messages: readonly object[], changes: Partial<Deployment>) =>
    sendSame("wire_a", { messages }, changes);

  test("no-name removes names, except the one that identifies a function's result", () => {
    const named = [
      { name: "Ada", role: "user", content: "hi" },
      { role: "function", name: "f", content: "1" },
    ];
    const sent = sendHistory(named, rules("no-name"));
    expect(sent.body["messages"]).toEqual([user, named[1]]);
    expect(sent.dropped).toEqual(["messages.name"]);
    const strictly = { messages: named, provider: strict };
    expect(findProblem("wire_a", strictly, rules("no-name"))).toBe("messages.name");
  });

  test("no-null removes null members at every depth", () => {
    const call = { ...callA, index: null };
    const assistant = { role: "assistant", content: null, refusal: null, tool_calls: [call] };
    const sent = sendHistory([user, assistant], rules("no-null"));
    expect(sent.body["messages"]).toEqual([user, { role: "assistant", tool_calls: [callA] }]);
    expect(sent.dropped).toEqual([]);
  });

  test("no-null keeps nulls in the arguments of a call", () => {
    const input = { until: null, deep: [{ a: null }] };
    const use = { type: "tool_use", id: "c1", name: "f", input };
    const messages = [user, { role: "assistant", content: [{ ...use, cache_control: null }] }];
    const sent = sendSame("wire_b", { messages }, rules("no-null"));
    expect(sent.body["messages"]).toEqual([user, { role: "assistant", content: [use] }]);
  });

  test("no-reasoning removes the model's reasoning and reports its fields as dropped", () => {
    const thought = { reasoning: "r", reasoning_content: "r", reasoning_details: [{}] };
    const said = { role: "assistant", content: "a" };
    const sent = sendHistory([{ ...thought, ...said }], rules("no-reasoning"));
    expect(sent.body["messages"]).toEqual([said]);
    expect(sent.dropped).toHaveLength(3);
    const strictly = { messages: [{ ...thought, ...user }], provider: strict };
    expect(findProblem("wire_a", strictly, rules("no-reasoning"))).toBeUndefined();
  });

  test("no-strict and no-cache-control remove both fields, but no schema property of that name", () => {
    const cache_control = { type: "ephemeral", ttl: "1h" };
    const parameters = { type: "object", properties: { strict: {}, cache_control: {} } };
    const fn = { name: "f", parameters };
    const tools = [{ type: "function", function: { ...fn, strict: true }, cache_control }];
    const part = { type: "text", text: "hi" };
    const messages = [{ role: "user", content: [{ cache_control, ...part }], cache_control }];
    const changes = rules("no-strict", "no-cache-control");
    const sent = sendSame("wire_a", { messages, tools }, changes);
    expect(sent.body).toMatchObject({
      messages: [{ role: "user", content: [part] }],
      tools: [{ type: "function", function: fn }],
    });
    expect(sent.text).not.toContain("ephemeral");
    expect(sent.text).not.toContain('"strict":true');
    expect(sent.dropped.toSorted()).toEqual(["cache_control", "cache_control.ttl", "tools.strict"]);
  });

  test("no-cache-control removes cache marks from the system blocks of a wire_b request", () => {
    const marked = { type: "text", text: "s", cache_control: { type: "ephemeral" } };
    const sent = sendSame("wire_b", { system: [marked] }, rules("no-cache-control"));
    expect(sent.body["system"]).toEqual([{ type: "text", text: "s" }]);
  });

  test("text-only-content joins text parts, and keeps content that has other parts", () => {
    const text = (content: string) => ({ type: "text", text: content });
    const image = { type: "image_url", image_url: { url: "https://a.example/b.png" } };
    const inputModalities = new Set(["text", "image"] as const);
    const taken = { ...rules("text-only-content"), inputModalities };
    const messages = [
      { role: "user", content: [text("é"), text("b")] },
      { role: "user", content: [text("a"), image] },
    ];
    const sent = sendHistory(messages, taken).body["messages"];
    expect(sent).toEqual([{ role: "user", content: "é\nb" }, messages[1]]);
    const across = { messages: [{ role: "user", content: [text("a"), text("b")] }] };
    const joined = [{ role: "user", content: "a\nb" }];
    expect(sendAcross("wire_b", across, taken).body["messages"]).toEqual(joined);
  });

  test("system-for-developer replaces the role developer by system", () => {
    const developer = { role: "d\u0065veloper", content: "x" };
    const sent = sendHistory([developer, user], rules("system-for-developer"));
    expect(sent.body["messages"]).toEqual([{ role: "system", content: "x" }, user]);
  });

  test("all rules together leave only role, content and calls of a message", () => {
    const message = {
      name: null,
      reasoning: null,
      role: "assistant",
      parsed: {},
      content: [{ type: "text", text: "a", cache_control: null }],
      reasoning_content: "x",
      cache_control: { ttl: "1h" },
      tool_calls: [{ ...callA, function: { ...callA.function, parsed_arguments: null } }],
    };
    expect(
      sendHistory([message], profiled({ history: EVERY_HISTORY_RULE })).body["messages"],
    ).toEqual([{ role: "assistant", content: "a", tool_calls: [callA] }]);
  });
});
