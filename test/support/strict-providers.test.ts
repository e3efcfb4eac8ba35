import { describe, expect, test } from "vitest";
import { startSimulator } from "../../src/dev/simulator/simulator.ts";
import { speakStrictly } from "./strict-providers/strict-dialect.ts";
import { withResource } from "./with-resource.ts";

const simulator = withResource(
  () => startSimulator({ port: 0, host: "127.0.0.1", speak: speakStrictly }),
  (opened) => opened.close(),
);
const hi = { model: "m", max_tokens: 9, messages: [{ role: "user", content: "hi" }] };

async function answer(
  provider: string,
  body: object,
  headers: Readonly<Record<string, string>> = { authorization: "Bearer k" },
): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(`${simulator.url}/as-${provider}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ ...hi, ...body }),
  });
  return { status: response.status, text: await response.text() };
}

describe("the simulator as a strict provider", () => {
  test.each([
    ["mistral", { stream: true, stream_options: {} }, 422, "stream_options"],
    ["mistral", { random_seed: 1 }, 200, "You said: hi"],
    ["groq", { messages: [{ role: "user", content: "x", name: "n" }] }, 400, "name"],
    ["fireworks", { max_tokens: 4097 }, 400, "stream"],
    ["openrouter", {}, 400, "price"],
    ["openai", {}, 200, "You said: hi"],
  ])("%s answers %j with %i", async (provider, body, status, words) => {
    const answered = await answer(provider, body);
    expect(answered.text).toContain(words);
    expect(answered.status).toBe(status);
  });

  test("requires the key in the provider's own header", async () => {
    expect((await answer("azure", {})).status).toBe(401);
    expect((await answer("azure", {}, { "api-key": "k" })).status).toBe(200);
    expect((await answer("vllm", {}, {})).status).toBe(200);
  });
});
