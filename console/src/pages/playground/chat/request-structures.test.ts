import { describe, expect, test } from "vitest";

import { buildModel } from "../../models/sample-models.test-data.ts";
import {
  chatMessages,
  requestParameters,
  readSchema,
  readTools,
  routingBody,
  settingsProblem,
} from "./chat-request.ts";
import type { ChatAnswer, ChatSettings, Turn } from "./chat-types.ts";
import { answeredTools, turnsBefore, withAnswer } from "./conversation.ts";

const able = buildModel({
  id: "able",
  parameters: {
    temperature: { type: "range", min: 0, max: 2 },
    tools: { type: "boolean" },
    response_format: { type: "boolean" },
    reasoning_effort: { type: "enum", values: ["none", "high"] },
  },
});
const thinking = buildModel({ id: "thinking", parameters: { thinking: { type: "boolean" } } });
const plain = buildModel({ id: "plain", parameters: {} });

const settings: ChatSettings = {
  modelIds: ["able"],
  system: "",
  parameters: { temperature: 0.5 },
  own: { able: { temperature: 1 } },
  tools: '[{"name": "look", "input_schema": {"type": "object"}}]',
  schema: '{"type": "object"}',
  isReasoningOff: true,
  routing: { order: ["p"], isFirstOnly: true },
};

describe("the request of a conversation", () => {
  test("has tools, schema, routing and the model's own parameters", () => {
    expect(requestParameters(able, settings)).toEqual({
      temperature: 1,
      tools: [{ type: "function", function: { name: "look", parameters: { type: "object" } } }],
      response_format: {
        type: "json_schema",
        json_schema: { name: "answer", schema: { type: "object" }, strict: true },
      },
      reasoning_effort: "none",
      provider: { order: ["p"], allow_fallbacks: false },
    });
  });

  test("leaves out parameters that the model does not declare", () => {
    const provider = { order: ["p"], allow_fallbacks: false };
    expect(requestParameters(plain, settings)).toEqual({ provider });
    expect(requestParameters(thinking, settings)).toEqual({
      provider,
      thinking: { type: "disabled" },
    });
    expect(routingBody({ order: [], isStrict: false })).toBeUndefined();
  });

  test("is not sent with invalid JSON, and the message names the field", () => {
    expect(readTools("{}").problem).toMatch(/list/);
    expect(readTools('[{"name": "a b"}]').problem).toMatch(/Tool 1 needs a name/);
    expect(readTools('[{"name": "a"}, {"name": "a"}]').problem).toMatch(/Two tools/);
    expect(readSchema("[1]").problem).toMatch(/JSON schema/);
    expect(settingsProblem({ ...settings, tools: "[" })).toBe("Tools: This is not valid JSON.");
    expect(settingsProblem(settings)).toBeUndefined();
    expect(readTools("  ")).toEqual({});
  });
});

describe("a conversation with tools", () => {
  const answer = (modelId: string, more: Partial<ChatAnswer> = {}): ChatAnswer => ({
    modelId,
    text: "",
    reasoning: "",
    state: "done",
    ...more,
  });
  const call = { id: "c1", name: "look", arguments: "{}" };
  const first: Turn = {
    id: "t1",
    text: "go",
    attachments: [],
    answers: [answer("a", { toolCalls: [call] }), answer("b", { text: "said b" })],
  };
  const results = [{ callId: "c1", content: "seen" }];

  test("sends each call with its result only to the model that made it", () => {
    const turns = answeredTools([first], { turnId: "t1", modelId: "a", results }) ?? [];
    expect(chatMessages("a", "", turns)).toEqual([
      { role: "user", content: "go" },
      {
        role: "assistant",
        content: "",
        tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: "{}" } }],
      },
      { role: "tool", content: "seen", tool_call_id: "c1" },
    ]);
    const next: Turn = { id: "t3", text: "more", attachments: [], answers: [] };
    expect(chatMessages("b", "", [...turns, next]).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
    ]);
  });

  test("sends no call without a result", () => {
    const next: Turn = { id: "t2", text: "never mind", attachments: [], answers: [] };
    expect(JSON.stringify(chatMessages("a", "", [first, next]))).not.toContain("tool_calls");
  });

  test("drops later turns when an answer is regenerated", () => {
    const later: Turn = { id: "t2", text: "later", attachments: [], answers: [] };
    const again = turnsBefore([first, later], "t1", "b") ?? [];
    expect(again.map(({ id }) => id)).toEqual(["t1"]);
    expect(again[0]?.answers.map(({ state }) => state)).toEqual(["done", "waiting"]);
  });

  test("ignores events of an abandoned attempt", () => {
    const now: Turn = { ...first, answers: [answer("a", { attemptId: "new" })] };
    const of = { turnId: "t1", modelId: "a", attemptId: "old" };
    const kept = { id: "k", orgId: "o", title: "", updatedAtMs: 1, settings, turns: [now] };
    expect(withAnswer(kept, of, { costUsd: "1" }).turns).toEqual([now]);
    expect(
      withAnswer(kept, { ...of, attemptId: "new" }, { costUsd: "1" }).turns[0]?.answers[0]?.costUsd,
    ).toBe("1");
  });
});
