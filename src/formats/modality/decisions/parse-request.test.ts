import { describe, expect, test } from "vitest";
import { OUTPUT_TOKENS_DEFAULT } from "../../../kernel/core/constants.ts";
import {
  badDecision,
  decisionBody,
  exactly,
  goodDecision,
} from "../../../../test/fixtures/modality/decision-kit.ts";
import { marketModel } from "../../../../test/fixtures/modality/request-kit.ts";

const urgent = { schema: { type: "boolean" }, instructions: "Is it urgent?" };
const mood = { type: "classification", labels: ["calm", "angry"] };
const people = { type: "entities", labels: ["person"] };
const png = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };

describe("the values that routing and billing need", () => {
  test("are read from the body, whose bytes are kept", () => {
    const body = decisionBody({ questions: { urgent } });
    const request = goodDecision(body);
    expect(request).toMatchObject({
      modelId: marketModel,
      stream: false,
      grammar: "systemone",
      state: "the mug is red",
      imagePaths: [],
      stateImages: 0,
      stateBytes: '"the mug is red"'.length,
      estimatedInputTokens: body.length,
      outputTokens: OUTPUT_TOKENS_DEFAULT,
      droppedParams: [],
      controls: { allowFallbacks: true, requireParameters: false, connections: "prefer" },
      others: {},
    });
    expect(request.body.toString()).toBe(body);
  });

  test("include provider controls and dropped routing fields, as on the chat routes", () => {
    const request = goodDecision({
      questions: { urgent },
      provider: { only: ["acme"], allow_fallbacks: false },
      models: ["x"],
      route: "fallback",
      user: "u",
      metadata: { a: 1 },
      session_id: "s",
    });
    expect(request.controls).toMatchObject({ only: ["acme"], allowFallbacks: false });
    expect(request.droppedParams).toEqual(["route", "models"]);
  });

  test("include the options of GLiNER models as sent", () => {
    const options = { threshold: 0.25, include_confidence: true, include_spans: false };
    expect(goodDecision({ questions: { mood }, ...options }).others).toEqual(options);
  });
});

describe("the questions of a body", () => {
  test("have their ids from object keys, or in an array from id, name or position", () => {
    const read = goodDecision({
      questions: [urgent, { ...urgent, name: "n" }, { ...urgent, id: "i" }, urgent],
    });
    expect(read.questions.map(({ id }) => id)).toEqual(["q1", "n", "i", "q4"]);
    const keyed = goodDecision({ questions: { "A.b-c_1": urgent, 7: urgent } });
    expect(keyed.questions.map(({ id }) => id)).toEqual(["7", "A.b-c_1"]);
    const both = goodDecision({ questions: [{ ...urgent, id: "n", name: "n" }] });
    expect(both.questions[0]?.id).toBe("n");
  });

  test("are at most 128 for systemone, or 64 with 20,000 keys and values for GLiNER", () => {
    const many = (count: number, question: unknown): unknown =>
      Array.from({ length: count }, () => question);
    expect(goodDecision({ questions: many(128, urgent) }).questions).toHaveLength(128);
    expect(goodDecision({ questions: many(64, mood) }).questions).toHaveLength(64);
    const labels = Array.from({ length: 20_000 }, (_, at) => `l${at}`);
    for (const [body, sentence] of [
      [{ questions: many(129, urgent) }, "questions: 129 questions, at most 128"],
      [{ questions: many(65, mood) }, "questions: 65 questions, at most 64"],
      [
        { questions: { people: { ...people, labels } } },
        "questions: 20007 keys and values, at most 20000",
      ],
      [{ schema: { entities: labels } }, "schema: 20003 keys and values, at most 20000"],
    ] as const) {
      expect(badDecision(body)).toBe(`${sentence} accepted`);
    }
  });

  const named = (name: string) => ({ ...urgent, name });
  const characters = ": a question id is 1 to 100";
  test.each([
    [undefined, "questions: required"],
    [{}, "questions: empty"],
    ["urgent?", "questions must be an object by question id, or an array"],
    [{ a: "urgent?" }, "questions.a must be an object"],
    [[{ ...urgent, name: 7 }], "questions[0].name must be a string"],
    [[{ ...urgent, name: "a", id: "b" }], "questions[0]: name and id differ; send one of them"],
    [
      [named("a"), urgent, named("a")],
      'questions: two questions are named "a" (questions 1 and 3)',
    ],
    [{ a: named("b") }, "questions.a.name: this model does not accept this field"],
    [{ "a b": urgent }, `questions.a b${characters} of the characters A-Z a-z 0-9 _ . -`],
    [{ ["a".repeat(101)]: urgent }, /: a question id is 1 to 100/],
    [[named("__proto__")], "questions[0] is not accepted as a name"],
  ])("given as %j are refused: %s", (questions, sentence) => {
    expect(badDecision({ questions })).toMatch(exactly(sentence));
  });
});

