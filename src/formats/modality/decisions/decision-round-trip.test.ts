import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../../test/support/depth.ts";
import {
  badDecision,
  decisionsDeployment,
  goodDecision,
  publicForm,
  readDecisionBody,
  sentDecision,
} from "../../../../test/fixtures/modality/decision-kit.ts";
import type { ParsedDecisionRequest } from "./parse-request.ts";
import type { Question } from "./question.ts";
import { servabilityProblem } from "./servability.ts";

type Json = Readonly<Record<string, unknown>>;

/* The tests use requests in every accepted spelling, and bodies that no client would write. */

/** Generates any JSON without the key `__proto__`, which no body may have. */
function json(maxDepth: number): fc.Arbitrary<unknown> {
  return fc.jsonValue({ maxDepth }).filter((each) => !JSON.stringify(each).includes("__proto__"));
}
const label = fc.oneof(
  fc.constantFrom("a", "b", "yes", "1", "constructor", "toString", "ä", '"', "\u200b", "\ud800"),
  fc
    .string({ minLength: 1, maxLength: 6 })
    .filter((text) => text.trim() !== "" && text !== "__proto__"),
);
const labelList = (min: number): fc.Arbitrary<string[]> =>
  fc.uniqueArray(label, { minLength: min, maxLength: min + 3 });
const content = fc.oneof(
  fc.string({ minLength: 1 }),
  fc.dictionary(label, json(2), { minKeys: 1, maxKeys: 3 }),
  fc.array(json(1), { minLength: 1, maxLength: 3 }),
);
/** Generates objects with any subset of these members. */
function record(members: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<Json> {
  return fc.record(members, { requiredKeys: [] });
}
function described(values: fc.Arbitrary<unknown>, min: number): fc.Arbitrary<Json> {
  return fc
    .tuple(labelList(min), fc.array(values, { minLength: min + 3, maxLength: min + 3 }))
    .map(([labels, texts]) => Object.fromEntries(labels.map((name, at) => [name, texts[at]])));
}
const choiceCriteria = described(fc.option(content), 2);
const scoreCriteria = fc.array(content, { minLength: 2, maxLength: 4 });

const schema = fc.oneof(
  record({ criteria: record({ true: content, false: content }) }).chain((more) =>
    fc.constantFrom("noul", "boolean").map((type) => ({ ...more, type })),
  ),
  fc
    .tuple(fc.constantFrom("choice", "enum"), choiceCriteria)
    .map(([type, criteria]) => ({ type, criteria })),
  fc
    .tuple(fc.constantFrom("choice", "enum"), labelList(2))
    .map(([type, values]) => ({ type, values })),
  labelList(2).map((labels) => ({ type: "string", enum: labels })),
  fc
    .tuple(
      fc.constantFrom("score", "integer", "number"),
      fc.integer(),
      fc.integer({ min: 1, max: 9 }),
    )
    .map(([type, min, span]) => ({ type, min, max: min + span })),
  scoreCriteria.map((criteria) => ({ type: "score", criteria })),
);
const instructions = fc
  .tuple(fc.constantFrom("instructions", "question", "prompt", "text"), content)
  .map(([name, value]) => ({ [name]: value }));
const withSchema = fc
  .tuple(schema, instructions, fc.option(fc.string({ minLength: 1 }), { nil: undefined }))
  .map(([type, ask, description]) => ({ ...ask, schema: { ...type, description } }));
const flat = fc
  .tuple(
    fc.oneof(
      fc.constant({ type: "noul" }),
      choiceCriteria.map((criteria) => ({ kind: "choice", criteria })),
      scoreCriteria.map((criteria) => ({ type: "score", criteria })),
    ),
    instructions,
  )
  .map(([type, ask]) => ({ ...type, ...ask }));
const systemOneQuestion = fc.oneof(withSchema, flat);

const fraction = fc.double({ min: 0, max: 1, noNaN: true });
const glinerLabels = (min: number, config: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof(labelList(min), described(config, min));
const spanConfig = fc.oneof(fc.string(), record({ description: fc.string(), threshold: fraction }));
const task = fc
  .tuple(
    glinerLabels(2, fc.string()),
    record({
      multi_label: fc.boolean(),
      threshold: fraction,
      top_k: fc.integer({ min: 1, max: 9 }),
      prompt: fc.string({ minLength: 1 }),
      examples: fc.array(fc.tuple(fc.string(), label), { maxLength: 2 }),
    }),
  )
  .map(([labels, more]) => ({ type: "classification", labels, ...more }));
const yesOrNo = record({ question: fc.string({ minLength: 1 }), threshold: fraction }).map(
  (more) => ({ kind: "boolean", ...more }),
);
const spans = (type: string): fc.Arbitrary<Json> =>
  fc
    .tuple(glinerLabels(1, spanConfig), record({ threshold: fraction }))
    .map(([labels, more]) => ({ type, labels, ...more }));
const structure = labelList(1).map((names) => ({
  type: "structure",
  fields: names.map((name) => ({ name, dtype: "str" })),
}));
const glinerQuestion = fc.oneof(task, yesOrNo, structure);
/** At most one question for entities and one for relations: the public format has no more. */
const glinerQuestions = fc
  .tuple(
    fc.array(glinerQuestion, { minLength: 1, maxLength: 4 }),
    fc.array(spans("entities"), { maxLength: 1 }),
    fc.array(spans("relations"), { maxLength: 1 }),
  )
  .map((all) => all.flat());

/** Puts the questions into an object, into an array with names, or into one without names. */
function contained(questions: fc.Arbitrary<readonly Json[]>): fc.Arbitrary<unknown> {
  return fc.tuple(questions, fc.nat(2)).map(([all, way]) => {
    if (way === 0) return Object.fromEntries(all.map((each, at) => [`id.${at}`, each]));
    return way === 1 ? all.map((each, at) => ({ ...each, name: `n_${at}` })) : all;
  });
}

const systemOneBody = fc.record({
  model: fc.string({ minLength: 1 }),
  state: fc.oneof(fc.string({ minLength: 1 }), fc.dictionary(label, json(3)), fc.array(json(3))),
  questions: contained(fc.array(systemOneQuestion, { minLength: 1, maxLength: 5 })),
});
const glinerBody = fc.record(
  {
    model: fc.string({ minLength: 1 }),
    state: fc.string({ minLength: 1 }),
    questions: contained(glinerQuestions),
    threshold: fraction,
    include_spans: fc.boolean(),
  },
  { requiredKeys: ["model", "state", "questions"] },
);

/** Returns what encoding must keep: the public format has no ids for entities and relations. */
function essence(question: Question): unknown {
  if (question.wire === "systemone") {
    const { id, kind, instructions: ask, criteria, labels } = question;
    return { id, kind, ask, criteria, labels };
  }
  const { kind } = question;
  const isAlone = kind === "entities" || kind === "relations";
  return { kind, id: isAlone ? undefined : question.id };
}

function sorted(request: ParsedDecisionRequest): string[] {
  return request.questions.map((question) => JSON.stringify(essence(question))).toSorted();
}

test.each([
  ["systemone", systemOneBody],
  ["gliner", glinerBody],
] as const)(
  "any body of %s questions and its public form are read as the same questions",
  (grammar, bodies) => {
    fc.assert(
      fc.property(bodies as fc.Arbitrary<Json>, (body) => {
        const sent = JSON.stringify(body);
        const request = goodDecision(sent);
        expect(request.grammar).toBe(grammar);
        expect(request.state).toEqual((JSON.parse(sent) as Json)["state"]);
        const text = publicForm(request, { upstreamModelId: request.modelId });
        const again = goodDecision(text);
        expect(sorted(again)).toEqual(sorted(request));
        expect(again.others).toEqual(request.others);
        expect(again.state).toEqual(request.state);
        expect(publicForm(again, { upstreamModelId: request.modelId })).toBe(text);
      }),
      { numRuns: runs(500) },
    );
  },
);

const words = [
  "data:image/png;base64,AAAA",
  "",
  ...(
    "model state text questions schema type kind labels fields name id instructions prompt " +
    "criteria values enum min max threshold true false entities classifications structures " +
    "relations task user image_url url noul choice score box boolean classification structure " +
    "a b provider only metadata __proto__"
  ).split(" "),
];
/** Arranges known terms at random, so that many documents are almost valid. */
const strange = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 7, depthSize: "medium" },
    fc.constantFrom(...words),
    fc.constantFrom(0, 1, 2, 0.5, -1, 1e300, true, false, null),
    fc.array(tie("value"), { maxLength: 4 }),
    tie("object"),
  ),
  object: fc.dictionary(fc.constantFrom(...words), tie("value"), { maxKeys: 6 }),
}));

