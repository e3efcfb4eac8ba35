import Anthropic from "@anthropic-ai/sdk";
import { beforeAll, describe, expect, test } from "vitest";
import { ANTHROPIC_CLIENTS, say, type AnthropicOptions } from "../../support/anthropic-clients.ts";
import { withAccount, withGateway } from "../../support/gateway.ts";
import { at } from "../../support/http-call.ts";
import { REQUEST_ID } from "../../support/refusals.ts";
import { countingFetch } from "../../support/settled.ts";

const gateway = withGateway();
const account = withAccount(gateway, "25.00");

const params: Anthropic.MessageCreateParamsNonStreaming = {
  model: "test/b",
  max_tokens: 64,
  messages: [say("Hello")],
};

describe.each(ANTHROPIC_CLIENTS)("@anthropic-ai/sdk %s", (_version, Client) => {
  let client: Anthropic;

  const clientWith = (apiKey: string, more: AnthropicOptions = {}): Anthropic =>
    new Client({ apiKey, baseURL: gateway.url, maxRetries: 0, ...more });

  beforeAll(() => {
    client = clientWith(account.key);
  });

  describe("models", () => {
    test("the list has every ready model in this wire's shape", async () => {
      const models: Anthropic.ModelInfo[] = [];
      for await (const model of client.models.list()) models.push(model);
      expect(models.map((model) => model.id)).toEqual(["test/a", "test/b", "test/ba", "test/both"]);
      expect(models[0]).toMatchObject({
        type: "model",
        display_name: "test/a",
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      });
    });

    test("each has every field that the client's type declares", async () => {
      const { data } = await client.models.list({ limit: 1 });
      const model: Partial<Anthropic.ModelInfo> = data[0] ?? {};
      expect(model).toMatchObject({ lifecycle: "active", deprecated_at: null, retires_at: null });
      expect(model).toMatchObject({ max_tokens: expect.any(Number) as number });
      expect(model).toMatchObject({ max_input_tokens: expect.any(Number) as number });
      expect([model.capabilities, model.line]).toEqual([null, null]);
    });

    test("the client pages through it, two at a time", async () => {
      const ids: string[] = [];
      for await (const model of client.models.list({ limit: 2 })) ids.push(model.id);
      expect(ids).toEqual(["test/a", "test/b", "test/ba", "test/both"]);
      const page = await client.models.list({ limit: 2, after_id: "test/b" });
      expect(page).toMatchObject({ has_more: false, first_id: "test/ba", last_id: "test/both" });
      const earlier = await client.models.list({ limit: 2, before_id: "test/both" });
      expect(earlier).toMatchObject({ has_more: true, first_id: "test/b", last_id: "test/ba" });
    });

    test("one model is retrieved by its id, and an unknown one is a typed 404", async () => {
      expect(await client.models.retrieve("test/a")).toMatchObject({ id: "test/a", type: "model" });
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
      expect(await bearer.messages.create(params)).toMatchObject({ role: "assistant" });
    });

    test("a bad bound is a BadRequestError of type api_error, before the stream begins", async () => {
      const asked = { ...params, max_tokens: 0 };
      const whole = await failureOf(client.messages.create({ ...asked }), "gateway_error");
      expect(whole).toBeInstanceOf(Client.BadRequestError);
      const streamed = client.messages.stream(asked).finalMessage();
      await expect(streamed).rejects.toBeInstanceOf(Client.BadRequestError);
    });

    test("a key at its limit is a RateLimitError with retry-after", async () => {
      const slow = await gateway.account("1.00", { requestsPerMinute: 1 });
      const limited = clientWith(slow.key);
      await limited.messages.create(params);
      const fault = await failureOf(limited.messages.create(params), "rate_limit");
      expect(fault).toBeInstanceOf(Client.RateLimitError);
      expect(at(fault, "error.error.type")).toBe("rate_limit_error");
      const headers = at(fault, "headers");
      if (!(headers instanceof Headers)) throw new Error("the error carries the headers");
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    });

    test("an overloaded provider is an InternalServerError without its message", async () => {
      const messages = [say("[[fault:status:529;message:secret-provider-words]]")];
      const asked = client.messages.create({ ...params, messages });
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
      const message = await eager.messages.create(params);
      expect(message.content).toMatchObject([{ text: "You said: Hello" }]);
      expect(count()).toBe(2);
    });
  });
});

type BetaParams = Anthropic.Beta.MessageCreateParamsNonStreaming;

const hello = { max_tokens: 64, messages: [{ role: "user" as const, content: "Hello" }] };
const newest = (): Anthropic =>
  new Anthropic({ apiKey: account.key, baseURL: gateway.url, maxRetries: 0 });
const tool: Anthropic.Beta.BetaTool = {
  name: "get_weather",
  input_schema: { type: "object", properties: { city: { type: "string" } } },
};

/** Fields of betas that the gateway drops, because the answer is the same without them. */
const DROPPED: readonly (readonly [string, string, Partial<BetaParams>])[] = [
  [
    "context-management-2025-06-27",
    "context_management",
    { context_management: { edits: [{ type: "clear_tool_uses_20250919" }] } },
  ],
  [
    "advanced-tool-use-2025-11-20",
    "tools.defer_loading",
    { tools: [tool, { ...tool, name: "get_time", defer_loading: true }] },
  ],
  [
    "advanced-tool-use-2025-11-20",
    "tools.input_examples",
    { tools: [{ ...tool, input_examples: [{ city: "Oslo" }] }] },
  ],
  [
    "task-budgets-2026-03-13",
    "output_config.task_budget",
    { output_config: { task_budget: { type: "tokens", total: 20_000 } } },
  ],
];

describe.each(["test/a", "test/b"])("a beta in front of %s", (model) => {
  test.each(DROPPED)("%s is dropped with %s, and both are named", async (beta, field, more) => {
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
  ])("%s: a 400 names %s, because the answer depends on it", async (beta, field, more) => {
    const before = gateway.simulator.calls().length;
    const refused = newest().beta.messages.create({ ...hello, model, betas: [beta], ...more });
    await expect(refused).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(field),
    });
    expect(gateway.simulator.calls()).toHaveLength(before);
  });
});

test("a field without its beta is refused by the provider, with the provider's message", async () => {
  const context_management = { edits: [] };
  const asked = { ...hello, model: "test/b", context_management };
  await expect(newest().beta.messages.create(asked)).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining("context_management: Extra inputs are not permitted"),
  });
});