describe("the top level accepts only known fields", () => {
  const foreign = (
    "temperature stream max_tokens messages input assets images tools n top_p response_format " +
    "prompt max_completion_tokens task labels"
  ).split(" ");
  test.each(foreign)("%s, a field of other routes, is refused", (name) => {
    const sentence = `${name}: this model does not accept this field`;
    expect(badDecision({ questions: { urgent }, [name]: null })).toBe(sentence);
    expect(badDecision({ [name]: [] })).toBe(sentence);
  });

  test.each([
    [{ base_url: "x" }, /^base_url is not accepted: a request cannot carry credentials/],
    [{ provider: { api_key: "k" } }, /^provider\.api_key is not accepted: a request cannot carry/],
    [{ provider: { zone: "x" } }, /^provider\.zone is not a known field; use only, ignore, order/],
    [{ model: undefined }, "model: required: an id from GET /v1/models"],
    [{ user: 7 }, "user must be a string"],
    [{ constructor: 1 }, "constructor is not accepted; remove it"],
    [{ threshold: 0.5 }, "threshold: this model does not accept this field"],
  ])("%j is refused: %s", (members, sentence) => {
    expect(badDecision({ questions: { urgent }, ...members })).toMatch(exactly(sentence));
  });

  test.each([
    [{ threshold: 2 }, "threshold must be a number from 0 to 1"],
    [{ include_confidence: "yes" }, "include_confidence must be true or false"],
    [{ text: "another" }, "text: differs from state; send one of them"],
    [{ text: ["t"], state: undefined }, "text must be a non-empty string"],
    [{ format_results: true }, "format_results: this model does not accept this field"],
  ])("%j in a GLiNER body is refused: %s", (members, sentence) => {
    expect(badDecision({ questions: { mood }, ...members })).toMatch(exactly(sentence));
  });
});

describe("the state", () => {
  test.each([["text"], [{ a: [1] }], [[1, null]], [{}], [[]]])("may be %j", (state) => {
    expect(goodDecision({ questions: { urgent }, state }).state).toEqual(state);
    expect(goodDecision({ questions: { mood }, state }).state).toEqual(state);
  });

  test("may be called text by GLiNER bodies, and even sent as both", () => {
    const text = "the mug";
    expect(goodDecision({ questions: { people }, state: undefined, text }).state).toBe(text);
    expect(goodDecision({ questions: { people }, state: text, text }).state).toBe(text);
  });

  test.each([
    [undefined, "state: required"],
    [null, "state: required"],
    ["", "state must be a non-empty string, an object or an array"],
  ])("%j is refused: %s", (state, sentence) => {
    expect(badDecision({ questions: { urgent }, state })).toBe(sentence);
    expect(badDecision({ questions: { mood }, state })).toBe(sentence);
  });

  test("must have an image for box questions, and be text for entities, relations and structures", () => {
    const box = { type: "box", instructions: "the mug" };
    const noImage = 'questions.a: kind "box" needs an image in state';
    expect(badDecision({ questions: { a: box } })).toBe(noImage);
    expect(badDecision({ questions: { a: box }, state: { photo: "mug.png" } })).toBe(noImage);
    const shown = { schema: { type: "box" }, instructions: ["the mug like", png] };
    expect(badDecision({ questions: { a: shown } })).toBe(noImage);
    expect(goodDecision({ questions: { a: box }, state: { photo: png } }).stateImages).toBe(1);
    const works = { type: "relations", labels: ["knows"] };
    const event = { type: "structure", fields: [{ name: "title" }] };
    for (const question of [people, works, event]) {
      const questions = { mood, spans: question };
      const needs = `questions.spans: kind "${question.type}" needs a text state, got `;
      expect(badDecision({ questions, state: {} })).toBe(`${needs}an object`);
      expect(badDecision({ questions, state: ["a"] })).toBe(`${needs}an array`);
      goodDecision({ questions });
    }
    expect(badDecision({ schema: { entities: ["a"] }, state: {} })).toBe(
      'schema.entities: kind "entities" needs a text state, got an object',
    );
  });
});

