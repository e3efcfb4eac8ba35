import { ChatAnthropic } from "@langchain/anthropic";
import {
  HumanMessage,
  SystemMessage,
  type AIMessage,
  type AIMessageChunk,
  type BaseMessage,
} from "@langchain/core/messages";
import { tool, type StructuredToolInterface } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { withAccount, withGateway } from "../../support/gateway.ts";
import { at } from "../../support/http-call.ts";
import { forbidGlobalFetch, notingFetch } from "../../support/noting-fetch.ts";
import { REQUEST_ID } from "../../support/refusals.ts";
import { expectSettledOnce, listedCost, settledRecord, walletOf } from "../../support/settled.ts";

type ChatModel = ChatOpenAI | ChatAnthropic;

interface Opened {
  readonly apiKey: string;
  readonly model: string;
  readonly maxTokens?: number;
  readonly maxRetries?: number;
}

interface Client {
  readonly name: string;
  readonly open: (opened: Opened) => ChatModel;
  /** The path to the body's error object in an error. */
  readonly errorAt: string;
  /** The path to the gateway's error class in that object. */
  readonly classAt: string;
  /** The usage that the client reports of a stream with this whole usage. */
  readonly readOfStream: (whole: Tokens, modelId: string) => Tokens;
}

interface Tokens {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

const CLIENTS: readonly Client[] = [
  {
    name: "@langchain/openai",
    open: (opened) =>
      new ChatOpenAI({
        maxTokens: 256,
        maxRetries: 0,
        ...opened,
        configuration: { baseURL: `${gateway.url}/v1`, fetch: noting.fetch },
      }),
    errorAt: "error",
    classAt: "metadata.error_type",
    readOfStream: (whole) => whole,
  },
  {
    name: "@langchain/anthropic",
    open: (opened) =>
      new ChatAnthropic({
        maxTokens: 256,
        maxRetries: 0,
        ...opened,
        anthropicApiUrl: gateway.url,
        clientOptions: { fetch: noting.fetch },
      }),
    errorAt: "error.error",
    classAt: "error_type",
    // It takes the input tokens from the stream's first event only, and adds the output tokens of
    // that event to those of the last, which counts a provider's first token twice. A translated
    // stream cannot know the input when it begins and has our estimate there; the numbers of its
    // last event, which are whole, are not read.
    readOfStream: (whole, modelId) =>
      modelId === "test/b"
        ? { ...whole, output: whole.output + 1 }
        : { ...whole, input: ESTIMATED_INPUT, cached: 0 },
  },
];

const noting = notingFetch();
const elsewhere = forbidGlobalFetch();
beforeAll(() => {
  for (const name of ["LANGCHAIN_TRACING", "LANGSMITH_TRACING"]) {
    vi.stubEnv(name, "false");
    vi.stubEnv(`${name}_V2`, "false");
  }
});
afterAll(() => void vi.unstubAllEnvs());

const gateway = withGateway();
const account = withAccount(gateway, "25.00", { requestsPerMinute: 3_000 });

describe.each(CLIENTS)("$name", ({ open, errorAt, classAt, readOfStream }) => {
  describe.each(["test/a", "test/b"])("in front of %s", (modelId) => {
    let model: ChatModel;
    beforeAll(() => {
      model = open({ apiKey: account.key, model: modelId });
    });

    describe.each([
      ["without streaming", invoked],
      ["streaming", streamed],
    ])("%s", (_how, ask) => {
      test("text comes back whole", async () => {
        const answer = await ask(model, [new HumanMessage('Grüße 🙂 "world"')]);
        expect(answer.text).toBe('You said: Grüße 🙂 "world"');
        expect(answer.tool_calls).toEqual([]);
      });

      test("the system prompt reaches the provider as a system prompt", async () => {
        await ask(model, [new SystemMessage("Be brief."), new HumanMessage("Hello")]);
        const sent = gateway.simulator.calls().at(-1)?.body;
        const system = at(sent, modelId === "test/a" ? "messages.0" : "system");
        expect(JSON.stringify(system)).toContain("Be brief.");
      });

      test("one tool call arrives with its name, an id and parsed arguments", async () => {
        const answer = await ask(withTools(model), [new HumanMessage("Call get_weather")]);
        expect(answer.tool_calls).toEqual([
          {
            type: "tool_call",
            id: expect.stringMatching(/^[a-zA-Z0-9_-]+$/),
            name: "get_weather",
            args: { city: "sample city" },
          },
        ]);
        expect(finishOf(answer)).toMatch(/^tool_(calls|use)$/);
      });

      test("two parallel tool calls keep their order, and their results go back", async () => {
        const bound = withTools(model);
        const asked = [new HumanMessage("Call both get_weather and get_time [preface]")];
        const first = await ask(bound, asked);
        expect(first.text).toBe("Let me look that up.");
        const calls = first.tool_calls ?? [];
        expect(calls).toMatchObject([
          { name: "get_weather", args: { city: "sample city" } },
          { name: "get_time", args: { city: "sample city" } },
        ]);
        expect(new Set(calls.map((call) => call.id)).size).toBe(2);
        const results = await Promise.all(
          calls.map(async (call): Promise<BaseMessage> => {
            const run = TOOLS.find((known) => known.name === call.name);
            return (await run?.invoke({ ...call, type: "tool_call" })) as BaseMessage;
          }),
        );
        const second = await ask(bound, [...asked, first, ...results]);
        expect(second.text).toBe("The tool answered: 21 degrees in sample city; noon");
        expect(finishOf(second)).toMatch(/^(stop|end_turn)$/);
      });

      test("the output bound ends the answer", async () => {
        const short = open({ apiKey: account.key, model: modelId, maxTokens: 7 });
        const answer = await ask(short, [new HumanMessage("[words:500]")]);
        expect(finishOf(answer)).toMatch(/^(length|max_tokens)$/);
        const record = await settledRecord(gateway, account, noting.lastRequestId());
        expect(record).toMatchObject({ usage: { completion: 7 } });
      });

      test("the cost is reported, and it is what was charged", async () => {
        const answer = await ask(model, [new HumanMessage(USAGE_PROMPT)]);
        const cost = at(answer.response_metadata, "usage.cost");
        const { input, output } = await chargedTokens();
        expect(cost).toBe(listedCost(input, output));
      });
    });

    test("usage is complete without streaming", async () => {
      const answer = await invoked(model, [new HumanMessage(USAGE_PROMPT)]);
      expect(answer.usage_metadata).toMatchObject(usageOf(await chargedTokens()));
    });

    test("usage of a stream is what this client reads of the charged usage", async () => {
      const answer = await streamed(model, [new HumanMessage(USAGE_PROMPT)]);
      const read = readOfStream(await chargedTokens(), modelId);
      expect(answer.usage_metadata).toMatchObject(usageOf(read));
    });

    test("a stream that dies after output ends with one typed error", async () => {
      const texts: string[] = [];
      const read = async (): Promise<void> => {
        const asked = "[words:60] [[fault:reset:event:6]]";
        for await (const chunk of await model.stream(asked)) texts.push(chunk.text);
      };
      const fault: unknown = await read().catch((error: unknown) => error);
      expect(texts.join("")).toMatch(/^word1 word2 word/);
      expect(fault).toMatchObject({ requestID: noting.lastRequestId() });
      expect(typeOf(fault)).toBe("APIError");
      expect(at(fault, `${errorAt}.message`)).toMatch(/^the provider's answer ended before/);
      expect(at(fault, `${errorAt}.${classAt}`)).toBe("upstream_error");
      const record = await settledRecord(gateway, account, noting.lastRequestId());
      expect(record).toMatchObject({ outcome: "stream_died" });
    });

    test("a client that aborts in mid-stream is settled exactly once, and nothing stays held", async () => {
      const before = await walletOf(gateway, account);
      const abort = new AbortController();
      const read = async (): Promise<void> => {
        const asked = "[words:60] [[fault:slow:10]]";
        const stream = await model.stream(asked, { signal: abort.signal });
        for await (const chunk of stream) if (chunk.text !== "") abort.abort();
      };
      await expect(read()).rejects.toMatchObject({ name: "AbortError" });
      const input = { requestId: noting.lastRequestId(), settledBefore: before.settled };
      expect(await expectSettledOnce(gateway, account, input)).toMatchObject({
        outcome: "client_disconnected",
        attempts: [{ settlement: "reported" }],
      });
      expect(gateway.simulator.counts().open).toBe(0);
    });
  });

  describe.each([
    ["without streaming", invoked],
    ["streaming", streamed],
  ])("errors %s", (_how, ask) => {
    /** The error of a request that was sent once. */
    const failureOf = async (opened: Opened, prompt = "Hello"): Promise<unknown> => {
      const requests = noting.count();
      const asked = ask(open(opened), [new HumanMessage(prompt)]);
      const fault: unknown = await asked.then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(fault).toBeInstanceOf(Error);
      expect(noting.count()).toBe(requests + 1);
      expect(at(fault, "requestID")).toMatch(REQUEST_ID);
      return fault;
    };
    const classOf = (fault: unknown): unknown => at(fault, `${errorAt}.${classAt}`);

    test("a wrong key is a MODEL_AUTHENTICATION", async () => {
      const apiKey = `tm_vk_${"0".repeat(48)}`;
      const fault = await failureOf({ apiKey, model: "test/a" });
      expect(fault).toMatchObject({ status: 401, lc_error_code: "MODEL_AUTHENTICATION" });
      expect(typeOf(fault)).toBe("AuthenticationError");
      expect(classOf(fault)).toBe("auth");
    });

    test("an unknown model is a MODEL_NOT_FOUND that echoes the id", async () => {
      const fault = await failureOf({ apiKey: account.key, model: "no/such" });
      expect(fault).toMatchObject({ status: 404, lc_error_code: "MODEL_NOT_FOUND" });
      expect(typeOf(fault)).toBe("NotFoundError");
      expect(classOf(fault)).toBe("model_unavailable");
      expect(at(fault, "message")).toContain("no/such");
    });

    test("an output bound of nothing is a 400 that names the field", async () => {
      const opened = { apiKey: account.key, model: "test/a", maxTokens: 0 };
      const fault = await failureOf(opened);
      expect(fault).toMatchObject({ status: 400 });
      expect(typeOf(fault)).toBe("BadRequestError");
      expect(at(fault, "message")).toContain("max_tokens");
    });

    test("an empty balance is not retried, even by a client that retries", async () => {
      const poor = await gateway.account("0.000100");
      const calls = gateway.simulator.counts().total;
      const fault = await failureOf({ apiKey: poor.key, model: "test/a", maxRetries: 3 });
      expect(fault).toMatchObject({ status: 429, rateLimitType: "stop" });
      expect(typeOf(fault)).toBe("RateLimitError");
      expect(classOf(fault)).toBe("insufficient_quota");
      expect(gateway.simulator.counts().total).toBe(calls);
      expect(await walletOf(gateway, poor)).toEqual({ settled: 100n, held: 0n });
    });

    test("a key at its limit is a MODEL_RATE_LIMIT with the time to wait", async () => {
      const slow = await gateway.account("1.00", { requestsPerMinute: 1 });
      const opened = { apiKey: slow.key, model: "test/a" };
      await ask(open(opened), [new HumanMessage("Hello")]);
      const fault = await failureOf(opened);
      expect(fault).toMatchObject({ status: 429, lc_error_code: "MODEL_RATE_LIMIT" });
      expect(typeOf(fault)).toBe("RateLimitError");
      expect(classOf(fault)).toBe("rate_limit");
      expect(Number(at(fault, "retryAfterMs"))).toBeGreaterThan(0);
    });

    test("a failing provider is a 500 without the provider's message", async () => {
      const prompt = "[[fault:status:500;message:secret-provider-words]]";
      const fault = await failureOf({ apiKey: account.key, model: "test/b" }, prompt);
      expect(fault).toMatchObject({ status: 500 });
      expect(typeOf(fault)).toBe("InternalServerError");
      expect(classOf(fault)).toBe("upstream_error");
      expect(JSON.stringify(fault)).not.toContain("secret-provider-words");
    });
  });
});

test("the clients called only the gateway", () => {
  expect(noting.count()).toBeGreaterThan(0);
  expect(elsewhere()).toEqual([]);
});

/** The local estimate of `USAGE_PROMPT`, as count_tokens gives it. */
const ESTIMATED_INPUT = 85;
const USAGE_PROMPT = `${"x".repeat(400)} [cached:40] [reasoning:20]`;

const schema = {
  type: "object" as const,
  properties: { city: { type: "string" } },
  required: ["city"],
};
const TOOLS: readonly StructuredToolInterface[] = [
  tool((input) => `21 degrees in ${String(at(input, "city"))}`, {
    name: "get_weather",
    description: "Tells the weather",
    schema,
  }),
  tool(() => "noon", { name: "get_time", description: "Tells the time", schema }),
];

/** A model, or a model with tools. */
interface Askable {
  invoke(messages: BaseMessage[]): Promise<AIMessage>;
  stream(messages: BaseMessage[]): Promise<AsyncIterable<AIMessageChunk>>;
}

function withTools(model: ChatModel): Askable {
  return model.bindTools([...TOOLS]);
}

async function invoked(model: Askable, messages: BaseMessage[]): Promise<AIMessage> {
  return await model.invoke(messages);
}

/** Reads the stream to its end and joins it as the framework does. */
async function streamed(model: Askable, messages: BaseMessage[]): Promise<AIMessage> {
  let whole: AIMessageChunk | undefined;
  for await (const chunk of await model.stream(messages)) whole = whole?.concat(chunk) ?? chunk;
  if (whole === undefined) throw new Error("the stream brought nothing");
  return whole;
}

/** The error's class by its name: each client has a copy of the vendor's own package inside. */
function typeOf(fault: unknown): string | undefined {
  return fault instanceof Error ? fault.constructor.name : undefined;
}

/** The finish word of an answer, wherever the client keeps it. */
function finishOf(answer: AIMessage): unknown {
  const { response_metadata: metadata, additional_kwargs: more } = answer;
  return metadata["finish_reason"] ?? metadata["stop_reason"] ?? more["stop_reason"];
}

/** The tokens that the request just answered was charged for. */
async function chargedTokens(): Promise<Tokens> {
  const record = await settledRecord(gateway, account, noting.lastRequestId());
  const [prompt = 0, cached = 0, completion = 0, reasoning = 0] = [
    "prompt",
    "cached_prompt",
    "completion",
    "internal_reasoning",
  ].map((kind) => Number(at(record, `usage.${kind}`)));
  expect(cached).toBe(40);
  expect(reasoning).toBe(20);
  return { input: prompt + cached, cached, output: completion + reasoning };
}

/** These tokens as the framework reports them. */
function usageOf(tokens: Tokens): object {
  return {
    input_tokens: tokens.input,
    output_tokens: tokens.output,
    total_tokens: tokens.input + tokens.output,
    input_token_details: { cache_read: tokens.cached },
  };
}
