import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { ChatAnthropic } from "@langchain/anthropic";
import {
  HumanMessage,
  type AIMessageChunk,
  type BaseMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { tool as langchainTool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import {
  APICallError,
  generateText,
  jsonSchema,
  stepCountIs,
  streamText,
  tool,
  type LanguageModel,
  type ModelMessage,
} from "ai";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";

import { guideBlocks, runGuideScript } from "../../support/clients/guide.ts";
import {
  simulatorManifest,
  STANDARD_MANIFESTS,
  textModel,
  withAccount,
  withGateway,
} from "../../support/gateway.ts";
import { at, listAt } from "../../support/http-call.ts";
import { notingFetch } from "../../support/noting-fetch.ts";
import { listedCost, settledRecord } from "../../support/settled.ts";

/* Tests beyond the client matrix, such as broken streams and conversations that change models. */

/** An id that clients know, with a maximum of 128,000 output tokens. */
const KNOWN = "claude-opus-5-5";
const BOTH_TOOLS = "Call both get_weather and get_time [preface]";
const DIES = "[words:60] [[fault:reset:event:6]]";
const CITY = {
  type: "object" as const,
  properties: { city: { type: "string" } },
  required: ["city"],
};

const noting = notingFetch();
const gateway = withGateway({
  manifests: [
    ...STANDARD_MANIFESTS,
    simulatorManifest({ provider: "known", dialect: "wire_b", models: [textModel(KNOWN)] }),
  ],
});
const account = withAccount(gateway, "25.00");

function lastRecord(): Promise<unknown> {
  return settledRecord(gateway, account, noting.lastRequestId());
}

interface Package {
  readonly name: string;
  readonly open: (modelId: string) => LanguageModel;
  /** True if the package passes on unknown fields of the usage, and errors inside a stream. */
  readonly passesOn: boolean;
}

const settings = () => ({
  apiKey: account.key,
  baseURL: `${gateway.url}/v1`,
  fetch: noting.fetch,
});
const compatible = (modelId: string): LanguageModel =>
  createOpenAICompatible({ name: "market", ...settings() })(modelId);
const messagesOf = (modelId: string): LanguageModel => createAnthropic(settings())(modelId);

/**
 * `@ai-sdk/openai` reads each chunk with a schema of its own: it drops the cost, and keeps only the
 * finish reason of the terminal error. The other two packages keep both.
 */
const PACKAGES: readonly Package[] = [
  {
    name: "@ai-sdk/openai",
    open: (modelId) => createOpenAI(settings()).chat(modelId),
    passesOn: false,
  },
  { name: "@ai-sdk/openai-compatible", open: compatible, passesOn: true },
  { name: "@ai-sdk/anthropic", open: messagesOf, passesOn: true },
];

const DEFAULTS = {
  maxRetries: 0,
  maxOutputTokens: 256,
  stopWhen: stepCountIs(3),
  // Without this handler the framework prints every error of a stream.
  onError: (): void => {},
};

describe.each(PACKAGES)("$name", ({ open, passesOn }) => {
  describe.each(["test/a", "test/b"])("with the model %s", (modelId) => {
    test("streams two tool calls after a text in order, runs them and gets an answer with its cost", async () => {
      const cityTool = (said: string) =>
        tool({
          description: "Knows things about a city",
          inputSchema: jsonSchema<{ city: string }>(CITY),
          execute: ({ city }) => `${said} in ${city}`,
        });
      const tools = { get_weather: cityTool("21 degrees"), get_time: cityTool("noon") };
      const stream = streamText({ ...DEFAULTS, model: open(modelId), prompt: BOTH_TOOLS, tools });
      await stream.consumeStream();
      const [first, ...more] = await stream.steps;
      expect(first).toMatchObject({
        text: "Let me look that up.",
        finishReason: "tool-calls",
        toolCalls: [{ toolName: "get_weather" }, { toolName: "get_time" }],
      });
      expect(new Set(first?.toolCalls.map((call) => call.toolCallId)).size).toBe(2);
      expect(more).toMatchObject([
        {
          text: "The tool answered: 21 degrees in sample city; noon in sample city",
          finishReason: "stop",
        },
      ]);
      const { inputTokens = 0, outputTokens = 0, raw } = await stream.usage;
      const cost = listedCost(inputTokens, outputTokens);
      expect(raw?.["cost"]).toBe(passesOn ? cost : undefined);
      expect(await lastRecord()).toMatchObject({ outcome: "completed", total_cost: cost });
    });

    test("reports a stream that dies after output, if the package passes on stream errors", async () => {
      const stream = streamText({ ...DEFAULTS, model: open(modelId), prompt: DIES });
      const errors: unknown[] = [];
      for await (const part of stream.fullStream) {
        if (part.type === "error") errors.push(at(part.error, "message") ?? part.error);
      }
      expect(await stream.text).toMatch(/^word1 word2 word/);
      const death = "the provider's answer ended before it was complete; try again";
      expect(errors).toEqual(passesOn ? [death] : []);
      expect(await stream.finishReason).toBe(passesOn ? "error" : "other");
      expect(await lastRecord()).toMatchObject({ outcome: "stream_died" });
    });
  });
});

test("@ai-sdk/openai with its default Responses API gets a 404 that names /v1/chat/completions", async () => {
  const model = createOpenAI(settings())("test/a");
  await expect(generateText({ model, prompt: "Hello", maxRetries: 0 })).rejects.toMatchObject({
    statusCode: 404,
    url: `${gateway.url}/v1/responses`,
    responseBody: expect.stringContaining("/v1/chat/completions"),
  });
});

const LANGCHAIN = [
  {
    name: "@langchain/openai",
    open: (model: string) =>
      new ChatOpenAI({
        apiKey: account.key,
        model,
        maxTokens: 256,
        maxRetries: 0,
        configuration: { baseURL: `${gateway.url}/v1`, fetch: noting.fetch },
      }),
    errorAt: "error",
    classAt: "metadata.error_type",
  },
  {
    name: "@langchain/anthropic",
    open: (model: string) =>
      new ChatAnthropic({
        apiKey: account.key,
        model,
        maxTokens: 256,
        maxRetries: 0,
        anthropicApiUrl: gateway.url,
        clientOptions: { fetch: noting.fetch },
      }),
    errorAt: "error.error",
    classAt: "error_type",
  },
] as const;

describe.each(LANGCHAIN)("$name", ({ open, errorAt, classAt }) => {
  describe.each(["test/a", "test/b"])("with the model %s", (modelId) => {
    test("streams two tool calls after a text in order, and answers from their results", async () => {
      const about = { description: "Knows things about a city", schema: CITY };
      const tools = [
        langchainTool((input) => `21 degrees in ${String(at(input, "city"))}`, {
          name: "get_weather",
          ...about,
        }),
        langchainTool(() => "noon", { name: "get_time", ...about }),
      ];
      const bound = open(modelId).bindTools(tools);
      const ask = async (messages: BaseMessage[]): Promise<AIMessageChunk> => {
        let whole: AIMessageChunk | undefined;
        for await (const chunk of await bound.stream(messages)) {
          whole = whole?.concat(chunk) ?? chunk;
        }
        if (whole === undefined) throw new Error("the stream brought nothing");
        return whole;
      };
      const asked = [new HumanMessage(BOTH_TOOLS)];
      const first = await ask(asked);
      expect(first.text).toBe("Let me look that up.");
      const calls = first.tool_calls ?? [];
      expect(calls.map(({ name }) => name)).toEqual(["get_weather", "get_time"]);
      expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
      const results = await Promise.all(
        calls.map(async ({ id = "", args }, index) => {
          return new ToolMessage({
            tool_call_id: id,
            content: String(await tools[index]?.invoke(args)),
          });
        }),
      );
      const second = await ask([...asked, first, ...results]);
      expect(second.text).toBe("The tool answered: 21 degrees in sample city; noon");
      const total_cost = at(second.response_metadata, "usage.cost");
      expect(total_cost).toBeGreaterThan(0);
      expect(await lastRecord()).toMatchObject({ outcome: "completed", total_cost });
    });

    test("ends a stream that dies after output with one typed error", async () => {
      const texts: string[] = [];
      const read = async (): Promise<void> => {
        for await (const chunk of await open(modelId).stream(DIES)) texts.push(chunk.text);
      };
      const fault: unknown = await read().catch((error: unknown) => error);
      expect(texts.join("")).toMatch(/^word1 word2 word/);
      expect(fault).toMatchObject({ requestID: noting.lastRequestId() });
      // Each client bundles its own copy of the vendor's package, so only the name is compared.
      expect(fault instanceof Error && fault.constructor.name).toBe("APIError");
      expect(at(fault, `${errorAt}.message`)).toMatch(/^the provider's answer ended before/);
      expect(at(fault, `${errorAt}.${classAt}`)).toBe("upstream_error");
      expect(await lastRecord()).toMatchObject({ outcome: "stream_died" });
    });
  });
});

describe("a conversation", () => {
  /** The simulator shows its reasoning for this text, or if the request turns thinking on. */
  const THINKS = "[reasoning:5] [reasoning-text] first";
  const anthropic = { thinking: { type: "enabled" as const, budgetTokens: 1024 } };

  async function answer(model: LanguageModel, messages: ModelMessage[], isThinking: boolean) {
    const asked = {
      model,
      messages,
      maxRetries: 0,
      maxOutputTokens: 2048,
      ...(isThinking ? { providerOptions: { anthropic } } : {}),
    };
    const whole = await generateText(asked);
    const streamed = streamText(asked);
    await streamed.consumeStream();
    expect((await streamed.response).messages).toHaveLength(1);
    return whole;
  }

  test.each([
    { name: "@ai-sdk/openai-compatible", open: compatible, first: "test/b", second: "test/a" },
    { name: "@ai-sdk/openai-compatible", open: compatible, first: "test/a", second: "test/b" },
    { name: "@ai-sdk/anthropic", open: messagesOf, first: "test/b", second: "test/a" },
    { name: "@ai-sdk/anthropic", open: messagesOf, first: "test/a", second: "test/b" },
  ])(
    "that reasoned with $first through $name continues with $second and returns",
    async ({ open, first, second }) => {
      const messages: ModelMessage[] = [{ role: "user", content: THINKS }];
      const isThinking = open === messagesOf && first === "test/b";
      for (const [turn, model] of [first, second, first].entries()) {
        const said = await answer(open(model), messages, turn === 0 && isThinking);
        expect(said.text).not.toBe("");
        messages.push(...said.response.messages, { role: "user", content: `again ${turn}` });
      }
      const isCarried = open === compatible || first === "test/b";
      expect(JSON.stringify(messages).includes('"reasoning"')).toBe(isCarried);
    },
  );

  test("that began with thinking on wire_b continues through a wire_a client", async () => {
    const question: ModelMessage = { role: "user", content: "Hello" };
    const first = await answer(messagesOf("test/b"), [question], true);
    const messages = [question, ...first.response.messages, { ...question, content: "Again" }];
    for (const model of ["test/a", "test/b"].map(compatible)) {
      expect((await answer(model, messages, false)).text).toBe("You said: Again");
    }
  });

  test("with functions, the deprecated form of tools, works with a wire_b provider, streamed or not", async () => {
    const model = "test/b";
    const client = new OpenAI({ ...settings(), maxRetries: 0 });
    const functions = [{ name: "get_weather", parameters: { type: "object", properties: {} } }];
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

  test.each(["test/a", "test/b"])(
    "is served when its fields have neutral values (plain text, thinking disabled): %s",
    async (model) => {
      const messages = [{ role: "user" as const, content: "Hello" }];
      const openai = await new OpenAI(settings()).chat.completions.create({
        model,
        messages,
        response_format: { type: "text" },
      });
      expect(openai.choices[0]?.message.content).toBe("You said: Hello");
      const client = new Anthropic({ ...settings(), baseURL: gateway.url });
      const message = await client.messages.create({
        model,
        messages,
        max_tokens: 64,
        thinking: { type: "disabled" },
      });
      expect(message.content).toMatchObject([{ type: "text", text: "You said: Hello" }]);
    },
  );
});

describe("a client that fills in max_tokens from its own table of models", () => {
  const prompt = "say pong";

  test("gets a 400 that names the client's own setting (maxOutputTokens), and is answered once that is lowered: @ai-sdk/anthropic", async () => {
    const asked = { model: messagesOf(KNOWN), prompt, maxRetries: 0 };
    const fault: unknown = await generateText(asked).catch((error: unknown) => error);
    if (!APICallError.isInstance(fault)) throw new Error("the request was not refused");
    expect(fault.requestBodyValues).toMatchObject({ max_tokens: 128_000 });
    expect(fault.statusCode).toBe(400);
    expect(fault.message).toMatch(/max_tokens must be from 1 to 32768; .*maxOutputTokens/);
    const answered = await generateText({ ...asked, maxOutputTokens: 32_000 });
    expect(answered.text).toBe("You said: say pong");
  });

  test("stays below the gateway's output bound by default: @langchain/anthropic", async () => {
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
  test("has a script for the OpenAI library that gets an answer from chat completions", async () => {
    const input = { url: gateway.url, key: account.key, model: "test/b" };
    const run = await runGuideScript("Agents of the OpenAI wire", input);
    expect(run).toMatchObject({ code: 0, stdout: "You said: say pong\n" });
  });

  test.each([
    ["Claude Code", ["sh", "sh"]],
    ["opencode", ["sh", "jsonc", "sh"]],
    ["Codex", ["sh", "toml", "sh"]],
  ])("has the code blocks for %s that the deep test follows", (heading, languages) => {
    expect(guideBlocks(heading).map(({ language }) => language)).toEqual(languages);
  });
});
