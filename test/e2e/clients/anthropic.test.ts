import Anthropic from "@anthropic-ai/sdk";
import { beforeAll, describe, expect, test } from "vitest";
import { ANTHROPIC_CLIENTS, say, type AnthropicOptions } from "../../support/anthropic-clients.ts";
import { withAccount, withGateway } from "../../support/gateway.ts";
import { at } from "../../support/http-call.ts";
import { REQUEST_ID } from "../../support/refusals.ts";
import { countingFetch, listedCost, settledRecord } from "../../support/settled.ts";

type Params = Anthropic.MessageCreateParamsNonStreaming;
type Asked = Partial<Params> & Pick<Params, "messages">;
interface Answered {
  readonly message: Anthropic.Message;
  readonly cost: unknown;
}

const gateway = withGateway();
const account = withAccount(gateway, "25.00");

function tool(name: string): Anthropic.Tool {
  const properties = { city: { type: "string" } };
  return { name, description: `Runs ${name}`, input_schema: { type: "object", properties } };
}
const tools = [tool("get_weather"), tool("get_time")];

describe.each(ANTHROPIC_CLIENTS)("@anthropic-ai/sdk %s", (_version, Client) => {
  let client: Anthropic;
  beforeAll(() => {
    client = new Client({ apiKey: account.key, baseURL: gateway.url, maxRetries: 0 });
  });

  describe.each(["test/a", "test/b"])("with the model %s", (model) => {
    describe.each([
      ["without streaming", false],
      ["streaming", true],
    ])("%s", (_how, stream) => {
      const askForCost = async (params: Asked): Promise<Answered> => {
        const asked: Params = { model, max_tokens: 256, ...params };
        if (!stream) {
          const message = await client.messages.create(asked);
          return { message, cost: at(message, "usage.cost") };
        }
        // The accumulator keeps only fields that it knows, so the cost is read from the event.
        const costs: unknown[] = [];
        const reading = client.messages.stream(asked).on("streamEvent", (event) => {
          if (event.type === "message_delta") costs.push(at(event, "usage.cost"));
        });
        const message = await reading.finalMessage();
        expect(costs).toHaveLength(1);
        return { message, cost: costs[0] };
      };
      const ask = async (params: Asked): Promise<Anthropic.Message> =>
        (await askForCost(params)).message;

      test("text comes back under the marketplace's model id, with usage and cost", async () => {
        const { message, cost } = await askForCost({ messages: [say('Grüße 🙂 "world"')] });
        expect(message).toMatchObject({
          id: expect.stringMatching(/^msg_/),
          type: "message",
          role: "assistant",
          model,
          content: [{ type: "text", text: 'You said: Grüße 🙂 "world"' }],
          stop_reason: "end_turn",
          stop_sequence: null,
        });
        const { input_tokens: prompt, output_tokens: output } = message.usage;
        expect(prompt).toBeGreaterThan(0);
        expect(output).toBeGreaterThan(0);
        expect(cost).toBe(listedCost(prompt, output));
      });

      test("the system prompt reaches the provider as a system prompt", async () => {
        await ask({ system: "Be brief.", messages: [say("Hello")] });
        const sent = gateway.simulator.calls().at(-1)?.body;
        const expected =
          model === "test/b"
            ? { system: "Be brief.", messages: [say("Hello")] }
            : { messages: [{ role: "system", content: "Be brief." }, say("Hello")] };
        expect(sent).toMatchObject(expected);
      });

      test("two parallel tool calls after a text keep their order", async () => {
        const messages = [say("Call both get_weather and get_time [preface]")];
        const message = await ask({ messages, tools });
        expect(message.stop_reason).toBe("tool_use");
        expect(message.content).toMatchObject([
          { type: "text", text: "Let me look that up." },
          { type: "tool_use", name: "get_weather", input: { city: "sample city" } },
          { type: "tool_use", name: "get_time", input: { city: "sample city" } },
        ]);
        expect(new Set(toolUses(message).map((block) => block.id)).size).toBe(2);
      });

      test("disable_parallel_tool_use limits the answer to one tool call", async () => {
        const message = await ask({
          messages: [say("Call both get_weather and get_time")],
          tools,
          tool_choice: { type: "auto", disable_parallel_tool_use: true },
        });
        expect(toolUses(message)).toHaveLength(1);
      });

      test("tool results go back to the model, which answers from them", async () => {
        const messages = [say("Call both get_weather and get_time")];
        const first = await ask({ messages, tools });
        const results = toolUses(first).map((block, index): Anthropic.ToolResultBlockParam => ({
          type: "tool_result",
          tool_use_id: block.id,
          content: index === 0 ? "21 degrees" : "noon",
        }));
        const second = await ask({
          messages: [
            ...messages,
            { role: "assistant", content: first.content },
            { role: "user", content: results },
          ],
          tools,
        });
        expect(second).toMatchObject({
          stop_reason: "end_turn",
          content: [{ type: "text", text: "The tool answered: 21 degrees; noon" }],
        });
      });

      test("a stop sequence ends the answer and is not part of it", async () => {
        const message = await ask({
          messages: [say("alpha STOP beta")],
          stop_sequences: ["STOP"],
        });
        expect(message.content).toMatchObject([{ type: "text", text: "You said: alpha " }]);
        // Providers of the other wire do not report which stop sequence ended the answer.
        expect(message).toMatchObject(
          model === "test/b"
            ? { stop_reason: "stop_sequence", stop_sequence: "STOP" }
            : { stop_reason: "end_turn", stop_sequence: null },
        );
      });

      test("the output bound ends the answer with the stop reason max_tokens", async () => {
        const message = await ask({ messages: [say("[words:500]")], max_tokens: 7 });
        expect(message).toMatchObject({ stop_reason: "max_tokens", usage: { output_tokens: 7 } });
      });

      test("cached tokens are reported separately and priced into the cost", async () => {
        const messages = [say(`${"x".repeat(400)} [cached:40]`)];
        const { message, cost } = await askForCost({ messages });
        expect(message.usage.cache_read_input_tokens).toBe(40);
        const { input_tokens: prompt, output_tokens: output } = message.usage;
        expect(cost).toBe(listedCost(prompt + 40, output));
      });
    });

    test("the answer's request id finds the settled usage record", async () => {
      const params = { model, max_tokens: 64, messages: [say("Hello")] };
      const {
        data,
        response,
        request_id: id,
      } = await client.messages.create(params).withResponse();
      expect(id).toMatch(REQUEST_ID);
      expect(at(data, "_request_id")).toBe(id);
      expect(response.headers.get("x-tm-provider")).toBe(model === "test/a" ? "prov-a" : "prov-b");
      expect(await settledRecord(gateway, account, id)).toMatchObject({
        model,
        route: "/v1/messages",
        outcome: "completed",
        total_cost: at(data.usage, "cost"),
        attempts: [{ n: 1, outcome: "completed", settlement: "reported" }],
      });
    });

    test("the accumulator returns every text, in order, and ends once", async () => {
      const stream = client.messages.stream({ model, max_tokens: 64, messages: [say("Hello")] });
      const texts: string[] = [];
      const kinds: string[] = [];
      stream.on("text", (delta) => texts.push(delta));
      stream.on("streamEvent", (event) => kinds.push(event.type));
      expect(await stream.finalText()).toBe("You said: Hello");
      expect(texts.join("")).toBe("You said: Hello");
      expect(kinds[0]).toBe("message_start");
      expect(kinds.slice(-2)).toEqual(["message_delta", "message_stop"]);
      expect(kinds.filter((kind) => kind === "content_block_start")).toHaveLength(1);
      expect(stream.request_id).toMatch(REQUEST_ID);
    });

    test("a stream that dies in the middle ends with one typed error", async () => {
      const messages = [say("[words:60] [[fault:reset:event:6]]")];
      const stream = client.messages.stream({ model, max_tokens: 400, messages });
      const fault: unknown = await stream.finalMessage().catch((error: unknown) => error);
      expect(fault).toBeInstanceOf(Client.APIError);
      expect(at(fault, "error.error")).toMatchObject({
        type: "api_error",
        error_type: "upstream_error",
      });
      const record = await settledRecord(gateway, account, stream.request_id);
      expect(record).toMatchObject({ outcome: "stream_died" });
    });
  });

  describe("features that only a wire_b provider has", () => {
    const model = "test/b";
    const thinking = { type: "enabled", budget_tokens: 1024 } as const;
    const messages = [say("Hello")];

    test("thinking comes back with its signature, and can be sent again", async () => {
      const params = { model, max_tokens: 2048, thinking, messages };
      for (const ask of [
        client.messages.create(params),
        client.messages.stream(params).finalMessage(),
      ]) {
        const { content } = await ask;
        expect(content).toMatchObject([
          {
            type: "thinking",
            thinking: "Thinking about: Hello",
            signature: expect.stringMatching(/.+/),
          },
          { type: "text", text: "You said: Hello" },
        ]);
        const again = [...messages, { role: "assistant" as const, content }, say("Again")];
        const second = await client.messages.create({ ...params, messages: again });
        expect(second.content.at(-1)).toMatchObject({ text: "You said: Again" });
      }
    });

    test("a block marked for the prompt cache is written to it and priced", async () => {
      const text = "x".repeat(400);
      const system = [
        { type: "text" as const, text, cache_control: { type: "ephemeral" as const } },
      ];
      const message = await client.messages.create({ model, max_tokens: 64, system, messages });
      const { input_tokens: fresh, output_tokens: output } = message.usage;
      const written = message.usage.cache_creation_input_tokens ?? 0;
      expect(written).toBeGreaterThanOrEqual(100);
      expect(message.usage).toMatchObject({ cost: listedCost(fresh + written, output) });
    });

    test("the beta namespace is served: its header is passed on, its query is not", async () => {
      const message = await client.beta.messages.create({
        model,
        max_tokens: 64,
        messages: [{ role: "user", content: "Hello" }],
        betas: ["interleaved-thinking-2025-05-14"],
      });
      expect(message.content).toMatchObject([{ text: "You said: Hello" }]);
      expect(gateway.simulator.calls().at(-1)).toMatchObject({
        path: "/b/v1/messages",
        query: "",
        headers: { "anthropic-beta": "interleaved-thinking-2025-05-14" },
      });
    });
  });
});

