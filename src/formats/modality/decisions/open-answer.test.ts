import { describe, expect, test } from "vitest";

import type { DecisionsListing } from "../../../catalog/catalog.ts";
import { DECISION_ANSWER_BYTES_MAX } from "../../../kernel/core/constants.ts";
import type { AnswerBridge } from "../../wire/answer/answer-bridge.ts";
import { marketModel, play, requestId } from "../../../../test/fixtures/modality/answer-kit.ts";
import { decisionsDeployment } from "../../../../test/fixtures/modality/decision-kit.ts";
import { openDecisionAnswer } from "./open-answer.ts";
import type { Question } from "./question.ts";

type Systemone = Extract<Question, { wire: "systemone" }>;
type Gliner = Extract<Question, { wire: "gliner" }>;

function asks(id: string, kind: Systemone["kind"], more: Partial<Systemone> = {}): Systemone {
  const errorText = { asked: kind, instructions: "?", criteria: undefined };
  return { wire: "systemone", id, kind, ...errorText, ...more };
}

function spans(id: string, kind: Gliner["kind"], body: object, resultName = id): Gliner {
  return { wire: "gliner", id, kind, resultName, body: { type: kind, ...body } };
}

interface Asked {
  readonly questions: readonly Question[];
  readonly envelope?: DecisionsListing["envelope"];
}

function open({ questions, envelope }: Asked): AnswerBridge {
  const wire = questions[0]?.wire ?? "systemone";
  const deployment = decisionsDeployment({ wire, ...(envelope && { envelope }) });
  const request = { questions };
  return openDecisionAnswer({ request, deployment, requestId, createdSeconds: 1_800_000_000 });
}

interface Told {
  readonly answers: Readonly<Record<string, { readonly value?: unknown }>>;
  readonly usage: unknown;
}

/** Returns the answer that the client gets if the provider answers with `body`. */
function reportOf(asked: Asked, body: unknown): { text: string; json: Told; bridge: AnswerBridge } {
  const piece = typeof body === "string" ? body : JSON.stringify(body);
  const { bridge, text } = play(open(asked), [piece]);
  return { bridge, text, json: JSON.parse(text) as Told };
}

function answered(asked: Asked, body: unknown): Told["answers"] {
  const { bridge, json } = reportOf(asked, body);
  expect(bridge.failure).toBeUndefined();
  return json.answers;
}

function failureOf(asked: Asked, body: unknown): unknown {
  const { bridge } = reportOf(asked, body);
  expect(bridge.usage).toBeUndefined();
  return bridge.failure;
}

const UNUSABLE = {
  refusal: { class: "gateway_error", status: 502 },
  failover: false,
  strike: "strike",
};

const urgent = asks("urgent", "noul");
const team = asks("team", "choice", { labels: ["billing", "tech"] });
const anger = asks("anger", "score", { criteria: ["calm", "annoyed", "furious"] });
const thing = asks("thing", "box");
const four = {
  urgent: { type: "noul", noul: 0.95 },
  team: { type: "choice", choice: "billing", confidence: 0.81, probabilities: { billing: 0.88 } },
  anger: { type: "score", score: 1.8, confidence: 0.7, legend: { "0": "calm" } },
  thing: { type: "box", top: 0.1, bottom: 0.5, left: 0.2, right: 0.6, confidence: 0.9 },
};

