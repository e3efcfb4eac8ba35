import OpenAI, {
  APIError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from "openai";
import { beforeAll, describe, expect, test } from "vitest";
import { withAccount, withGateway } from "../../support/gateway.ts";
import { at } from "../../support/http-call.ts";
import { REQUEST_ID } from "../../support/refusals.ts";
import { countingFetch, listedCost, settledRecord } from "../../support/settled.ts";

type Params = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, "stream">;

let client: OpenAI;

const gateway = withGateway();
const account = withAccount(gateway, "25.00");

beforeAll(async () => {
  client = clientWith(account.key);
});

function clientWith(apiKey: string, more: ConstructorParameters<typeof OpenAI>[0] = {}): OpenAI {
  return new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0, ...more });
}

const say = (content: string): OpenAI.ChatCompletionMessageParam => ({ role: "user", content });

function tool(name: string): OpenAI.ChatCompletionTool {
  const parameters = { type: "object", properties: { city: { type: "string" } } };
  return { type: "function", function: { name, description: `Runs ${name}`, parameters } };
}
const tools = [tool("get_weather"), tool("get_time")];

describe.each(["test/a", "test/b"])("with the model %s", (model) => {
  describe.each([
    ["without streaming", false],
    ["streaming", true],
  ])("%s", (_how, stream) => {
    const ask = async (params: Omit<Params, "model">): Promise<OpenAI.ChatCompletion> => {
      const asked: Params = { model, max_tokens: 256, ...params };
      if (!stream) return await client.chat.completions.create(asked);
      return await client.chat.completions.stream(asked).finalChatCompletion();
    };

    test("text comes back under the marketplace's model id, with its usage and cost", async () => {
      const completion = await ask({ messages: [say('Grüße 🙂 "world"')] });
      expect(completion).toMatchObject({ object: "chat.completion", model });
      expect(completion.choices).toHaveLength(1);
      expect(completion.choices[0]).toMatchObject({
        index: 0,
        finish_reason: "stop",
        message: { role: "assistant", content: 'You said: Grüße 🙂 "world"' },
      });
      const { prompt_tokens: prompt = 0, completion_tokens: output = 0 } = completion.usage ?? {};
      expect(prompt).toBeGreaterThan(0);
      expect(output).toBeGreaterThan(0);
      expect(completion.usage).toMatchObject({
        total_tokens: prompt + output,
        cost: listedCost(prompt, output),
      });
    });

    test("the system prompt reaches the provider as a system prompt", async () => {
      await ask({ messages: [{ role: "system", content: "Be brief." }, say("Hello")] });
      const sent = gateway.simulator.calls().at(-1)?.body;
      expect(sent).toMatchObject(
        model === "test/a"
          ? { messages: [{ role: "system", content: "Be brief." }, say("Hello")] }
          : { system: [{ type: "text", text: "Be brief." }], messages: [say("Hello")] },
      );
    });

    test("two parallel tool calls keep their order and have different ids", async () => {
      const messages = [say("Call both get_weather and get_time")];
      const completion = await ask({ messages, tools });
      expect(completion.choices[0]?.finish_reason).toBe("tool_calls");
      const calls = completion.choices[0]?.message.tool_calls ?? [];
      const input = expect.stringMatching(/^\{"city": ?"sample city"\}$/);
      expect(calls).toMatchObject([
        { type: "function", function: { name: "get_weather", arguments: input } },
        { type: "function", function: { name: "get_time", arguments: input } },
      ]);
      expect(new Set(calls.map((call) => call.id)).size).toBe(2);
    });

    test("parallel_tool_calls false limits the answer to one tool call", async () => {
      const messages = [say("Call both get_weather and get_time")];
      const completion = await ask({ messages, tools, parallel_tool_calls: false });
      expect(completion.choices[0]?.message.tool_calls).toHaveLength(1);
    });

    test("the client's own tool runner calls the tool and gets the final answer", async () => {
      const asked: unknown[] = [];
      const weather = {
        name: "get_weather",
        description: "Tells the weather",
        parameters: { type: "object", properties: { city: { type: "string" } } },
        parse: (text: string): unknown => JSON.parse(text),
        function: (input: unknown): string => {
          asked.push(input);
          return "21 degrees";
        },
      };
      const params = {
        model,
        max_tokens: 256,
        messages: [say("Call get_weather")],
        tools: [{ type: "function" as const, function: weather }],
      };
      const runner = stream
        ? client.chat.completions.runTools({ ...params, stream: true })
        : client.chat.completions.runTools(params);
      expect(await runner.finalContent()).toBe("The tool answered: 21 degrees");
      expect(asked).toEqual([{ city: "sample city" }]);
    });

    test("cached and reasoning tokens are reported separately and priced into the cost", async () => {
      const messages = [say(`${"x".repeat(400)} [cached:40] [reasoning:20]`)];
      const { usage } = await ask({ messages });
      expect(usage).toMatchObject({
        prompt_tokens_details: { cached_tokens: 40 },
        completion_tokens_details: { reasoning_tokens: 20 },
        cost: listedCost(usage?.prompt_tokens ?? 0, usage?.completion_tokens ?? 0),
      });
      expect(usage?.completion_tokens).toBeGreaterThan(20);
    });

    test("a stop sequence ends the answer and is not part of it", async () => {
      const completion = await ask({ messages: [say("alpha STOP beta")], stop: ["STOP"] });
      expect(completion.choices[0]).toMatchObject({
        finish_reason: "stop",
        message: { content: "You said: alpha " },
      });
    });

    test("the output bound ends the answer with the finish reason length", async () => {
      const completion = await ask({ messages: [say("[words:500]")], max_tokens: 7 });
      expect(completion.choices[0]?.finish_reason).toBe("length");
      expect(completion.usage?.completion_tokens).toBe(7);
    });

    test("max_completion_tokens bounds the answer too", async () => {
      const completion = await client.chat.completions.create({
        model,
        messages: [say("[words:500]")],
        max_completion_tokens: 5,
      });
      expect(completion.usage?.completion_tokens).toBe(5);
    });
  });

  test("the answer's request id finds the settled usage record", async () => {
    const params = { model, max_tokens: 64, messages: [say("Hello")] };
    const {
      data,
      response,
      request_id: id,
    } = await client.chat.completions.create(params).withResponse();
    expect(id).toMatch(REQUEST_ID);
    expect(at(data, "_request_id")).toBe(id);
    expect(response.headers.get("x-tm-attempts")).toBe("1");
    expect(await settledRecord(gateway, account, id)).toMatchObject({
      model,
      route: "/v1/chat/completions",
      stream: false,
      outcome: "completed",
      total_cost: at(data.usage, "cost"),
      attempts: [{ n: 1, outcome: "completed", upstream_status: 200, settlement: "reported" }],
    });
  });

  const chunksOf = async (
    asked: Partial<OpenAI.ChatCompletionCreateParamsStreaming>,
  ): Promise<OpenAI.ChatCompletionChunk[]> => {
    const messages = [say("Hello")];
    const body = { model, max_tokens: 64, messages, ...asked, stream: true } as const;
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of await client.chat.completions.create(body)) chunks.push(chunk);
    return chunks;
  };

  test("a loop over choices[0] reads every chunk; the last one has usage and cost", async () => {
    const chunks = await chunksOf({});
    const finishes = chunks.map(({ choices: [choice] }) => choice?.finish_reason);
    expect(finishes.includes(undefined)).toBe(false);
    expect(finishes.at(-1)).toBe("stop");
    expect(chunks.filter((chunk) => "usage" in chunk)).toHaveLength(1);
    expect(chunks.at(-1)?.usage).toMatchObject({ cost: expect.any(Number) });
  });

  test("with include_usage the first chunk has the role, and the last has usage and no choices", async () => {
    const chunks = await chunksOf({ stream_options: { include_usage: true } });
    expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1);
    expect(new Set(chunks.map((chunk) => chunk.model))).toEqual(new Set([model]));
    expect(chunks[0]?.choices[0]?.delta.role).toBe("assistant");
    const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("");
    expect(text).toBe("You said: Hello");
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { cost: expect.any(Number) } });
    const finishes = chunks.flatMap((chunk) => chunk.choices[0]?.finish_reason ?? []);
    expect(finishes).toEqual(["stop"]);
  });

  test("a stream that dies in the middle ends with one typed error", async () => {
    const messages = [say("[words:60] [[fault:reset:event:5]]")];
    const { data: stream, request_id: id } = await client.chat.completions
      .create({ model, max_tokens: 400, messages, stream: true })
      .withResponse();
    const read = async (): Promise<void> => {
      for await (const _chunk of stream);
    };
    const fault: unknown = await read().catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(APIError);
    expect(fault).toMatchObject({ code: "upstream_error", type: "gateway_error" });
    expect(await settledRecord(gateway, account, id)).toMatchObject({ outcome: "stream_died" });
  });
});