const greeting: Anthropic.MessageCreateParamsNonStreaming = {
  model: "test/b",
  max_tokens: 64,
  messages: [say("Hello")],
};

describe.each(ANTHROPIC_CLIENTS)(
  "models and errors of @anthropic-ai/sdk %s",
  (_version, Client) => {
    let client: Anthropic;

    const clientWith = (apiKey: string, more: AnthropicOptions = {}): Anthropic =>
      new Client({ apiKey, baseURL: gateway.url, maxRetries: 0, ...more });

    beforeAll(() => {
      client = clientWith(account.key);
    });

    describe("models", () => {
      test("the list has every ready model in the wire_b shape", async () => {
        const models: Anthropic.ModelInfo[] = [];
        for await (const model of client.models.list()) models.push(model);
        expect(models.map((model) => model.id)).toEqual([
          "test/a",
          "test/b",
          "test/ba",
          "test/both",
        ]);
        expect(models[0]).toMatchObject({
          type: "model",
          display_name: "test/a",
          created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        });
      });

      test("each model has every field that the client's type declares", async () => {
        const { data } = await client.models.list({ limit: 1 });
        const model: Partial<Anthropic.ModelInfo> = data[0] ?? {};
        expect(model).toMatchObject({ lifecycle: "active", deprecated_at: null, retires_at: null });
        expect(model).toMatchObject({ max_tokens: expect.any(Number) as number });
        expect(model).toMatchObject({ max_input_tokens: expect.any(Number) as number });
        expect([model.capabilities, model.line]).toEqual([null, null]);
      });

      test("the client pages through the models, two at a time", async () => {
        const ids: string[] = [];
        for await (const model of client.models.list({ limit: 2 })) ids.push(model.id);
        expect(ids).toEqual(["test/a", "test/b", "test/ba", "test/both"]);
        const page = await client.models.list({ limit: 2, after_id: "test/b" });
        expect(page).toMatchObject({ has_more: false, first_id: "test/ba", last_id: "test/both" });
        const earlier = await client.models.list({ limit: 2, before_id: "test/both" });
        expect(earlier).toMatchObject({ has_more: true, first_id: "test/b", last_id: "test/ba" });
      });

      test("one model is retrieved by its id, and an unknown one is a typed 404", async () => {
        expect(await client.models.retrieve("test/a")).toMatchObject({
          id: "test/a",
          type: "model",
        });
        await expect(client.models.retrieve("nope")).rejects.toBeInstanceOf(Client.NotFoundError);
      });
    });

    describe("typed errors", () => {
      const failureOf = async (asked: Promise<unknown>, code: string): Promise<unknown> => {
        const fault: unknown = await asked.catch((error: unknown) => error);
        expect(fault).toBeInstanceOf(Client.APIError);
        expect(at(fault, "requestID")).toMatch(REQUEST_ID);
        expect(at(fault, "error.request_id")).toBe(at(fault, "requestID"));
        expect(at(fault, "error.error.error_type")).toBe(code);
        return fault;
      };

      test("the key is taken as a bearer token as well", async () => {
        const bearer = clientWith("unused", { apiKey: null, authToken: account.key });
        expect(await bearer.messages.create(greeting)).toMatchObject({ role: "assistant" });
      });

      test("a bad bound is a BadRequestError of type api_error, before the stream begins", async () => {
        const asked = { ...greeting, max_tokens: 0 };
        const whole = await failureOf(client.messages.create({ ...asked }), "gateway_error");
        expect(whole).toBeInstanceOf(Client.BadRequestError);
        const streamed = client.messages.stream(asked).finalMessage();
        await expect(streamed).rejects.toBeInstanceOf(Client.BadRequestError);
      });

      test("a key at its limit is a RateLimitError with retry-after", async () => {
        const slow = await gateway.account("1.00", { requestsPerMinute: 1 });
        const limited = clientWith(slow.key);
        await limited.messages.create(greeting);
        const fault = await failureOf(limited.messages.create(greeting), "rate_limit");
        expect(fault).toBeInstanceOf(Client.RateLimitError);
        expect(at(fault, "error.error.type")).toBe("rate_limit_error");
        const headers = at(fault, "headers");
        if (!(headers instanceof Headers)) throw new Error("the error carries the headers");
        expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
      });

      test("an overloaded provider is an InternalServerError without its message", async () => {
        const messages = [say("[[fault:status:529;message:secret-provider-words]]")];
        const asked = client.messages.create({ ...greeting, messages });
        const fault = await failureOf(asked, "upstream_error");
        expect(fault).toBeInstanceOf(Client.InternalServerError);
        expect(fault).toMatchObject({ status: 503 });
        expect(at(fault, "message")).not.toContain("secret-provider-words");
      });
    });

    describe("the client's own retries", () => {
      test("an overloaded provider is retried and then served", async () => {
        gateway.simulator.script({ model: "test/b", fault: "overloaded", times: 1 });
        const { fetch, count } = countingFetch();
        const eager = clientWith(account.key, { fetch, maxRetries: 1 });
        const message = await eager.messages.create(greeting);
        expect(message.content).toMatchObject([{ text: "You said: Hello" }]);
        expect(count()).toBe(2);
      });
    });
  },
);

