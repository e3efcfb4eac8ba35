import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText, type LanguageModel, type ModelMessage } from "ai";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";

import { withAccount, withGateway } from "../../support/gateway.ts";
import { at, listAt } from "../../support/http-call.ts";

const gateway = withGateway();
const account = withAccount(gateway, "25.00");

type Open = (modelId: string) => LanguageModel;

function providers(): Readonly<Record<string, Open>> {
  const settings = { apiKey: account.key, baseURL: `${gateway.url}/v1` };
  return {
    "@ai-sdk/openai-compatible": createOpenAICompatible({ name: "market", ...settings }),
    "@ai-sdk/anthropic": createAnthropic(settings),
  };
}

/* The simulator shows its reasoning when it is requested with this text, or turns thinking on. */
const THINKS = "[reasoning:5] [reasoning-text] first";
const anthropic = { thinking: { type: "enabled" as const, budgetTokens: 1024 } };

async function answer(model: LanguageModel, messages: ModelMessage[], isThinking: boolean) {
  const maxOutputTokens = 2048;
  const asked = { model, messages, maxRetries: 0, maxOutputTokens };
  const options = isThinking ? { providerOptions: { anthropic } } : {};
  const whole = await generateText({ ...asked, ...options });
  const streamed = streamText({ ...asked, ...options });
  await streamed.consumeStream();
  expect((await streamed.response).messages).toHaveLength(1);
  return whole;
}

describe.each(["@ai-sdk/openai-compatible", "@ai-sdk/anthropic"])("%s", (name) => {
  test.each([
    ["test/b", "test/a"],
    ["test/a", "test/b"],
  ])("a conversation that reasoned with %s continues with %s, and back", async (first, second) => {
    const open = providers()[name];
    if (open === undefined) throw new Error(`no provider ${name}`);
    const messages: ModelMessage[] = [{ role: "user", content: THINKS }];
    const isThinking = name === "@ai-sdk/anthropic" && first === "test/b";
    for (const [turn, model] of [first, second, first].entries()) {
      const said = await answer(open(model), messages, turn === 0 && isThinking);
      expect(said.text).not.toBe("");
      messages.push(...said.response.messages, { role: "user", content: `again ${turn}` });
    }
    const isCarried = name === "@ai-sdk/openai-compatible" || first === "test/b";
    expect(JSON.stringify(messages).includes('"reasoning"')).toBe(isCarried);
  });
});

describe("openai with functions, the older form of tools", () => {
  const functions = [{ name: "get_weather", parameters: { type: "object", properties: {} } }];

  test("a function call and its result work, whole and streamed, before a messages provider", async () => {
    const model = "test/b";
    const client = new OpenAI({ apiKey: account.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
    const user = { role: "user" as const, content: "weather?" };
    const asked = { model, functions, function_call: { name: "get_weather" }, messages: [user] };
    const { choices } = await client.chat.completions.create(asked);
    const [choice] = choices;
    expect(choice).toMatchObject({
      finish_reason: "function_call",
      message: { content: null, function_call: { name: "get_weather" } },
    });
    const stream = client.chat.completions.stream({ ...asked, stream: true });
    const streamed = await stream.finalChatCompletion();
    expect(at(streamed, "choices.0.message.function_call")).toEqual(choice?.message.function_call);
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      user,
      { role: "assistant", content: null, function_call: choice?.message.function_call ?? null },
      { role: "function", name: "get_weather", content: "sunny" },
    ];
    const next = await client.chat.completions.create({ model, functions, messages });
    expect(next.choices[0]?.message.content).toContain("sunny");
    const sent = gateway.simulator.calls().at(-1)?.body;
    expect(listAt(sent, "messages")).toHaveLength(3);
  });
});