describe("image parts", () => {
  function nested(levels: number, value: unknown): unknown {
    return levels === 0 ? value : { in: [nested(levels - 1, value)] };
  }

  test("are found at any depth of the state and of the questions", () => {
    const items = ["a", { b: 1 }, png];
    expect(goodDecision({ questions: { urgent }, state: { items } })).toMatchObject({
      imagePaths: ["state.items[2]"],
      stateImages: 1,
    });
    expect(goodDecision({ questions: { urgent }, state: png }).imagePaths).toEqual(["state"]);
    const asks = { type: "noul", instructions: { like: [png] }, criteria: { true: png } };
    expect(goodDecision({ questions: { a: asks } })).toMatchObject({
      imagePaths: ["questions.a.instructions.like[0]", "questions.a.criteria.true"],
      stateImages: 0,
    });
    for (let levels = 0; levels <= 29; levels += 1) {
      const request = goodDecision({ questions: { urgent }, state: [nested(levels, png)] });
      expect(request.imagePaths).toEqual([`state[0]${".in[0]".repeat(levels)}`]);
    }
  });

  test("are not searched in metadata, and are recognized by their type alone", () => {
    const hidden = { metadata: { png }, state: { type: "x" } };
    expect(goodDecision({ questions: { urgent }, ...hidden }).imagePaths).toEqual([]);
    expect(badDecision({ questions: { urgent }, state: [{ type: "image_url" }] })).toMatch(
      /^state\[0\]\.image_url\.url must be a data: URL/,
    );
    const escaped = decisionBody({ questions: { urgent }, state: { a: png } });
    const read = goodDecision(escaped.replace('"image_url",', String.raw`"image\u005furl",`));
    expect(read.imagePaths).toEqual(["state.a"]);
  });

  test.each([
    "https://a.test/i.png",
    "data:image/gif;base64,R0lG",
    "data:image/png,iVBOR",
    "data:image/png;base64,",
    "data:image/png;base64,not base64",
    "DATA:text/html;base64,R0lG",
    7,
  ])("with the address %j are refused: nothing is fetched", (url) => {
    const state = { photo: { type: "image_url", image_url: { url } } };
    expect(badDecision({ questions: { urgent }, state })).toBe(
      "state.photo.image_url.url must be a data: URL with a png, jpeg or webp image in base64; " +
        "nothing is fetched",
    );
  });

  test("count 65,536 tokens each instead of the bytes of their base64", () => {
    const data = "A".repeat(1000);
    const image = (type: string): unknown => {
      const url = `data:image/${type};base64,${data}`;
      return { type: "image_url", image_url: { url } };
    };
    const state = [image("jpeg"), image("webp")];
    const question = { type: "noul", instructions: ["like", image("png")] };
    const body = decisionBody({ questions: { a: question }, state });
    const request = goodDecision(body);
    expect(request.estimatedInputTokens).toBe(body.length - 3 * 1000 + 3 * 65_536);
    expect(request.stateBytes).toBe(JSON.stringify(state).length - 2 * 1000);
    expect(request).toMatchObject({ stateImages: 2 });
  });
});

describe("the body", () => {
  test("must be one JSON object", () => {
    expect(badDecision("")).toMatch(/^the body is not valid JSON at byte 0/);
    expect(badDecision("[]")).toBe("the body must be one JSON object");
    expect(badDecision('{"a":{"__proto__":1}}')).toMatch(/^a\.__proto__ is not accepted/);
  });

  test("is refused if an object at any depth has the same key twice", () => {
    const open = decisionBody({ questions: { urgent } }).slice(0, -1);
    const duplicate = '{"x":1,"y":2,"x":3}';
    expect(badDecision(`${open},"model":"b"}`)).toBe("model is duplicated; send it once");
    expect(badDecision(`${open},"m\\u006fdel":"b"}`)).toBe("model is duplicated; send it once");
    expect(badDecision(`${open},"metadata":${duplicate}}`)).toMatch(/^metadata\.x is duplicated/);
    const inState = decisionBody({ questions: { urgent }, state: ["HERE"] });
    for (let levels = 0; levels <= 29; levels += 1) {
      const deep = `${'{"in":['.repeat(levels)}${duplicate}${"]}".repeat(levels)}`;
      expect(badDecision(inState.replace('"HERE"', deep))).toBe(
        `state[0]${".in[0]".repeat(levels)}.x is duplicated; send it once`,
      );
    }
    expect(badDecision(inState.replace('"HERE"', '{"":0,"":0}'))).toMatch(
      /^state\[0\]\. is duplicated/,
    );
    const questions = `"questions":{"a":${JSON.stringify(mood)},"a":${JSON.stringify(mood)}}`;
    expect(badDecision(`{"model":"m","state":"s",${questions}}`)).toBe(
      "questions.a is duplicated; send it once",
    );
  });
});
