import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  APICallError,
  generateText,
  jsonSchema,
  stepCountIs,
  streamText,
  tool,
  type LanguageModel,
  type LanguageModelUsage,
  type ToolSet,
} from "ai";
import { beforeAll, describe, expect, test } from "vitest";
import { withAccount, withGateway } from "../../support/gateway.ts";
import { forbidGlobalFetch, notingFetch } from "../../support/noting-fetch.ts";
import { REQUEST_ID } from "../../support/refusals.ts";
import { expectSettledOnce, listedCost, settledRecord, walletOf } from "../../support/settled.ts";

interface ProviderSettings {
  readonly apiKey: string;
  readonly baseURL: string;
  readonly fetch: typeof fetch;
}

interface Provider {
  readonly name: string;
  readonly open: (settings: ProviderSettings) => (modelId: string) => LanguageModel;
  /** True if the package passes on unknown fields of the usage. */
  readonly reportsCost: boolean;
  /** True if the package reports an error inside a stream. */
  readonly reportsStreamError: boolean;
}

/**
 * `@ai-sdk/openai` reads each chunk with a schema of its own: it drops the cost, and of the
 * terminal error it keeps the finish reason only. The other two packages keep both.
 */
const PROVIDERS: readonly Provider[] = [
  {
    name: "@ai-sdk/openai",
    // Its default API is /v1/responses, which the gateway does not have.
    open: (settings) => (modelId) => createOpenAI(settings).chat(modelId),
    reportsCost: false,
    reportsStreamError: false,
  },
  {
    name: "@ai-sdk/openai-compatible",
    open: (settings) => createOpenAICompatible({ name: "market", ...settings }),
    reportsCost: true,
    reportsStreamError: true,
  },
  {
    name: "@ai-sdk/anthropic",
    open: (settings) => createAnthropic(settings),
    reportsCost: true,
    reportsStreamError: true,
  },
];

interface Asked {
  readonly model: LanguageModel;
  readonly prompt: string;
  readonly system?: string;
  readonly tools?: ToolSet;
  readonly maxOutputTokens?: number;
  readonly stopSequences?: string[];
  readonly abortSignal?: AbortSignal;
}

interface Answered {
  readonly text: string;
  readonly finishReason: string;
  readonly modelId: string;
  readonly toolCalls: readonly {
    readonly toolCallId: string;
    readonly toolName: string;
    readonly input: unknown;
  }[];
  readonly usage: LanguageModelUsage;
  readonly steps: number;
}

const noting = notingFetch();
const elsewhere = forbidGlobalFetch();

const gateway = withGateway();
const account = withAccount(gateway, "25.00", { requestsPerMinute: 3_000 });

