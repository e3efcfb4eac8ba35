import { describe, expect, test } from "vitest";

import { buildModel } from "../../models/sample-models.test-data.ts";
import {
  chatBody,
  chatMessages,
  sentParameters,
  presentParameters,
  takenKinds,
} from "./chat-request.ts";
import type { Turn } from "./chat-types.ts";

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

test("a kind of file may be attached only if every model accepts it", () => {
  const seeing = buildModel({ id: "c", input_modalities: ["text", "image", "file"] });
  expect(takenKinds([seeing])).toEqual(["image", "file"]);
  expect(takenKinds([seeing, temperate])).toEqual([]);
  expect(takenKinds([])).toEqual([]);
});
