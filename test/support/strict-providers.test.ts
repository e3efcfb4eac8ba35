import { describe, expect, test } from "vitest";
import { type Simulator, startSimulator } from "../../src/dev/simulator/simulator.ts";
import { speakStrictly } from "./strict-providers/strict-dialect.ts";
import { withResource } from "./with-resource.ts";

const simulator = withResource<Simulator>(() => startSimulator({ speak: speakStrictly }));

describe("the simulator as a strict provider", () => {
  test.each([
    ["mistral", { stream: true, stream_options: {} }, 422, "stream_options"],
    ["groq", { messages: [{ role: "user", content: "x", name: "n" }] }, 400, "name"],
    ["zai", { messages: [{ role: "developer", content: "x" }] }, 400, "developer"],
    ["azure", {}, 401, "api-key"],
    ["openai", {}, 200, "You said: hi"],
  ])("%s answers %j with %i", async (provider, body, status, words) => {
    const hi = { model: "m", max_tokens: 9, messages: [{ role: "user", content: "hi" }] };
    const response = await fetch(`${simulator.url}/as-${provider}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer k" },
      body: JSON.stringify({ ...hi, ...body }),
    });
    expect(await response.text()).toContain(words);
    expect(response.status).toBe(status);
  });
});
