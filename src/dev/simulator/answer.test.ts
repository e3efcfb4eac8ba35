import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { answerTo } from "./answer.ts";
import type { SimRequest } from "./sim-request.ts";

const weather = {
  name: "get_weather",
  schema: { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } } },
};
const time = { name: "get_time", schema: { type: "object" } };

const plain: SimRequest = {
  model: "m",
  stream: false,
  includeUsage: false,
  maxTokens: undefined,
  stops: [],
  tools: [],
  choice: { kind: "auto" },
  parallel: true,
  userText: "hello",
  toolResults: [],
  media: [],
  thinking: false,
  promptTokens: 100,
  cacheMarkedTokens: 0,
  hourMarkedTokens: 0,
};

describe("text", () => {
  test("echoes the last user text, without its markers", () => {
    const answer = answerTo({ ...plain, userText: "hi [cached:3][[fault:slow:1]]" });
    expect(answer).toMatchObject({ text: "You said: hi", finish: "stop", stopSequence: null });
  });

  test("is a sample that fits the schema, when there is one", () => {
    const answer = answerTo({ ...plain, answerSchema: weather.schema });
    expect(JSON.parse(answer.text)).toEqual({ city: "sample city", days: 7 });
  });

  test("ends at the earliest stop sequence, which is named and left out", () => {
    const answer = answerTo({ ...plain, userText: "one END two STOP", stops: ["STOP", "END"] });
    expect(answer).toMatchObject({
      text: "You said: one ",
      finish: "stop_sequence",
      stopSequence: "END",
    });
  });

  test("is cut at the output bound", () => {
    const answer = answerTo({ ...plain, userText: "[words:100]", maxTokens: 5 });
    expect(answer).toMatchObject({ finish: "length", usage: { output: 5 } });
    expect(answer.text).toHaveLength(20);
  });

  test("is as long as the user asks for, in hundreds", () => {
    const userText = "Tell me of a storm in about three hundred words, please.";
    expect(answerTo({ ...plain, userText }).text.split(" ")).toHaveLength(300);
    const answerSchema = weather.schema;
    expect(answerTo({ ...plain, userText, answerSchema }).text).toMatch(/^\{"city"/);
  });

  test("names each media part that was sent", () => {
    const media = [
      { kind: "image", digest: "00000001" },
      { kind: "audio", digest: "00000002" },
    ] as const;
    const sent = "You sent image 00000001. You sent audio 00000002.";
    expect(answerTo({ ...plain, media }).text).toBe(`You said: hello ${sent}`);
    const answered = { ...plain, media, userText: "", toolResults: ["12 °C"] };
    expect(answerTo(answered).text).toBe(`The tool answered: 12 °C ${sent}`);
  });

  test("is the code word, when it is asked for and known", () => {
    expect(answerTo({ ...plain, codeWord: "plum-7" }).text).toBe("The code word is plum-7.");
    const unknown = answerTo({ ...plain, codeWord: null }).text;
    expect(unknown).toBe("The prompt does not name the code word.");
  });

  test("quotes tool results", () => {
    const answer = answerTo({ ...plain, userText: "", toolResults: ["12 °C"], tools: [weather] });
    expect(answer).toMatchObject({ text: "The tool answered: 12 °C", calls: [] });
  });
});

describe("tools", () => {
  const tools = [weather, time];

  test.each([
    ["a name in the text", { userText: "please GET_WEATHER" }, ["get_weather"]],
    ["two names", { userText: "get_time and get_weather" }, ["get_weather", "get_time"]],
    ["the word both", { userText: "do both" }, ["get_weather", "get_time"]],
    ["one tool in parallel", { userText: "parallel", tools: [time] }, ["get_time", "get_time"]],
    ["no parallel calls", { userText: "do both", parallel: false }, ["get_weather"]],
    ["nothing asked for", { userText: "hello" }, []],
    ["a choice of any", { choice: { kind: "any" } as const }, ["get_weather"]],
    ["a named choice", { choice: { kind: "tool", name: "get_time" } as const }, ["get_time"]],
    ["a choice of none", { userText: "get_time", choice: { kind: "none" } as const }, []],
  ])("%s", (_name, change, expected) => {
    const answer = answerTo({ ...plain, tools, ...change });
    expect(answer.calls.map((call) => call.name)).toEqual(expected);
    expect(answer.finish).toBe(expected.length > 0 ? "tools" : "stop");
  });

  test("arguments follow the schema", () => {
    const [call] = answerTo({ ...plain, tools, userText: "get_weather" }).calls;
    expect(call?.arguments).toBe('{"city":"sample city","days":7}');
  });

  test("calls that do not fit the output bound are not made", () => {
    const answer = answerTo({ ...plain, tools, userText: "get_weather", maxTokens: 2 });
    expect(answer).toMatchObject({ calls: [], finish: "length" });
  });
});

test("usage counts cached, written and reasoning tokens as the markers say", () => {
  const userText = "[cached:30] [cache_write:20] [reasoning:9]";
  expect(answerTo({ ...plain, userText }).usage).toEqual({
    prompt: 100,
    cached: 30,
    cacheWrite: 20,
    hourWrite: 0,
    output: 9 + 3,
    reasoning: 9,
  });
});

test("output never exceeds the bound, and cached parts never exceed the prompt", () => {
  const requests = fc.record({
    maxTokens: fc.integer({ min: 1, max: 60 }),
    reasoning: fc.integer({ min: 0, max: 90 }),
    cached: fc.integer({ min: 0, max: 300 }),
    written: fc.integer({ min: 0, max: 300 }),
    text: fc.string({ unit: "grapheme", maxLength: 200 }),
    tools: fc.constantFrom([], [weather], [weather, time]),
  });
  fc.assert(
    fc.property(requests, ({ maxTokens, reasoning, cached, written, text, tools }) => {
      const markers = `[reasoning:${reasoning}][cached:${cached}][cache_write:${written}]`;
      const userText = `${text} both ${markers}`;
      const { usage, text: said } = answerTo({ ...plain, userText, maxTokens, tools });
      expect(usage.output).toBeLessThanOrEqual(maxTokens);
      expect(usage.reasoning).toBeLessThanOrEqual(usage.output);
      expect(usage.cached + usage.cacheWrite).toBeLessThanOrEqual(usage.prompt);
      expect(Buffer.from(said).toString()).toBe(said);
    }),
  );
});
