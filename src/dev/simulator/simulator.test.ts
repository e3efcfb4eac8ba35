import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startSimulator, type Simulator } from "./simulator.ts";

const HOST = "127.0.0.1";
const CHAT = "/a/v1/chat/completions";
const MESSAGES = "/b/v1/messages";
const HEADERS = { authorization: "Bearer sk-simulated-key", "anthropic-version": "2023-06-01" };

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator({ port: 0, host: HOST });
});
beforeEach(async () => {
  await send("POST", "/calls/reset");
});
afterAll(() => simulator.close());

async function send(method: string, path: string, body?: unknown, headers = {}) {
  const response = await fetch(simulator.url + path, {
    method,
    headers: { ...HEADERS, ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text };
}

function chatBody(text: string, more = {}) {
  return { model: "m", messages: [{ role: "user", content: text }], ...more };
}

function messagesBody(text: string, more = {}) {
  return { ...chatBody(text), max_tokens: 100, ...more };
}

describe("official clients", () => {
  const chatTools = ["get_weather", "get_time"].map((name) => ({
    type: "function" as const,
    function: { name, parameters: { type: "object", properties: { city: { type: "string" } } } },
  }));
  const messagesTools = chatTools.map(({ function: { name, parameters } }) => ({
    name,
    input_schema: { ...parameters, type: "object" as const },
  }));
  const chat = () => new OpenAI({ baseURL: `${simulator.url}/a/v1`, apiKey: "sk", maxRetries: 0 });
  const messages = () =>
    new Anthropic({ baseURL: `${simulator.url}/b`, apiKey: "sk", maxRetries: 0 });

  test("read the list of models, and a bad key reads nothing", async () => {
    const ofChat = await chat().models.list();
    expect(ofChat.data).toMatchObject([{ id: "simulated", object: "model" }]);
    const ofMessages = await messages().models.list();
    expect(ofMessages.data).toMatchObject([{ id: "simulated", type: "model" }]);
    const bad = { apiKey: "sk-invalid", maxRetries: 0 };
    const denied = [
      new OpenAI({ ...bad, baseURL: `${simulator.url}/a/v1` }).models.list(),
      new Anthropic({ ...bad, baseURL: `${simulator.url}/b` }).models.list(),
    ];
    for (const each of denied) await expect(each).rejects.toMatchObject({ status: 401 });
    expect(simulator.counts().total).toBe(0);
  });

  test("read the same chat answer whole and streamed", async () => {
    const request = { model: "m", messages: [{ role: "user" as const, content: "grüß dich 🦊" }] };
    const whole = await chat().chat.completions.create(request);
    const streamed = await chat()
      .chat.completions.stream({ ...request, stream_options: { include_usage: true } })
      .finalChatCompletion();
    expect(whole.choices[0]?.message.content).toBe("You said: grüß dich 🦊");
    expect(streamed.choices[0]?.message.content).toBe("You said: grüß dich 🦊");
    expect(streamed.usage).toEqual(whole.usage);
  });

  test("read two parallel chat calls from a stream", async () => {
    const completion = await chat()
      .chat.completions.stream({
        ...chatBody("both"),
        tools: chatTools,
        messages: [{ role: "user", content: "both" }],
      })
      .finalChatCompletion();
    const [choice] = completion.choices;
    expect(choice?.finish_reason).toBe("tool_calls");
    expect(
      choice?.message.tool_calls?.map((call) => call.type === "function" && call.function),
    ).toEqual([
      expect.objectContaining({ name: "get_weather", arguments: '{"city":"sample city"}' }),
      expect.objectContaining({ name: "get_time", arguments: '{"city":"sample city"}' }),
    ]);
  });

  test("read the same message whole and streamed, reasoning included", async () => {
    const request = {
      model: "m",
      max_tokens: 2_000,
      thinking: { type: "enabled" as const, budget_tokens: 1_024 },
      tools: messagesTools,
      messages: [
        { role: "user" as const, content: "[preface] get_weather and get_time [cached:4]" },
      ],
    };
    const whole = await messages().messages.create(request);
    const streamed = await messages().messages.stream(request).finalMessage();
    expect(streamed.content.map((block) => block.type)).toEqual([
      "thinking",
      "text",
      "tool_use",
      "tool_use",
    ]);
    const meaning = (message: typeof whole) =>
      message.content.map((block) => (block.type === "tool_use" ? block.input : block.type));
    expect(meaning(streamed)).toEqual(meaning(whole));
    expect(streamed.usage).toMatchObject({ cache_read_input_tokens: 4 });
    expect(streamed.usage.output_tokens).toBe(whole.usage.output_tokens);
  });
});

describe("usage on the chat wire", () => {
  test("comes in a stream only when it is asked for", async () => {
    const without = await send("POST", CHAT, chatBody("hi", { stream: true }));
    expect(without.text).not.toContain("usage");
    const asked = { stream: true, stream_options: { include_usage: true } };
    const chunks = (await send("POST", CHAT, chatBody("hi", asked))).text.trim().split("\n\n");
    expect(chunks.at(-1)).toBe("data: [DONE]");
    expect(chunks.at(-2)).toContain('"choices":[],"usage":{"prompt_tokens":2');
    expect(chunks.length).toBeGreaterThan(3);
    expect(chunks.slice(0, -2).every((chunk) => chunk.includes('"usage":null'))).toBe(true);
  });
});

describe("strictness", () => {
  test.each([
    [CHAT, { authorization: "Bearer invalid" }, 401, '"code":"invalid_api_key"'],
    [CHAT, { authorization: `Bearer tm_vk_${"a".repeat(48)}` }, 401, '"error":{"message"'],
    [MESSAGES, { "anthropic-version": "1" }, 400, '"type":"invalid_request_error"'],
  ])("%s with %j is %i", async (path, headers, status, shape) => {
    const answer = await send("POST", path, messagesBody("hi"), headers);
    expect(answer.status).toBe(status);
    expect(answer.text).toContain(shape);
  });

  test("an unknown model is 404 in the shape of the wire", async () => {
    const onChat = await send("POST", CHAT, chatBody("hi", { model: "unknown-x" }));
    expect(onChat.status).toBe(404);
    expect(JSON.parse(onChat.text)).toMatchObject({ error: { code: "model_not_found" } });
    const onMessages = await send("POST", MESSAGES, messagesBody("hi", { model: "unknown-x" }));
    expect(onMessages.status).toBe(404);
    expect(JSON.parse(onMessages.text)).toMatchObject({
      type: "error",
      error: { type: "not_found_error" },
    });
  });

  test("a body that is not a JSON object is 400", async () => {
    expect((await send("POST", CHAT, [1])).status).toBe(400);
  });
});

describe("the call log", () => {
  test("counts generation calls by path, and nothing else", async () => {
    await send("POST", CHAT, chatBody("one"));
    await send("POST", "/v1/chat/completions", chatBody("two"));
    await send("POST", MESSAGES, { broken: true });
    const counted = await send("POST", `${MESSAGES}/count_tokens`, chatBody("12345678"));
    expect(JSON.parse(counted.text)).toEqual({ input_tokens: 3 });
    const expected = {
      total: 3,
      paths: { [CHAT]: 1, "/v1/chat/completions": 1, [MESSAGES]: 1 },
      open: 0,
      abandoned: 0,
    };
    expect(JSON.parse((await send("GET", "/calls")).text)).toEqual(expected);
    expect(simulator.counts()).toEqual(expected);
  });

  test("keeps what was received, with the key cut short", async () => {
    const body = chatBody("remember me", { some_field: { deep: [1, 2] } });
    await send("POST", `${CHAT}?beta=true`, body);
    const { calls } = JSON.parse((await send("GET", "/calls/last")).text) as { calls: unknown[] };
    expect(calls).toEqual([
      expect.objectContaining({
        path: CHAT,
        query: "beta=true",
        body,
        bodyText: JSON.stringify(body),
        fault: null,
        outcome: "answered",
      }),
    ]);
    expect(JSON.stringify(calls)).not.toContain("sk-simulated-key");
  });
});

test("ids depend on the seed and the number of the call", async () => {
  const idsOf = async (seed: string) => {
    const other = await startSimulator({ port: 0, host: HOST, seed });
    const response = await fetch(other.url + MESSAGES, {
      method: "POST",
      headers: HEADERS,
      body: JSON.stringify(messagesBody("hi")),
    });
    const { id } = (await response.json()) as { id: string };
    await other.close();
    return id;
  };
  expect(await idsOf("one")).toBe(await idsOf("one"));
  expect(await idsOf("one")).not.toBe(await idsOf("two"));
});

test("can speak one wire only", async () => {
  const other = await startSimulator({ port: 0, host: HOST, wire: "wire_b" });
  const statusOf = async (path: string) =>
    (
      await fetch(other.url + path, {
        method: "POST",
        headers: HEADERS,
        body: JSON.stringify(messagesBody("hi")),
      })
    ).status;
  expect(await statusOf(CHAT)).toBe(404);
  expect(await statusOf(MESSAGES)).toBe(200);
  await other.close();
});