describe("models", () => {
  test("the list has every ready model with its input modalities", async () => {
    const models: OpenAI.Model[] = [];
    for await (const model of client.models.list()) models.push(model);
    expect(models.map((model) => model.id)).toEqual(["test/a", "test/b", "test/ba", "test/both"]);
    expect(models[0]).toMatchObject({
      object: "model",
      owned_by: "prov-a",
      architecture: { input_modalities: ["text", "image"] },
    });
  });

  test("the list accepts filters as query parameters, and a wrong filter is a 400", async () => {
    const ids: string[] = [];
    const query = { provider: "prov-b", sort: "name" };
    for await (const model of client.models.list({ query })) ids.push(model.id);
    expect(ids).toEqual(["test/b", "test/ba"]);
    const failed = client.models.list({ query: { min_context: "128k" } });
    await expect(failed).rejects.toMatchObject({ status: 400 });
  });

  test("one model is retrieved by its id, and an unknown one is a typed 404", async () => {
    expect(await client.models.retrieve("test/a")).toMatchObject({ id: "test/a" });
    const failed = client.models.retrieve("nope");
    await expect(failed).rejects.toBeInstanceOf(NotFoundError);
    await expect(failed).rejects.toMatchObject({ code: "model_unavailable" });
  });
});

describe("typed errors", () => {
  const params: Params = { model: "test/a", max_tokens: 64, messages: [say("Hello")] };
  const failureOf = async (asked: Promise<unknown>): Promise<APIError> => {
    const fault: unknown = await asked.catch((error: unknown) => error);
    if (!(fault instanceof APIError)) throw new Error(`no API error: ${String(fault)}`);
    expect(fault.requestID).toMatch(REQUEST_ID);
    expect(at(fault.error, "metadata.error_type")).toBe(fault.code);
    return fault;
  };

  test("n 2 is a BadRequestError that names the field, streaming or not", async () => {
    for (const stream of [false, true]) {
      const fault = await failureOf(client.chat.completions.create({ ...params, n: 2, stream }));
      expect(fault).toBeInstanceOf(BadRequestError);
      expect(fault).toMatchObject({ status: 400, code: "invalid_request" });
      expect(fault.message).toMatch(/\bn must be 1\b/);
    }
  });

  test("a key at its limit is a RateLimitError with retry-after", async () => {
    const slow = await gateway.account("1.00", { requestsPerMinute: 1 });
    const limited = clientWith(slow.key);
    await limited.chat.completions.create(params);
    const fault = await failureOf(limited.chat.completions.create(params));
    expect(fault).toBeInstanceOf(RateLimitError);
    expect(fault).toMatchObject({ status: 429, code: "rate_limit" });
    expect(Number(fault.headers?.get("retry-after"))).toBeGreaterThan(0);
  });

  test("a failing provider is an InternalServerError without the provider's message", async () => {
    const messages = [say("[[fault:status:500]]")];
    const fault = await failureOf(client.chat.completions.create({ ...params, messages }));
    expect(fault).toBeInstanceOf(InternalServerError);
    expect(fault).toMatchObject({ status: 500, code: "upstream_error" });
    expect(fault.message).not.toContain("secret-provider-words");
  });
});

