import { describe, expect, test } from "vitest";

import { buildModel } from "../pages/models/sample-models.test-data.ts";
import { modelSnippets } from "./media-snippets.ts";

const ROOT = "https://api.example.test";

const AsyncFunction = (async () => undefined).constructor as new (
  ...parts: string[]
) => (...known: unknown[]) => Promise<void>;

/** The JSON that a curl sample sends. */
function bodyOf(code: string | undefined): unknown {
  const sent = /-d '([^]*?)'(\n\n|$)/.exec(code ?? "")?.[1] ?? "";
  return JSON.parse(sent);
}

describe("the sample calls of a model", () => {
  test("a chat model is called on both wires, each at its own base address", () => {
    const model = buildModel({ id: "lab/one" });
    const calls = (["chat", "messages"] as const).flatMap((wire) =>
      modelSnippets(model, `${ROOT}/`, wire),
    );
    const text = calls.map(({ code }) => code).join("\n");
    expect(text).toContain(`curl -s ${ROOT}/v1/chat/completions`);
    expect(text).toContain(`curl -s ${ROOT}/v1/messages`);
    expect(text).toContain(`baseURL: "${ROOT}/v1"`);
    expect(text).toContain(`baseURL: "${ROOT}"`);
  });

  test("every sample reads the key from TOKEN_MARKET_KEY and contains no key itself", () => {
    for (const modality of ["text", "image", "video", "decisions"] as const) {
      const snippets = modelSnippets(buildModel({ modality }), ROOT);
      expect(snippets.map(({ label }) => label)).toEqual(["curl", "Python", "TypeScript"]);
      for (const { code } of snippets) {
        expect(code).toMatch(/TOKEN_MARKET_KEY/);
        expect(code).not.toContain("tm_vk_");
      }
    }
  });

  test("an image call has values that the model accepts, and no aspect ratio beside a size", () => {
    const model = buildModel({
      modality: "image",
      parameters: {
        n: { type: "integer", min: 1, max: 4 },
        size: { type: "enum", values: ["512x512", "1024x1024"], default: "1024x1024" },
        aspect_ratio: { type: "enum", values: ["1:1"] },
        quality: { type: "enum", values: ["low", "high"] },
      },
    });
    expect(bodyOf(modelSnippets(model, ROOT)[0]?.code)).toMatchObject({
      n: 1,
      size: "1024x1024",
      quality: "low",
    });
    expect(modelSnippets(model, ROOT)[0]?.code).not.toContain("aspect_ratio");
  });

  test("an image parameter unknown to the client library is in extra_body in Python and cast in TypeScript", () => {
    const model = buildModel({
      modality: "image",
      parameters: { aspect_ratio: { type: "enum", values: ["16:9"] } },
    });
    const [, python, script] = modelSnippets(model, ROOT);
    expect(python?.code).toContain('extra_body={\n        "aspect_ratio": "16:9",\n    },');
    expect(script?.code).toContain("} as OpenAI.ImageGenerateParamsNonStreaming)");
    // In the client's type, both `data` and its first image can be undefined.
    expect(script?.code).toContain("answer.data?.[0]?.b64_json");
  });

  test("a video call has the model's default length", () => {
    const model = buildModel({
      modality: "video",
      parameters: { seconds: { type: "integer", min: 1, max: 12, default: 4 } },
    });
    expect(bodyOf(modelSnippets(model, ROOT)[0]?.code)).toMatchObject({ seconds: 4 });
  });

  test.each([
    ["that is refused", { error: { message: "out of credit" } }],
    ["that fails", { id: "video_1", status: "failed", error: { message: "out of credit" } }],
  ])("the sample for a video %s throws the message and writes no file", async (_case, answer) => {
    const [, python, script] = modelSnippets(buildModel({ modality: "video" }), ROOT);
    const asked: string[] = [];
    const known = {
      process: { env: {} },
      fetch: async (url: string) => (asked.push(url), { json: async () => answer }),
      setTimeout: () => expect.fail("the job was waited for"),
      writeFile: () => expect.fail("a file was written"),
    };
    const code = (script?.code ?? "").replace(/^import .*$/m, "");
    const run = new AsyncFunction(...Object.keys(known), code);
    await expect(run(...Object.values(known))).rejects.toThrow("out of credit");
    expect(asked).toEqual([`${ROOT}/v1/videos`]);
    expect(python?.code).toContain('if video.get("status") != "completed":');
  });

  test("a decisions call uses the wire of its model", () => {
    const asked = (wire: "systemone" | "gliner") =>
      modelSnippets(buildModel({ modality: "decisions", decisions_wire: wire }), ROOT)[0]?.code;
    expect(bodyOf(asked("systemone"))).toMatchObject({
      questions: { urgent: { schema: { type: "boolean" } } },
    });
    expect(bodyOf(asked("gliner"))).toMatchObject({ questions: { people: { type: "entities" } } });
  });
});
