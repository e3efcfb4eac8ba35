import { describe, expect, onTestFinished, test, vi } from "vitest";

import { buildModel } from "../../models/sample-models.test-data.ts";
import {
  askProblem,
  chatBody,
  chatMessages,
  presentParameters,
  readSchema,
  readTools,
  requestParameters,
  routingBody,
  sentParameters,
  settingsProblem,
  takenKinds,
} from "./chat-request.ts";
import type { ChatAnswer, ChatSettings, Turn } from "./chat-types.ts";
import {
  answeredTools,
  createTurn,
  emptyConversation,
  turnsBefore,
  withAnswer,
} from "./conversation.ts";

function turn(text: string, answers: Readonly<Record<string, string>> = {}): Turn {
  return {
    id: text,
    text,
    attachments: [],
    answers: Object.entries(answers).map(([modelId, said]) => {
      return { modelId, text: said, reasoning: "", state: "done" };
    }),
  };
}

const temperate = buildModel({
  id: "a",
  parameters: {
    temperature: { type: "range", min: 0, max: 1 },
    tools: { type: "boolean" },
    stop: { type: "unknown" },
    response_format: { type: "boolean" },
  },
});
const reasoner = buildModel({
  id: "b",
  parameters: { reasoning_effort: { type: "enum", values: ["low", "high"] } },
});

describe("the parameters of a chat", () => {
  test("are shown if a model declares them and a field can set them", () => {
    const names = presentParameters([temperate, reasoner]).map(({ name }) => name);
    expect(names).toEqual(["temperature", "reasoning_effort", "response_format", "stop"]);
  });

  test("are sent if the model declares them, limited to its bounds", () => {
    const values = { temperature: 1.5, reasoning_effort: "high", stop: "END\n", seed: 3 };
    expect(sentParameters(temperate, values)).toEqual({ temperature: 1, stop: ["END"] });
    expect(sentParameters(reasoner, values)).toEqual({ reasoning_effort: "high" });
    expect(sentParameters(temperate, { response_format: true })).toEqual({
      response_format: { type: "json_object" },
    });
    expect(sentParameters(temperate, { response_format: false, temperature: "" })).toEqual({});
  });
});

describe("the conversation sent to a model", () => {
  test("has the model's own answers, and another model's where it has none", () => {
    const turns = [
      turn("hi", { a: "hello from a", b: "hello from b" }),
      turn("more", { a: "only a" }),
    ];
    expect(chatMessages("b", " ", [...turns, turn("now")])).toEqual([
      { role: "user", content: "hi" },
      { role: "assistant", content: "hello from b" },
      { role: "user", content: "more" },
      { role: "assistant", content: "only a" },
      { role: "user", content: "now" },
    ]);
  });

  test("leaves out messages without an answer, so that the roles alternate", () => {
    expect(chatMessages("a", "be brief", [turn("lost", { a: "" }), turn("now")])).toEqual([
      { role: "system", content: "be brief" },
      { role: "user", content: "now" },
    ]);
  });

  test("has images, audio and PDF files as content parts of chat completions", () => {
    const attachments = [
      { kind: "image", name: "a.png", dataUrl: "data:image/png;base64,AAAA" },
      { kind: "audio", name: "a.wav", dataUrl: "data:audio/wav;base64,BBBB" },
      { kind: "file", name: "a.pdf", dataUrl: "data:application/pdf;base64,CCCC" },
    ] as const;
    const settings = { modelIds: ["a"], system: "", parameters: {} };
    expect(chatBody(temperate, settings, [{ ...turn(""), attachments }])).toMatchObject({
      model: "a",
      stream: true,
      messages: [
        {
          content: [
            { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
            { type: "input_audio", input_audio: { data: "BBBB", format: "wav" } },
            { type: "file", file: { filename: "a.pdf" } },
          ],
        },
      ],
    });
  });
});

test("a conversation works on plain http, where browsers have no crypto.randomUUID", () => {
  onTestFinished(() => void vi.unstubAllGlobals());
  vi.stubGlobal("crypto", { getRandomValues: crypto.getRandomValues.bind(crypto) });
  const at = { modelIds: ["a"], system: "", parameters: {} };
  const made = [emptyConversation("o", at), emptyConversation("o", at), createTurn("hi", [], [])];
  expect(new Set(made.map(({ id }) => id)).size).toBe(3);
});

test("a kind of file may be attached only if every model accepts it", () => {
  const seeing = buildModel({ id: "c", input_modalities: ["text", "image", "file"] });
  expect(takenKinds([seeing])).toEqual(["image", "file"]);
  expect(takenKinds([seeing, temperate])).toEqual([]);
  expect(takenKinds([])).toEqual([]);
});

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

test.each([
  { says: "lost is no longer listed.", of: { modelIds: ["lost"] } },
  { says: "lost, gone are no longer listed.", of: { modelIds: ["lost", "gone"] } },
  { says: "Tools: This is not valid JSON.", of: { tools: "[" } },
  { says: undefined, of: { modelIds: ["lost", "able"] } },
])("before a model is asked, also for another answer, the page says: $says", ({ says, of }) => {
  const { modelIds, ...others } = { ...settings, ...of };
  const chosen = [able].filter(({ id }) => modelIds.includes(id));
  expect(askProblem(chosen, { ...others, modelIds })?.slice(0, says?.length)).toBe(says);
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
    ...turn("go"),
    answers: [answer("a", { toolCalls: [call] }), answer("b", { text: "said b" })],
  };
  const results = [{ callId: "c1", content: "seen" }];

  test("sends each call with its result only to the model that made it", () => {
    const turns = answeredTools([first], { turnId: "go", modelId: "a", results }) ?? [];
    expect(chatMessages("a", "", turns)).toEqual([
      { role: "user", content: "go" },
      {
        role: "assistant",
        content: "",
        tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: "{}" } }],
      },
      { role: "tool", content: "seen", tool_call_id: "c1" },
    ]);
    expect(chatMessages("b", "", [...turns, turn("more")]).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
    ]);
  });

  test("sends no call without a result", () => {
    const messages = chatMessages("a", "", [first, turn("never mind")]);
    expect(JSON.stringify(messages)).not.toContain("tool_calls");
  });

  test("drops later turns when an answer is regenerated", () => {
    const again = turnsBefore([first, turn("later")], "go", "b") ?? [];
    expect(again.map(({ id }) => id)).toEqual(["go"]);
    expect(again[0]?.answers.map(({ state }) => state)).toEqual(["done", "waiting"]);
  });

  test("ignores events of an abandoned attempt", () => {
    const now: Turn = { ...first, answers: [answer("a", { attemptId: "new" })] };
    const of = { turnId: "go", modelId: "a", attemptId: "old" };
    const kept = { id: "k", orgId: "o", title: "", updatedAtMs: 1, settings, turns: [now] };
    expect(withAnswer(kept, of, { costUsd: "1" }).turns).toEqual([now]);
    expect(
      withAnswer(kept, { ...of, attemptId: "new" }, { costUsd: "1" }).turns[0]?.answers[0]?.costUsd,
    ).toBe("1");
  });
});
