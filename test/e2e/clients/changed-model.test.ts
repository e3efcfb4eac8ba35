import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { generateText, type LanguageModel, type ModelMessage } from "ai";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { withAccount, withGateway } from "../../support/gateway.ts";
import { at } from "../../support/http-call.ts";

/* Values that ask for nothing, and histories that another model has written. */
const gateway = withGateway();
const account = withAccount(gateway, "25.00");

describe.each(["test/a", "test/b"])("in front of %s", (model) => {
  const openai = (): OpenAI => new OpenAI({ apiKey: account.key, baseURL: `${gateway.url}/v1` });
  const anthropic = (): Anthropic => new Anthropic({ apiKey: account.key, baseURL: gateway.url });
  const messages = [{ role: "user" as const, content: "Hello" }];

  test("openai: a response format of text changes nothing", async () => {
    const done = await openai().chat.completions.create({
      model,
      messages,
      response_format: { type: "text" },
    });
    expect(done.choices[0]?.message.content).toBe("You said: Hello");
  });

  test("openai: legacy functions are called like tools", async () => {
    const done = await openai().chat.completions.create({
      model,
      messages: [{ role: "user", content: "Call get_weather" }],
      functions: [{ name: "get_weather", parameters: { type: "object", properties: {} } }],
      function_call: "auto",
    });
    expect(JSON.stringify(done.choices[0]?.message)).toContain("get_weather");
  });

  test("@anthropic-ai/sdk: disabled thinking changes nothing", async () => {
    const message = await anthropic().messages.create({
      model,
      max_tokens: 64,
      messages,
      thinking: { type: "disabled" },
    });
    expect(message.content).toMatchObject([{ type: "text", text: "You said: Hello" }]);
  });

  test("@anthropic-ai/sdk: context management without its beta is dropped, not sent", async () => {
    const message = await anthropic().beta.messages.create({
      model,
      max_tokens: 64,
      messages,
      betas: ["context-management-2025-06-27"],
      context_management: { edits: [{ type: "clear_tool_uses_20250919" }] },
    });
    expect(message.content).toMatchObject([{ type: "text", text: "You said: Hello" }]);
    expect(at(gateway.simulator.calls().at(-1)?.body, "context_management")).toBeUndefined();
  });
});

test("ai: a conversation with thinking continues with a model of the other wire", async () => {
  const settings = { apiKey: account.key, baseURL: `${gateway.url}/v1` };
  const thinking = { anthropic: { thinking: { type: "enabled", budgetTokens: 1_024 } } };
  const question: ModelMessage = { role: "user", content: "Hello" };
  const first = await generateText({
    model: createAnthropic(settings)("test/b"),
    messages: [question],
    maxOutputTokens: 2_048,
    providerOptions: thinking,
  });
  const history = [question, ...first.response.messages, { ...question, content: "Again" }];
  const others: readonly LanguageModel[] = [
    createAnthropic(settings)("test/a"),
    createOpenAICompatible({ name: "market", ...settings })("test/a"),
    createOpenAICompatible({ name: "market", ...settings })("test/b"),
  ];
  for (const model of others) {
    const next = await generateText({ model, messages: history, maxRetries: 0 });
    expect(next.text).toBe("You said: Again");
  }
});