describe.each(PROVIDERS)("$name", ({ open, reportsCost, reportsStreamError }) => {
  const modelWith = (apiKey: string, modelId: string): LanguageModel =>
    open({ apiKey, baseURL: `${gateway.url}/v1`, fetch: noting.fetch })(modelId);

  describe.each(["test/a", "test/b"])("in front of %s", (modelId) => {
    let model: LanguageModel;
    beforeAll(() => {
      model = modelWith(account.key, modelId);
    });

    describe.each([
      ["without streaming", generated],
      ["streaming", streamed],
    ])("%s", (_how, ask) => {
      test("text comes back under the marketplace's model id", async () => {
        const answer = await ask({ model, prompt: 'Grüße 🙂 "world"' });
        expect(answer).toMatchObject({
          text: 'You said: Grüße 🙂 "world"',
          finishReason: "stop",
          modelId,
          toolCalls: [],
        });
      });

      test("the system prompt reaches the provider as a system prompt", async () => {
        await ask({ model, system: "Be brief.", prompt: "Hello" });
        const sent = gateway.simulator.calls().at(-1)?.body;
        expect(sent).toMatchObject(
          modelId === "test/a"
            ? { messages: [{ role: "system", content: "Be brief." }, { role: "user" }] }
            : { system: [{ type: "text", text: "Be brief." }], messages: [{ role: "user" }] },
        );
      });

      test("usage is whole, and what it reports is what was charged", async () => {
        const prompt = `${"x".repeat(400)} [cached:40] [reasoning:20]`;
        const { usage } = await ask({ model, prompt });
        const { inputTokens: input = 0, outputTokens: output = 0 } = usage;
        expect(usage).toMatchObject({
          inputTokenDetails: { noCacheTokens: input - 40, cacheReadTokens: 40 },
          outputTokenDetails: { textTokens: output - 20, reasoningTokens: 20 },
          totalTokens: input + output,
        });
        expect(input).toBeGreaterThan(100);
        expect(output).toBeGreaterThan(100);
        const cost = listedCost(input, output);
        expect(usage.raw?.["cost"]).toBe(reportsCost ? cost : undefined);
        const record = await settledRecord(gateway, account, noting.lastRequestId());
        expect(record).toMatchObject({ outcome: "completed", total_cost: cost });
      });

      test("one tool call arrives with its name, an id and parsed input", async () => {
        const answer = await ask({ model, prompt: "Call get_weather", tools: plainTools() });
        expect(answer).toMatchObject({
          text: "",
          finishReason: "tool-calls",
          toolCalls: [
            {
              toolCallId: expect.stringMatching(/^[a-zA-Z0-9_-]+$/),
              toolName: "get_weather",
              input: { city: "sample city" },
            },
          ],
        });
        expect(answer.toolCalls).toHaveLength(1);
      });

      test("two parallel tool calls behind a text keep their order and their ids", async () => {
        const prompt = "Call both get_weather and get_time [preface]";
        const answer = await ask({ model, prompt, tools: plainTools() });
        expect(answer).toMatchObject({
          text: "Let me look that up.",
          finishReason: "tool-calls",
          toolCalls: [
            { toolName: "get_weather", input: { city: "sample city" } },
            { toolName: "get_time", input: { city: "sample city" } },
          ],
        });
        expect(new Set(answer.toolCalls.map((call) => call.toolCallId)).size).toBe(2);
      });

      test("tools that the client runs by itself lead to an answer", async () => {
        const asked: unknown[] = [];
        const tools = {
          get_weather: cityTool((city) => {
            asked.push(city);
            return "21 degrees";
          }),
          get_time: cityTool(() => "noon"),
        };
        const prompt = "Call both get_weather and get_time";
        const answer = await ask({ model, prompt, tools });
        expect(answer).toMatchObject({
          text: "The tool answered: 21 degrees; noon",
          finishReason: "stop",
          steps: 2,
        });
        expect(asked).toEqual(["sample city"]);
      });

      test("a stop sequence and the output bound end the answer", async () => {
        const stopped = await ask({ model, prompt: "alpha STOP beta", stopSequences: ["STOP"] });
        expect(stopped).toMatchObject({ text: "You said: alpha ", finishReason: "stop" });
        const bounded = await ask({ model, prompt: "[words:500]", maxOutputTokens: 7 });
        expect(bounded).toMatchObject({ finishReason: "length", usage: { outputTokens: 7 } });
      });
    });

    test("a stream that dies after output is reported if the package reports errors", async () => {
      const prompt = "[words:60] [[fault:reset:event:6]]";
      const stream = streamText({ ...DEFAULTS, model, prompt });
      const errors: unknown[] = [];
      for await (const part of stream.fullStream) {
        if (part.type === "error") errors.push(part.error);
      }
      expect(await stream.text).toMatch(/^word1 word2 word/);
      const death = "the provider's answer ended before it was complete; try again";
      expect(errors.map(messageOf)).toEqual(reportsStreamError ? [death] : []);
      expect(await stream.finishReason).toBe(reportsStreamError ? "error" : "other");
      const record = await settledRecord(gateway, account, noting.lastRequestId());
      expect(record).toMatchObject({ outcome: "stream_died" });
    });

    test("a client that aborts in mid-stream is settled exactly once, and nothing stays held", async () => {
      const before = await walletOf(gateway, account);
      const abort = new AbortController();
      const prompt = "[words:60] [[fault:slow:10]]";
      const stream = streamText({ ...DEFAULTS, model, prompt, abortSignal: abort.signal });
      const kinds: string[] = [];
      for await (const part of stream.fullStream) {
        kinds.push(part.type);
        if (part.type === "text-delta") abort.abort();
      }
      expect(kinds).toContain("text-delta");
      expect(kinds.at(-1)).toBe("abort");
      const input = { requestId: noting.lastRequestId(), settledBefore: before.settled };
      expect(await expectSettledOnce(gateway, account, input)).toMatchObject({
        outcome: "client_disconnected",
        attempts: [{ settlement: "reported" }],
      });
      expect(gateway.simulator.counts().open).toBe(0);
    });
  });

  describe.each([
    ["without streaming", generated],
    ["streaming", streamed],
  ])("errors %s", (_how, ask) => {
    const failureOf = async (asked: Asked): Promise<APICallError> => {
      const requests = noting.count();
      const fault: unknown = await ask(asked).catch((error: unknown) => error);
      if (!APICallError.isInstance(fault)) throw new Error(`no API error: ${String(fault)}`);
      expect(noting.count()).toBe(requests + 1);
      expect(fault.responseHeaders?.["x-request-id"]).toMatch(REQUEST_ID);
      return fault;
    };
    const classOf = (fault: APICallError): unknown => fault.responseHeaders?.["x-tm-error-code"];

    test("a wrong key is a 401 that is not retryable", async () => {
      const model = modelWith(`tm_vk_${"0".repeat(48)}`, "test/a");
      const fault = await failureOf({ model, prompt: "Hello" });
      expect(fault).toMatchObject({ statusCode: 401, isRetryable: false });
      expect(classOf(fault)).toBe("auth");
      expect(fault.message).toMatch(/^no valid API key/);
    });

    test("an unknown model is a 404 that echoes the id", async () => {
      const model = modelWith(account.key, "no/such");
      const fault = await failureOf({ model, prompt: "Hello" });
      expect(fault).toMatchObject({ statusCode: 404, isRetryable: false });
      expect(classOf(fault)).toBe("model_unavailable");
      expect(fault.message).toContain("no/such");
    });

    test("an output bound above the limit is a 400 that names the field", async () => {
      const model = modelWith(account.key, "test/a");
      const fault = await failureOf({ model, prompt: "Hello", maxOutputTokens: 40_000 });
      expect(fault).toMatchObject({ statusCode: 400, isRetryable: false });
      expect(fault.message).toContain("max_tokens");
    });

    // The framework retries every 429, because it ignores x-should-retry.
    test("an empty balance is a 429 that reaches no provider", async () => {
      const poor = await gateway.account("0.000100");
      const calls = gateway.simulator.counts().total;
      const fault = await failureOf({ model: modelWith(poor.key, "test/a"), prompt: "Hello" });
      expect(fault).toMatchObject({ statusCode: 429, isRetryable: true });
      expect(classOf(fault)).toBe("insufficient_quota");
      expect(gateway.simulator.counts().total).toBe(calls);
      expect(await walletOf(gateway, poor)).toEqual({ settled: 100n, held: 0n });
    });

    test("a failing provider is retryable, and its message is not shown", async () => {
      const model = modelWith(account.key, "test/b");
      const prompt = "[[fault:status:500;message:secret-provider-words]]";
      const fault = await failureOf({ model, prompt });
      expect(fault).toMatchObject({ statusCode: 500, isRetryable: true });
      expect(classOf(fault)).toBe("upstream_error");
      expect(fault.responseBody).not.toContain("secret-provider-words");
    });
  });
});