describe("the client's own retries", () => {
  const params: Params = { model: "test/a", max_tokens: 64, messages: [say("Hello")] };

  test("a request that a spend cap refuses is not retried", async () => {
    const capped = await gateway.account("1.00", { keyCapUsd: "0.000100" });
    const { fetch, count } = countingFetch();
    const eager = clientWith(capped.key, { fetch, maxRetries: 3 });
    const fault: unknown = await eager.chat.completions.create(params).catch((error) => error);
    expect(fault).toMatchObject({ status: 429, code: "insufficient_quota" });
    expect(count()).toBe(1);
  });

  test("a provider's 409, which says that a retry cannot help, is not retried", async () => {
    const { fetch, count } = countingFetch();
    const eager = clientWith(account.key, { fetch, maxRetries: 3 });
    const refused = { ...params, messages: [say("[[fault:status:409]]")] };
    const fault: unknown = await eager.chat.completions.create(refused).catch((error) => error);
    expect(fault).toMatchObject({ status: 409, error: { metadata: { retryable: false } } });
    expect(count()).toBe(1);
  });

  test("a provider's 500 is retried and then served", async () => {
    gateway.simulator.script({ model: "test/a", fault: "status:500", times: 1 });
    const { fetch, count } = countingFetch();
    const eager = clientWith(account.key, { fetch, maxRetries: 1 });
    const completion = await eager.chat.completions.create(params);
    expect(completion.choices[0]?.message.content).toBe("You said: Hello");
    expect(count()).toBe(2);
  });
});
