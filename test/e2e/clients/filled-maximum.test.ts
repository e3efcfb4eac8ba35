import { createAnthropic } from "@ai-sdk/anthropic";
import { ChatAnthropic } from "@langchain/anthropic";
import { APICallError, generateText } from "ai";
import { describe, expect, test } from "vitest";
import { guideBlocks, runGuideScript } from "../../support/clients/guide.ts";
import { simulatorManifest, textModel, withAccount, withGateway } from "../../support/gateway.ts";

/** An id that clients know, with a maximum of 128,000 output tokens. */
const KNOWN = "claude-opus-5-5";
const ALLOWED = 32_000;

const gateway = withGateway({
  manifests: [
    simulatorManifest({
      provider: "prov-b",
      dialect: "wire_b",
      models: [textModel(KNOWN), textModel("test/b")],
    }),
  ],
});
const account = withAccount(gateway, "25.00");

const prompt = "say pong";

describe("a client that sends the maximum of a model it knows", () => {
  const ask = async (maxOutputTokens?: number): Promise<string> => {
    const open = createAnthropic({ apiKey: account.key, baseURL: `${gateway.url}/v1` });
    const bound = maxOutputTokens === undefined ? {} : { maxOutputTokens };
    return (await generateText({ model: open(KNOWN), prompt, maxRetries: 0, ...bound })).text;
  };

  test("@ai-sdk/anthropic is refused with the name of its setting", async () => {
    const fault: unknown = await ask().catch((error: unknown) => error);
    if (!APICallError.isInstance(fault)) throw new Error("the request was not refused");
    expect(fault.requestBodyValues).toMatchObject({ max_tokens: 128_000 });
    expect(fault.statusCode).toBe(400);
    expect(fault.message).toMatch(/max_tokens must be from 1 to 32768; .*maxOutputTokens/);
  });

  test("@ai-sdk/anthropic is answered with that setting", async () => {
    expect(await ask(ALLOWED)).toBe("You said: say pong");
  });

  test("@langchain/anthropic stays below the bound without a setting", async () => {
    const model = new ChatAnthropic({
      apiKey: account.key,
      model: KNOWN,
      anthropicApiUrl: gateway.url,
    });
    expect((await model.invoke(prompt)).text).toBe("You said: say pong");
    expect(gateway.simulator.calls().at(-1)?.body).toMatchObject({ max_tokens: 16_384 });
  });
});

describe("the guide for coding agents", () => {
  test("has a script that calls the chat completions of the library", async () => {
    const input = { url: gateway.url, key: account.key, model: "test/b" };
    const run = await runGuideScript("Agents of the OpenAI wire", input);
    expect(run).toMatchObject({ code: 0, stdout: "You said: say pong\n" });
  });

  test.each([
    ["Claude Code", ["sh", "sh"]],
    ["opencode", ["sh", "jsonc", "sh"]],
    ["Codex", ["sh", "toml", "sh"]],
  ])("has the settings of %s, which the deep check follows", (heading, languages) => {
    expect(guideBlocks(heading).map(({ language }) => language)).toEqual(languages);
  });
});