type BetaParams = Anthropic.Beta.MessageCreateParamsNonStreaming;

const hello = { max_tokens: 64, messages: [{ role: "user" as const, content: "Hello" }] };
const newest = (): Anthropic =>
  new Anthropic({ apiKey: account.key, baseURL: gateway.url, maxRetries: 0 });
const betaTool: Anthropic.Beta.BetaTool = {
  name: "get_weather",
  input_schema: { type: "object", properties: { city: { type: "string" } } },
};

/** Fields of beta features that the gateway drops, because the answer is the same without them. */
const DROPPED: readonly (readonly [string, string, Partial<BetaParams>])[] = [
  [
    "context-management-2025-06-27",
    "context_management",
    { context_management: { edits: [{ type: "clear_tool_uses_20250919" }] } },
  ],
  [
    "advanced-tool-use-2025-11-20",
    "tools.defer_loading",
    { tools: [betaTool, { ...betaTool, name: "get_time", defer_loading: true }] },
  ],
  [
    "advanced-tool-use-2025-11-20",
    "tools.input_examples",
    { tools: [{ ...betaTool, input_examples: [{ city: "Oslo" }] }] },
  ],
  [
    "task-budgets-2026-03-13",
    "output_config.task_budget",
    { output_config: { task_budget: { type: "tokens", total: 20_000 } } },
  ],
  [
    "per-turn-control-2026-07-01",
    "messages.output_config",
    { messages: [...hello.messages, { role: "system", output_config: { effort: "low" } }] },
  ],
  [
    "mid-conversation-output-config-2026-07-01",
    "messages.output_config",
    {
      messages: [
        ...hello.messages,
        { role: "system", content: [], output_config: { effort: "low" } },
      ],
    },
  ],
  [
    "mid-conversation-tool-changes-2026-07-01",
    "messages.content.tool_removal",
    {
      messages: [
        ...hello.messages,
        {
          role: "system",
          content: [
            { type: "tool_removal", tool: { type: "tool_reference", name: betaTool.name } },
          ],
        },
      ],
      tools: [betaTool],
    },
  ],
];