describe("an answer to systemone questions", () => {
  test("has the provider's fields under the client's question ids, and each value in a plain type", () => {
    const usage = { input_tokens: 318, output_tokens: 34 };
    const body = { model: "judge-1.13.0", answers: four, usage };
    const { json } = reportOf({ questions: [urgent, team, anger, thing] }, body);
    expect(json).toEqual({
      id: requestId,
      object: "decision",
      created: 1_800_000_000,
      model: marketModel,
      answers: {
        urgent: { ...four.urgent, value: true },
        team: { ...four.team, value: "billing" },
        anger: { ...four.anger, value: 1.8 },
        thing: { ...four.thing, value: { top: 0.1, bottom: 0.5, left: 0.2, right: 0.6 } },
      },
      usage: { input_tokens: 318, output_tokens: 34, total_tokens: 352, cost: 0.001932 },
    });
  });

  const number = asks("number", "score", { asked: "number", scoreFrom: 1 });
  const integer = asks("integer", "score", { asked: "integer", scoreFrom: -2 });

  test.each<[string, Systemone, unknown, object]>([
    ["a noul of 0.5 is true", urgent, { noul: 0.5 }, { noul: 0.5, value: true }],
    ["a noul below 0.5 is false", urgent, { noul: 0.4999 }, { noul: 0.4999, value: false }],
    ["a number's score counts from its min", number, { score: 1.82 }, { score: 1.82, value: 2.82 }],
    ["an integer's score is rounded", integer, { score: 1.8 }, { score: 1.8, value: 0 }],
    ["a boolean may be the answer", urgent, true, { value: true }],
    ["a label may be the answer", team, "tech", { value: "tech" }],
    ["a level may be the answer", anger, 2, { value: 2 }],
  ])("%s", (_what, question, answer, expected) => {
    const { id, kind: type } = question;
    const answers = answered({ questions: [question] }, { answers: { [id]: answer } });
    expect(answers).toEqual({ [id]: { type, ...expected } });
  });

  test.each<[string, Systemone, unknown]>([
    ["is missing", urgent, undefined],
    ["is of another kind", urgent, { choice: "x" }],
    ["is not a probability", urgent, { noul: 1.2 }],
    ["is a label that was not offered", team, "sales"],
    ["is above the levels", anger, { score: 2.1 }],
    ["is below the levels", anger, { score: -0.1 }],
    ["is a level as a text", anger, { score: "1" }],
  ])("in which one value %s is refused whole, without usage to bill", (_, question, answer) => {
    const answers = { other: true, [question.id]: answer };
    const body = { answers, usage: { input_tokens: 318 } };
    expect(failureOf({ questions: [asks("other", "noul"), question] }, body)).toMatchObject(
      UNUSABLE,
    );
  });

  test("keeps the order of the questions, also with numeric names", () => {
    const ids = ["b", "10", "2", "a"];
    const questions = ids.map((id) => asks(id, "noul"));
    const answers = { a: { noul: 1 }, "2": { noul: 1 }, "10": { noul: 1 }, b: { noul: 1 } };
    const { text } = reportOf({ questions }, { answers });
    const places = ids.map((id) => text.indexOf(`"${id}":`));
    expect(places).toEqual(places.toSorted((x, y) => x - y));
    expect(places[0]).toBeGreaterThan(0);
  });

  test("may come as a list, by name or in order, and is answered by name", () => {
    const named = [
      { id: "team", choice: "tech" },
      { name: "urgent", noul: 0.1 },
    ];
    const inOrder = [{ noul: 0.1 }, { choice: "tech" }];
    for (const list of [named, inOrder]) {
      const answers = answered({ questions: [urgent, team] }, { answers: list });
      expect(answers).toMatchObject({ urgent: { value: false }, team: { value: "tech" } });
    }
    const short = failureOf({ questions: [urgent, team] }, { answers: [{ noul: 0.1 }] });
    expect(short).toMatchObject(UNUSABLE);
  });

  test("is refused if it lacks a question, even one named constructor or __proto__", () => {
    const questions = [asks("constructor", "noul"), asks("__proto__", "noul")];
    expect(failureOf({ questions }, { answers: {} })).toMatchObject(UNUSABLE);
    expect(failureOf({ questions }, "<html>constructor</html>")).toMatchObject(UNUSABLE);
    const body = '{"answers":{"constructor":{"noul":1},"__proto__":{"noul":0}}}';
    const { text } = reportOf({ questions }, body);
    expect(text).toContain('"__proto__":{"type":"noul","noul":0,"value":false}');
  });

  test("of more than 4 MiB is not read, and is no strike: many labels of a long text cause it", () => {
    const bridge = open({ questions: [urgent] });
    bridge.push(Buffer.alloc(DECISION_ANSWER_BYTES_MAX, " "));
    expect(bridge.state).toBe("waiting");
    bridge.push(Buffer.from(" "));
    expect(bridge.failure).toMatchObject({ ...UNUSABLE, strike: "neutral" });
    expect(bridge.failure).not.toHaveProperty("isMalformed");
  });
});