test("@ai-sdk/openai with its default API calls a route that does not exist: a 404", async () => {
  const settings = { apiKey: account.key, baseURL: `${gateway.url}/v1`, fetch: noting.fetch };
  const asked = generated({ model: createOpenAI(settings)("test/a"), prompt: "Hello" });
  await expect(asked).rejects.toMatchObject({
    statusCode: 404,
    url: `${gateway.url}/v1/responses`,
    responseBody: expect.stringContaining("/v1/chat/completions"),
  });
});

test("the clients called only the gateway", () => {
  expect(noting.count()).toBeGreaterThan(0);
  expect(elsewhere()).toEqual([]);
});

const DEFAULTS = {
  maxRetries: 0,
  maxOutputTokens: 256,
  stopWhen: stepCountIs(3),
  // Without this handler the framework prints every error of a stream.
  onError: (): void => {},
};

async function generated(asked: Asked): Promise<Answered> {
  const { onError: _streamOnly, ...defaults } = DEFAULTS;
  const answer = await generateText({ ...defaults, ...asked });
  return {
    text: answer.text,
    finishReason: answer.finishReason,
    modelId: answer.response.modelId,
    toolCalls: answer.toolCalls,
    usage: answer.usage,
    steps: answer.steps.length,
  };
}

/** Reads the stream to its end; an error that it reports is thrown. */
async function streamed(asked: Asked): Promise<Answered> {
  const stream = streamText({ ...DEFAULTS, ...asked });
  for await (const part of stream.fullStream) {
    if (part.type === "error") throw part.error;
  }
  return {
    text: await stream.text,
    finishReason: await stream.finishReason,
    modelId: (await stream.response).modelId,
    toolCalls: await stream.toolCalls,
    usage: await stream.usage,
    steps: (await stream.steps).length,
  };
}

const description = "Knows things about a city";
const inputSchema = jsonSchema<{ city: string }>({
  type: "object",
  properties: { city: { type: "string" } },
});

/** Tools that are never run: the answer ends with the calls. */
function plainTools(): ToolSet {
  return {
    get_weather: tool({ description, inputSchema }),
    get_time: tool({ description, inputSchema }),
  };
}

function cityTool(run: (city: string) => string): ToolSet[string] {
  return tool({ description, inputSchema, execute: ({ city }) => run(city) });
}

/** The packages report an error inside of a stream as a text, an error or the wire's object. */
function messageOf(error: unknown): unknown {
  if (typeof error !== "object" || error === null) return error;
  return "message" in error ? error.message : undefined;
}
