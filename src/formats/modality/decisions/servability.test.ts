import { describe, expect, test } from "vitest";
import type { DecisionsListing } from "../../../catalog/catalog.ts";
import type { Unservable } from "../../wire/modality.ts";
import {
  decisionsDeployment,
  goodDecision,
} from "../../../../test/fixtures/modality/decision-kit.ts";
import { servabilityProblem } from "./servability.ts";

type Json = Readonly<Record<string, unknown>>;

const noul = { schema: { type: "noul" }, instructions: "i" };
const mood = { type: "classification", labels: ["calm", "angry"] };
const photo = { type: "image_url", image_url: { url: "data:image/webp;base64,AAAA" } };

function reason(body: Json, listing: Partial<DecisionsListing>): Unservable | undefined {
  return servabilityProblem(goodDecision(body), decisionsDeployment(listing));
}

describe("questions of another model's format", () => {
  const systemone = "questions: this model reads systemone questions; question";
  const gliner = "questions: this model reads GLiNER questions; question";
  const noSchema = "this model reads GLiNER questions and accepts no schema";
  const reads = 'schema: this model reads "questions"';
  const score = { type: "score", criteria: ["lo", "hi"] };
  const two = { u: { type: "boolean" }, b: { ...mood, threshold: 0.5 } };
  test.each([
    [
      "systemone",
      { questions: { a: mood } },
      "questions",
      `${systemone} "a" has GLiNER fields (labels)`,
    ],
    [
      "systemone",
      { questions: two },
      "questions",
      `${systemone} "b" has GLiNER fields (labels, threshold)`,
    ],
    [
      "systemone",
      { questions: { a: { type: "boolean", instructions: "i" } } },
      "questions.a.schema",
      "questions.a.schema is required: each question of this model carries a schema",
    ],
    [
      "systemone",
      { schema: { entities: ["person"] } },
      "schema",
      `${reads}; a top-level schema belongs to another model's format`,
    ],
    ["gliner", { questions: { a: noul } }, "questions.a.schema", `questions.a.schema: ${noSchema}`],
    ["gliner", { questions: [noul] }, "questions[0].schema", `questions[0].schema: ${noSchema}`],
    [
      "gliner",
      { questions: { a: score } },
      "questions",
      `${gliner} "a" has a systemone type (score)`,
    ],
  ] as const)("a %s listing refuses %j and names %s", (wire, body, field, message) => {
    expect(reason(body, { wire })).toEqual({ field, message });
  });
});

describe("images", () => {
  const body = { questions: { a: noul }, state: { items: ["x", 1, photo] } };

  test("are refused with their path by a listing that does not read images", () => {
    expect(reason(body, { readsImages: true })).toBeUndefined();
    expect(reason(body, { readsImages: false })).toEqual({
      field: "state.items[2]",
      message: "state.items[2]: an image_url object, and no deployment of this model reads images",
    });
  });

  test("in a question are refused too by a listing that does not read images", () => {
    const asks = { questions: { a: { type: "noul", instructions: ["like", photo] } } };
    expect(reason(asks, {})?.field).toBe("questions.a.instructions[1]");
  });
});

test("a listing of the public form accepts at most one question each for entities and relations", () => {
  for (const kind of ["entities", "relations"]) {
    const question = { type: kind, labels: ["a"] };
    const two = { questions: { x: question, y: question } };
    expect(reason(two, { wire: "gliner" })).toBeUndefined();
    expect(reason(two, { wire: "gliner", form: "public" })?.message).toBe(
      `questions: this model accepts one question of kind "${kind}"; put all its labels into one`,
    );
    const one = { questions: { x: question, y: mood } };
    expect(reason(one, { wire: "gliner", form: "public" })).toBeUndefined();
  }
});