describe("an answer to GLiNER questions", () => {
  const mood = spans("mood", "classification", { labels: ["good", "bad"] });
  const topics = spans("topics", "classification", { labels: { a: "", b: "" }, multi_label: true });
  const people = spans("people", "entities", { labels: ["person"] });
  const places = spans("places", "entities", { labels: ["city"] });
  const works = spans("works", "relations", { labels: ["works_for"] });
  const order = spans("order", "structure", { fields: [{ name: "item" }] });
  const ada = { text: "Ada", confidence: 0.98, start: 0, end: 3 };
  const flat = {
    mood: "good",
    topics: ["b"],
    entities: { person: [ada], city: ["Paris"] },
    relation_extraction: { works_for: [["Ada", "Acme"]] },
    order: [{ item: "tea" }],
  };

  test.each<[string, object]>([
    ["results in the body itself", flat],
    ["results under the key result", { result: flat, token_usage: 12 }],
  ])("with %s has each under its question's name, with its type", (_, body) => {
    const questions = [mood, topics, people, places, works, order];
    expect(answered({ questions }, body)).toEqual({
      mood: { type: "classification", value: "good" },
      topics: { type: "classification", value: ["b"] },
      people: { type: "entities", value: { person: [ada] } },
      places: { type: "entities", value: { city: ["Paris"] } },
      works: { type: "relations", value: { works_for: [["Ada", "Acme"]] } },
      order: { type: "structure", value: [{ item: "tea" }] },
    });
  });

  const unnamed = spans("q1", "entities", { labels: ["person"] }, "entities");
  const typed = { type: "entities", value: { person: [] }, threshold: 0.5 };
  const best = spans("best", "classification", { labels: ["a", "b", "c"], top_k: 2 });
  const ranked = [{ label: "b", confidence: 0.6 }, { label: "a" }];
  const spam = spans("spam", "classification", { type: "boolean" });
  const asked = (name: string): Gliner =>
    spans(name, "classification", { labels: ["high", "low"] });
  const sure = { label: "high", confidence: 0.9 };
  const error = spans("error", "classification", { labels: ["yes", "no"] });

  test.each<[string, Gliner, object, unknown]>([
    ["an unnamed result is found", unnamed, { entities: { person: [] } }, { person: [] }],
    ["the top_k labels become a list without confidences", best, { best: ranked }, ["b", "a"]],
    ["a single label for a top_k question becomes a list", best, { best: "c" }, ["c"]],
    ["a yes is true", spam, { spam: "yes" }, true],
    ["a no with a confidence is false", spam, { spam: { label: "no", confidence: 1 } }, false],
    ["a JSON true is true", spam, { spam: true }, true],
    ["a JSON false with a confidence is false", spam, { spam: { value: false, score: 1 } }, false],
    ["a question named usage is answered", asked("usage"), { result: { usage: "low" } }, "low"],
    ["a question named error is answered", error, { error: "no" }, "no"],
    ["a typed answer is passed on", people, { answers: { people: typed } }, typed.value],
    ["a question named result is answered", asked("result"), { result: sure }, "high"],
    ["a question named answers is answered", asked("answers"), { answers: sure }, "high"],
    ["results are read before the body", asked("result"), { result: { result: sure } }, "high"],
  ])("%s", (_what, question, body, value) => {
    const answers = answered({ questions: [question] }, body);
    expect(answers[question.resultName]).toMatchObject({ type: question.kind, value });
  });

  test.each<[string, Gliner, object]>([
    ["is missing", mood, {}],
    ["is a label that was not offered", mood, { mood: "fine" }],
    ["has a label that was not offered", topics, { topics: ["a", "z"] }],
    ["is neither yes nor no", spam, { spam: "maybe" }],
  ])("in which one question's result %s is refused whole", (_, question, body) => {
    const questions = [question, order];
    expect(failureOf({ questions }, { order: [], ...body })).toMatchObject(UNUSABLE);
  });

  test.each<[string, unknown]>([
    ["usage", { input_tokens: 3 }],
    ["usage", "high"],
    ["token_usage", "high"],
    ["model", "high"],
    ["object", "high"],
    ["id", "high"],
  ])(
    "in which the result named %s may be the provider's own %j is refused whole, and the provider is not blamed",
    (name, own) => {
      const questions = [asked(name), order];
      const { bridge } = reportOf({ questions }, { order: [], [name]: own });
      expect(bridge.failure).toMatchObject({ ...UNUSABLE, strike: "neutral" });
      expect(bridge.failure).not.toHaveProperty("isMalformed");
      expect(bridge.servedModel).toBeUndefined();
    },
  );
});

