import { describe, expect, test } from "vitest";

import type { Deployment, PriceSheet } from "../../../catalog/catalog.ts";
import { MEDIA_PART_TOKENS } from "../../../kernel/core/constants.ts";
import {
  decisionBody,
  decisionsDeployment,
  goodDecision,
  publicForm,
  sentDecision,
} from "../../../../test/fixtures/modality/decision-kit.ts";
import { marketModel } from "../../../../test/fixtures/modality/request-kit.ts";
import { inputTokens } from "./encode-request.ts";
import { decisions } from "./index.ts";

type Json = Readonly<Record<string, unknown>>;

const upstreamModelId = "lab-decide-1";
const urgent = { schema: { type: "boolean" }, instructions: "Is it urgent?" };
const mood = { type: "classification", labels: ["calm", "angry"] };

/** Returns the body for a provider that accepts the client's body as sent. */
function asSent(text: string, changes: Partial<Deployment> = { upstreamModelId }): string {
  const request = goodDecision(text);
  return sentDecision(request, decisionsDeployment({ wire: request.grammar }, changes));
}

/** Returns this body in the provider's public API format (the public form), parsed. */
function encoded(members: Json): unknown {
  return JSON.parse(publicForm(goodDecision(members), { upstreamModelId }));
}

/** Returns the public form of one question, with instructions, in the SystemOne format. */
function encodedQuestion(question: Json): unknown {
  const body = encoded({ questions: { a: { instructions: "i", ...question } } });
  return (body as { questions: { a: unknown } }).questions.a;
}

/** Returns the public form of the schema of these GLiNER questions. */
function encodedSchema(questions: unknown): unknown {
  return (encoded({ questions }) as { schema: unknown }).schema;
}

describe("a body that is forwarded as sent", () => {
  test("changes only the model, byte by byte", () => {
    const text = `{ "questions" : {"a":{"schema":{"type":"noul"},"text":"\\u00e9 1.0e2"}},
      "state": {"big":12345678901234567890,"x":1.0,"y":"\\ud800"}, "model":"${marketModel}" }`;
    expect(asSent(text)).toBe(text.replace(marketModel, upstreamModelId));
    expect(asSent(text, {})).toBe(text);
  });

  test("loses the gateway's fields and those that only identify the caller", () => {
    const own = { provider: { only: ["a"] }, route: "x", models: [], transforms: [] };
    const who = { user: "u", metadata: { a: 1 }, session_id: "s" };
    for (const questions of [{ urgent }, [urgent], { mood }]) {
      const body = { ...own, model: marketModel, ...who, state: "s", questions };
      const sent = asSent(JSON.stringify(body));
      expect(sent).toBe(JSON.stringify({ model: upstreamModelId, state: "s", questions }));
    }
  });

  test("keeps text, options and schema of GLiNER bodies", () => {
    const body = { model: upstreamModelId, text: "t", schema: { entities: ["a"] }, threshold: 0.5 };
    expect(asSent(JSON.stringify({ ...body, model: marketModel }))).toBe(JSON.stringify(body));
  });

  test("has provider.upstream as its provider field only for an aggregator, in the public form too", () => {
    const text = decisionBody({ questions: { urgent }, provider: { upstream: { only: ["x"] } } });
    expect(JSON.parse(asSent(text, { priority: 1 }))).toHaveProperty("provider", { only: ["x"] });
    expect(JSON.parse(asSent(text, { priority: 0 }))).not.toHaveProperty("provider");
    const request = goodDecision(text);
    expect(JSON.parse(publicForm(request, { priority: 1 }))).toHaveProperty("provider.only", ["x"]);
    expect(JSON.parse(publicForm(request))).not.toHaveProperty("provider");
  });
});

describe("the public form of systemone requests", () => {
  test("has the model, the state and the questions by id, and nothing else", () => {
    const who = { user: "u", metadata: {}, session_id: "s", route: "x" };
    const question = { type: "noul", instructions: "Is it urgent?" };
    expect(encoded({ questions: [urgent, { ...urgent, name: "b" }], ...who })).toEqual({
      model: upstreamModelId,
      state: "the mug is red",
      questions: { q1: question, b: question },
    });
  });

  const labels = { b: null, a: null };
  const answers = { true: ["y"], false: "n" };
  const described = { a: { x: 1 }, b: null };
  const levels = ["lo", "hi"];
  test.each([
    [{ type: "noul" }, { type: "noul" }],
    [
      { type: "boolean", criteria: answers },
      { type: "noul", criteria: answers },
    ],
    [
      { type: "string", enum: ["b", "a"] },
      { type: "choice", criteria: labels },
    ],
    [
      { type: "choice", criteria: described },
      { type: "choice", criteria: described },
    ],
    [
      { type: "integer", min: 1, max: 3 },
      { type: "score", criteria: ["1", "2", "3"] },
    ],
    [
      { type: "score", criteria: levels, description: "d" },
      { type: "score", criteria: levels, instructions: "i\n\nd" },
    ],
  ])("the schema %j is sent as %j", (type, sent) => {
    expect(encodedQuestion({ schema: type })).toEqual({ instructions: "i", ...sent });
  });

  test("digits, escapes and the order of labels stay as they were sent", () => {
    const state = '{"n":12345678901234567890,"f":1.0,"s":"\\u00e9é\\ud800"}';
    const criteria = '{"z":{"n":1e400},"1":null,"ä\\u0061":"x"}';
    const text = `{"model":"m","state":${state},"questions":{"a":{"schema":{"type":"choice","criteria":${criteria}}}}}`;
    const sent = publicForm(goodDecision(text), { upstreamModelId });
    expect(sent).toBe(
      `{"model":"${upstreamModelId}","state":${state},` +
        `"questions":{"a":{"type":"choice","criteria":${criteria}}}}`,
    );
  });
});