/** Reads a body: a refusal must have a reason, and an accepted body can be routed and sent. */
function outcomeOf(text: string): "taken" | "refused" | "unsaid" {
  const parsed = readDecisionBody(text);
  if (!parsed.ok) return badDecision(text).length > 10 ? "refused" : "unsaid";
  const read = parsed.request;
  expect(read.estimatedInputTokens).toBeGreaterThan(0);
  expect(read.stateBytes).toBeGreaterThan(0);
  for (const form of ["as_sent", "public"] as const) {
    const listing = { wire: read.grammar, form, readsImages: true };
    const deployment = decisionsDeployment(listing, { upstreamModelId: "up" });
    if (servabilityProblem(read, deployment) !== undefined) continue;
    const sent = goodDecision(sentDecision(read, deployment));
    expect(sent.modelId).toBe("up");
    expect(sorted(sent)).toEqual(sorted(read));
  }
  return "taken";
}

const change = fc.record({
  at: fc.nat(),
  cut: fc.nat(8),
  text: fc.constantFrom("", " ", '"', "1", "null", "{}", "[]", ",", '"x":1,', "true", "\\u0061"),
});

describe("any body", () => {
  test("of known terms is accepted or refused with a sentence", () => {
    const wrapped = fc.oneof(
      strange.object,
      strange.value.map((questions) => ({ model: "m", state: "s", questions })),
      fc
        .tuple(strange.value, strange.value)
        .map(([state, a]) => ({ model: "m", state, questions: { a } })),
      strange.object.map((a) => ({ model: "m", text: "t", schema: a })),
      strange.value,
    );
    fc.assert(
      fc.property(wrapped, (body) => {
        expect(outcomeOf(JSON.stringify(body))).not.toBe("unsaid");
      }),
      { numRuns: runs(3000) },
    );
  });

  test("with a few changed bytes is refused, or sent with what it now asks", () => {
    let taken = 0;
    fc.assert(
      fc.property(
        fc.oneof(systemOneBody, glinerBody),
        fc.array(change, { minLength: 1, maxLength: 2 }),
        (body, changes) => {
          let text = JSON.stringify(body);
          for (const { at, cut, text: put } of changes) {
            const from = at % text.length;
            text = text.slice(0, from) + put + text.slice(from + cut);
          }
          const outcome = outcomeOf(text);
          if (outcome === "taken") taken += 1;
          expect(outcome).not.toBe("unsaid");
        },
      ),
      { numRuns: runs(3000) },
    );
    expect(taken).toBeGreaterThan(40);
  });

  test("of any bytes is refused with a sentence", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        expect(outcomeOf(Buffer.from(bytes).toString("latin1"))).toBe("refused");
      }),
    );
  });
});