describe("an envelope", () => {
  const asked = { questions: [urgent], envelope: "envelope_v4" } as const;
  const result = { answers: { urgent: four.urgent }, usage: { input_tokens: 9, output_tokens: 0 } };

  test("that is declared is opened before the answer is read", () => {
    const body = { result, success: true, errors: [], messages: [] };
    const { json, bridge } = reportOf(asked, body);
    expect(json.answers["urgent"]?.value).toBe(true);
    expect(bridge.usage).toMatchObject({ prompt: 9, completion: 0 });
  });

  test.each<[string, unknown]>([
    ["is missing", result],
    ["has no answers in its result", { result: { usage: result.usage }, success: true }],
    ["does not say that it was a success", { result }],
  ])("that %s is a 502 with a strike, without failover or usage to bill", (_, body) => {
    expect(failureOf(asked, body)).toMatchObject(UNUSABLE);
  });

  test("with success: false fails by its error code, even if it has a result", () => {
    const body = { result, success: false, errors: [{ code: 3040, message: "" }], messages: [] };
    const limited = { refusal: { class: "rate_limit" }, failover: true };
    expect(failureOf(asked, body)).toMatchObject(limited);
    expect(failureOf(asked, { ...body, errors: [{ code: 5012 }] })).toMatchObject({
      refusal: { class: "upstream_error", status: 502, upstreamStatus: 200 },
    });
  });

  test("that was not declared is not opened", () => {
    const body = { result, success: true, errors: [], messages: [] };
    expect(failureOf({ questions: [urgent] }, body)).toMatchObject(UNUSABLE);
  });
});

describe("the usage of an answer", () => {
  const asked = { questions: [urgent] };
  const answers = { urgent: four.urgent };
  test.each([
    [{ usage: { input_tokens: 10, output_tokens: 2 } }, [10, 0, 2]],
    [{ usage: { prompt_tokens: 10, completion_tokens: 2 } }, [10, 0, 2]],
    [{ usage: { input_tokens: 10, input_tokens_details: { cached_tokens: 4 } } }, [6, 4, 0]],
    [{ usage: { prompt_tokens: 3, prompt_tokens_details: { cached_tokens: 9 } } }, [0, 3, 0]],
    [{ token_usage: 12 }, [12, 0, 0]],
    [{ usage: { input_tokens: 5 }, token_usage: 12 }, [5, 0, 0]],
  ])(
    "%j is counted as prompt, cached prompt and completion tokens %j",
    (reported, [prompt, cachedPrompt, completion]) => {
      const { bridge } = reportOf(asked, { answers, ...reported });
      expect(bridge.usage).toMatchObject({ prompt, cachedPrompt, cacheWrite: 0, completion });
    },
  );

  test.each([{}, { usage: {} }, { usage: null }, { usage: { input_tokens: -1 } }, { usage: "9" }])(
    "%j is no usage: the answer is served with zero token counts",
    (reported) => {
      const { bridge, json } = reportOf(asked, { answers, ...reported });
      expect(bridge.state).toBe("complete");
      expect(bridge.usage).toBeUndefined();
      expect(json.usage).toMatchObject({ input_tokens: 0, output_tokens: 0, total_tokens: 0 });
    },
  );

  test("reports the provider's cached prompt tokens if there are any", () => {
    const usage = { input_tokens: 10, input_tokens_details: { cached_tokens: 4 } };
    expect(reportOf(asked, { answers, usage }).json.usage).toEqual({
      input_tokens: 10,
      output_tokens: 0,
      total_tokens: 10,
      input_tokens_details: { cached_tokens: 4 },
      cost: 0.001932,
    });
  });
});