describe("the public form of GLiNER requests", () => {
  test("has text, schema and the options as sent", () => {
    const options = { threshold: 0.5, include_confidence: true, include_spans: false };
    expect(encoded({ questions: { mood }, user: "u", ...options })).toEqual({
      model: upstreamModelId,
      text: "the mug is red",
      schema: { classifications: [{ task: "mood", labels: ["calm", "angry"] }] },
      ...options,
    });
  });

  test("a state that is not a text is sent as compact JSON text", () => {
    const text =
      '{"model":"m","questions":{"mood":{"kind":"classification","labels":["ä","b"]}},"state":{ "ä" : [ 1.0, "a b" ] }}';
    expect(JSON.parse(publicForm(goodDecision(text)))).toMatchObject({ text: '{"ä":[1.0,"a b"]}' });
  });

  test("has a section for every kind", () => {
    const options = { multi_label: true, top_k: 1, examples: [["hi", "calm"]] };
    const questions = [
      { ...mood, ...options, name: "mood", threshold: 0.4, question: "How?" },
      { type: "boolean", name: "urgent", prompt: "Is it?" },
      { type: "entities", labels: ["person"] },
      { type: "relations", labels: { knows: "d" } },
      { type: "structure", name: "event", fields: [{ name: "title", dtype: "str" }] },
    ];
    const task = { task: "mood", labels: ["calm", "angry"], cls_threshold: 0.4, prompt: "How?" };
    expect(encodedSchema(questions)).toEqual({
      entities: ["person"],
      classifications: [
        { ...task, ...options },
        { task: "urgent", labels: ["yes", "no"], prompt: "Is it?" },
      ],
      structures: { event: { fields: [{ name: "title", dtype: "str" }] } },
      relations: { knows: "d" },
    });
  });

  test("gives a common threshold to each label without its own", () => {
    const threshold = 0.3;
    const listed = { type: "entities", labels: ["a", "b"], threshold };
    const described = {
      type: "relations",
      labels: { a: "x", b: { description: "y", threshold: 0.9 }, c: { threshold: null } },
      threshold,
    };
    expect(encodedSchema([listed, described])).toEqual({
      entities: { a: { threshold }, b: { threshold } },
      relations: {
        a: { description: "x", threshold },
        b: { description: "y", threshold: 0.9 },
        c: { threshold },
      },
    });
  });
});

const noul = { schema: { type: "noul" }, instructions: "i" };
const once = decisionsDeployment({ readsImages: true });
const each = decisionsDeployment({ readsImages: true, isStatePerQuestion: true });

test("the state counts once, or once per question if the provider runs one prompt for each", () => {
  const state = { text: "é".repeat(1000) };
  const stateBytes = Buffer.byteLength(JSON.stringify(state));
  for (const count of [1, 2, 5]) {
    const body = decisionBody({ state, questions: Array.from({ length: count }, () => noul) });
    const bytes = Buffer.byteLength(body);
    expect(inputTokens(goodDecision(body), once)).toBe(bytes);
    expect(inputTokens(goodDecision(body), each)).toBe(bytes + (count - 1) * stateBytes);
  }
});

test("images of the state count once per prompt, and images of a question count once", () => {
  const base64 = "A".repeat(400);
  const image = { type: "image_url", image_url: { url: `data:image/png;base64,${base64}` } };
  const state = [image, image];
  const shown = { type: "noul", instructions: ["like", image] };
  const body = decisionBody({ state, questions: [shown, noul, noul] });
  const bytes = body.length - 3 * base64.length;
  const stateTokens = JSON.stringify(state).length - 2 * base64.length + 2 * MEDIA_PART_TOKENS;
  expect(inputTokens(goodDecision(body), once)).toBe(bytes + 3 * MEDIA_PART_TOKENS);
  expect(inputTokens(goodDecision(body), each)).toBe(
    bytes + 3 * MEDIA_PART_TOKENS + 2 * stateTokens,
  );
});

const prices: PriceSheet = {
  pinId: "pin",
  prompt: 2_000_000n,
  cachedPrompt: 500_000n,
  cacheWrite: 3_000_000n,
  completion: 1_000_000n,
  internalReasoning: 1_000_000n,
};

describe("a decisions call about a long state", () => {
  const onePrompt = decisionsDeployment({}, { prices });
  const perQuestion = decisionsDeployment({ isStatePerQuestion: true }, { prices });
  const state = "s".repeat(1_000);
  const asked = goodDecision({ state, questions: { a: urgent, b: urgent } });

  test("reserves each attempt's worst case: the state once, or once per question", () => {
    const inputOnce = BigInt(asked.estimatedInputTokens);
    const stateAgain = BigInt(state.length + 2);
    // An input token costs 3 micro-dollars at most, and each of 4,096 output tokens costs 1.
    expect(decisions.quote(asked, onePrompt)).toBe(inputOnce * 3n + 4_096n);
    expect(decisions.quote(asked, perQuestion)).toBe((inputOnce + stateAgain) * 3n + 4_096n);
  });

  test("claims the tokens of the dearest listing that may serve it", () => {
    const dearest = asked.estimatedInputTokens + state.length + 2;
    for (const listings of [
      [onePrompt, perQuestion],
      [perQuestion, onePrompt],
    ]) {
      expect(decisions.inputTokens?.(asked, listings)).toBe(dearest);
    }
    expect(decisions.inputTokens?.(asked, [onePrompt])).toBe(asked.estimatedInputTokens);
  });
});