describe.each(["test/a", "test/b"])("a beta with the model %s", (model) => {
  test.each(DROPPED)("%s is dropped with its %s, and both are named", async (beta, field, more) => {
    const kept = "interleaved-thinking-2025-05-14";
    const { data, response } = await newest()
      .beta.messages.create({ ...hello, model, betas: [beta, kept], ...more })
      .withResponse();
    expect(data.content).toMatchObject([{ text: "You said: Hello" }]);
    const named = response.headers.get("x-tm-dropped-params")?.split(/,\s*/);
    expect(named).toEqual(expect.arrayContaining([field, beta]));
    const sent = gateway.simulator.calls().at(-1);
    expect(JSON.stringify(sent?.body)).not.toContain(`"${field.split(".").at(-1)}"`);
    expect(JSON.stringify(sent?.body).includes("get_weather")).toBe("tools" in more);
  });

  const file = { type: "file", file_id: "file_011CNha8iCJcU1wXNR6q4V8w" } as const;
  const files = "files-api-2025-04-14";
  const user = (block: Anthropic.Beta.BetaContentBlockParam): Partial<BetaParams> => ({
    messages: [{ role: "user", content: [{ type: "text", text: "Read it" }, block] }],
  });

  test.each<readonly [string, string, Partial<BetaParams>]>([
    [files, "messages.0.content.1.source.type", user({ type: "document", source: file })],
    [files, "messages.0.content.1.source.type", user({ type: "image", source: file })],
    [files, "messages.0.content.1.type", user({ type: "container_upload", file_id: "file_1" })],
    [
      "mcp-client-2025-11-20",
      "mcp_servers",
      { mcp_servers: [{ type: "url", url: "https://example.com/mcp", name: "x" }] },
    ],
    ["skills-2025-10-02", "container", { container: { skills: [] } }],
    ["compact-2026-09-04", "compaction", { compaction: { type: "summarize" } }],
  ])("%s is refused with a 400 that names the field %s", async (beta, field, more) => {
    const before = gateway.simulator.calls().length;
    const refused = newest().beta.messages.create({ ...hello, model, betas: [beta], ...more });
    await expect(refused).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(field),
    });
    expect(gateway.simulator.calls()).toHaveLength(before);
  });
});

test("a beta field without its beta header is refused with the provider's own message", async () => {
  const context_management = { edits: [] };
  const asked = { ...hello, model: "test/b", context_management };
  await expect(newest().beta.messages.create(asked)).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining("context_management: Extra inputs are not permitted"),
  });
});

function toolUses(message: Anthropic.Message): readonly Anthropic.ToolUseBlock[] {
  return message.content.flatMap((block) => (block.type === "tool_use" ? block : []));
}
