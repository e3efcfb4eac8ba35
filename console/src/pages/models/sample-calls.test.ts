import { describe, expect, test } from "vitest";

import { sampleCalls } from "./sample-calls.ts";
import { modelOf } from "./sample-models.test-data.ts";

const ROOT = "https://api.example.test";

/** The JSON that a curl sample sends. */
function bodyOf(code: string | undefined): unknown {
  const sent = /-d '([^]*)'$/.exec(code ?? "")?.[1] ?? "";
  return JSON.parse(sent.replaceAll(String.raw`'\''`, "'"));
}

describe("the sample calls of a model", () => {
  test("a chat model is called on both wires, each at its own base address", () => {
    const calls = sampleCalls(modelOf({ id: "lab/one" }), `${ROOT}/`);
    const text = calls.map(({ code }) => code).join("\n");
    expect(text).toContain(`curl ${ROOT}/v1/chat/completions`);
    expect(text).toContain(`curl ${ROOT}/v1/messages`);
    expect(text).toContain(`baseURL: "${ROOT}/v1"`);
    expect(text).toContain(`baseURL: "${ROOT}"`);
  });

  test("no sample asks for a key to be pasted", () => {
    for (const modality of ["text", "image", "video", "decisions"] as const) {
      for (const { code } of sampleCalls(modelOf({ modality }), ROOT)) {
        expect(code).toMatch(/TOKEN_MARKET_KEY/);
        expect(code).not.toContain("tm_vk_");
      }
    }
  });

  test("an image call uses values that the model takes, and one way to name a size", () => {
    const model = modelOf({
      modality: "image",
      parameters: {
        n: { type: "integer", min: 1, max: 4 },
        size: { type: "enum", values: ["512x512", "1024x1024"], default: "1024x1024" },
        aspect_ratio: { type: "enum", values: ["1:1"] },
        quality: { type: "enum", values: ["low", "high"] },
      },
    });
    expect(bodyOf(sampleCalls(model, ROOT)[0]?.code)).toMatchObject({
      n: 1,
      size: "1024x1024",
      quality: "low",
    });
    expect(sampleCalls(model, ROOT)[0]?.code).not.toContain("aspect_ratio");
  });

  test("a video call asks for as many seconds as the model makes by itself", () => {
    const model = modelOf({
      modality: "video",
      parameters: { seconds: { type: "integer", min: 1, max: 12, default: 4 } },
    });
    expect(bodyOf(sampleCalls(model, ROOT)[0]?.code)).toMatchObject({ seconds: 4 });
  });

  test("a decisions call asks in the model's own grammar", () => {
    const asked = (wire: "systemone" | "gliner") =>
      sampleCalls(modelOf({ modality: "decisions", decisions_wire: wire }), ROOT)[0]?.code;
    expect(bodyOf(asked("systemone"))).toMatchObject({
      questions: { urgent: { schema: { type: "boolean" } } },
    });
    expect(bodyOf(asked("gliner"))).toMatchObject({ questions: { people: { type: "entities" } } });
  });
});
