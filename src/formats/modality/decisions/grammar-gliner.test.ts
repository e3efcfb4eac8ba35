import { describe, expect, test } from "vitest";
import {
  badDecision,
  exactly,
  goodDecision,
} from "../../../../test/fixtures/modality/decision-kit.ts";

type Json = Readonly<Record<string, unknown>>;

const mood = { type: "classification", labels: ["calm", "angry"] };
const people = { type: "entities", labels: ["person"] };
const knows = { type: "relations", labels: { knows: "one knows the other" } };
const event = { type: "structure", fields: [{ name: "title" }] };

/** Returns the names of the results that the provider is expected to give. */
function resultNames(body: Json): readonly string[] {
  return goodDecision(body).questions.map((question) =>
    question.wire === "gliner" ? question.resultName : "",
  );
}

describe("GLiNER questions", () => {
  const kinds = "classification, boolean, entities, relations, structure";
  const spans = (labels: unknown) => ({ type: "entities", labels });
  const structure = (...fields: unknown[]) => ({ type: "structure", fields });
  test.each([
    [{ labels: ["a", "b"] }, `.type: required: one of ${kinds}`],
    [{ type: "text", labels: ["a"] }, /^\.type: use one of classification, boolean/],
    [{ ...mood, kind: "classification" }, ".kind: the same as type; send one of them"],
    [{ type: "classification" }, ".labels: required"],
    [{ type: "structure" }, ".fields: required"],
    [{ type: "classification", labels: ["a"] }, ".labels: 1 label, at least 2 needed"],
    [spans([]), ".labels: 0 labels, at least 1 needed"],
    [spans(["a", "a"]), ".labels[1]: this label is duplicated"],
    [spans(["a", " "]), ".labels[1] must not be blank"],
    [spans({ a: { top_k: 1 } }), ".labels.a.top_k: this model does not accept this field"],
    [spans({ a: { dtype: "int" } }), '.labels.a.dtype must be "str" or "list"'],
    [{ type: "classification", labels: { a: {}, b: "" } }, ".labels.a must be a string"],
    [{ ...people, top_k: 1 }, ".top_k: the type entities does not accept this field"],
    [{ ...mood, temperature: 1 }, ".temperature: this model does not accept this field"],
    [{ ...mood, threshold: 1.1 }, ".threshold must be a number from 0 to 1"],
    [{ ...mood, top_k: 0 }, ".top_k must be a whole number of at least 1"],
    [{ ...mood, multi_label: 1 }, ".multi_label must be true or false"],
    [{ ...mood, instructions: {} }, ".instructions must be a non-empty string"],
    [{ ...mood, examples: [["a"]] }, ".examples[0] must be an input and its label"],
    [structure(), ".fields: 0 fields, at least 1 needed"],
    [structure({}), ".fields[0].name: required"],
    [structure({ name: "a" }, { name: "a" }), ".fields[1].name: this name is duplicated"],
    [structure({ name: "a", choices: [] }), ".fields[0].choices: 0 choices, at least 1 needed"],
  ])("%j is refused: %s", (question, sentence) => {
    const said = badDecision({ questions: { a: question } }).replace(/^questions\.a/, "");
    expect(said).toMatch(exactly(sentence));
  });

  test("need a name that is not blank, not __proto__ and has at most 100 characters", () => {
    const named = (name: string): string => badDecision({ questions: [{ ...mood, name }] });
    expect(goodDecision({ questions: { "how do they feel?": mood } }).questions).toHaveLength(1);
    expect(named(" ")).toBe("questions[0] must not be blank");
    expect(named("__proto__")).toBe("questions[0] is not accepted as a name");
    expect(named("a".repeat(101))).toBe("questions[0]: a name has at most 100 characters");
  });
});

describe("names of results", () => {
  test("are those of the questions, or fixed ones for unnamed entities and relations", () => {
    expect(resultNames({ questions: [mood, people, knows, event] })).toEqual([
      "q1", "entities", "relation_extraction", "q4",
    ]); // prettier-ignore
    expect(resultNames({ questions: { mood, people, knows, event } })).toEqual([
      "mood", "people", "knows", "event",
    ]); // prettier-ignore
  });

  const named = (question: Json, name: string): Json => ({ ...question, name });
  test.each([
    [[named(mood, "sentiment"), people, named(event, "sentiment")], "sentiment", 1, 3],
    [[people, people], "entities", 1, 2],
    [[named(mood, "entities"), people], "entities", 1, 2],
    [[named(mood, "relation_extraction"), named(knows, "r")], "relation_extraction", 1, 2],
  ])("that are equal are refused: %j give %s twice", (questions, name, first, second) => {
    expect(badDecision({ questions })).toBe(
      `questions: two results are named "${name}" (questions ${first} and ${second})`,
    );
  });

  test("may be entities for a classification if no entities are requested", () => {
    expect(resultNames({ questions: [named(mood, "entities")] })).toEqual(["entities"]);
  });

  test("of a task and a structure must differ in the public form", () => {
    const schema = {
      classifications: [{ task: "sentiment", labels: ["a", "b"] }],
      structures: { sentiment: { fields: [{ name: "a" }] } },
    };
    const sentence = 'schema: two results are named "sentiment" (questions 1 and 2)';
    expect(badDecision({ schema })).toBe(sentence);
  });
});

describe("the public form", () => {
  const schema = {
    entities: ["person"],
    classifications: [
      {
        task: "mood",
        labels: ["a", "b"],
        multi_label: true,
        cls_threshold: 0.4,
        top_k: 1,
        prompt: "p",
      },
    ],
    structures: { event: { fields: [{ name: "title", dtype: "str" }] } },
    relations: { knows: "d" },
  };

  test("is read as the questions of all its sections", () => {
    const read = goodDecision({ schema, text: "t", state: undefined, threshold: 0.5 });
    expect(read).toMatchObject({ grammar: "gliner", state: "t", others: { threshold: 0.5 } });
    expect(read.questions).toEqual([
      { wire: "gliner", id: "entities", kind: "entities", resultName: "entities", body: { type: "entities", labels: ["person"] } },
      {
        wire: "gliner", id: "mood", kind: "classification", resultName: "mood",
        body: { type: "classification", labels: ["a", "b"], multi_label: true, threshold: 0.4, top_k: 1, instructions: "p" },
      },
      { wire: "gliner", id: "event", kind: "structure", resultName: "event", body: { type: "structure", fields: [{ name: "title", dtype: "str" }] } },
      { wire: "gliner", id: "relation_extraction", kind: "relations", resultName: "relation_extraction", body: { type: "relations", labels: { knows: "d" } } },
    ]); // prettier-ignore
  });

  const elsewhere =
    'schema: this model reads "questions"; a top-level schema belongs to another model\'s format';
  const labels = ["a", "b"];
  test.each([
    [{ type: "object", properties: {} }, elsewhere],
    [{}, elsewhere],
    [{ entities: ["a"], entity_attributes: {} }, /^schema\.entity_attributes is not a section/],
    [{ entities: null }, "schema: empty"],
    [{ relations: 7 }, "schema.relations must be an array of labels, or an object by label"],
    [{ classifications: {} }, "schema.classifications must be an array of tasks"],
    [{ classifications: [{ labels }] }, "schema.classifications[0].task: required"],
    [{ classifications: [{ task: "", labels }] }, "schema.classifications[0] must not be blank"],
    [
      { classifications: [{ task: "t", labels, class_act: "auto" }] },
      "schema.classifications[0].class_act: this model does not accept this field",
    ],
    [{ structures: {} }, "schema.structures: 0 structures, at least 1 needed"],
    [{ structures: { a: {} } }, "schema.structures.a.fields: required"],
  ])("with the schema %j is refused: %s", (bad, sentence) => {
    expect(badDecision({ schema: bad })).toMatch(exactly(sentence));
  });

  test("cannot be combined with questions", () => {
    expect(badDecision({ schema, questions: { mood } })).toBe(elsewhere);
  });
});

describe("the grammar of a body", () => {
  const noul = { schema: { type: "noul" }, instructions: "i" };

  test("is systemone for a schema or a noul type, and GLiNER for labels or a plain boolean", () => {
    const grammarOf = (a: Json): string => goodDecision({ questions: { a } }).grammar;
    expect(grammarOf(noul)).toBe("systemone");
    expect(grammarOf({ type: "noul", prompt: "i" })).toBe("systemone");
    expect(grammarOf({ type: "boolean", prompt: "i" })).toBe("gliner");
    expect(grammarOf(mood)).toBe("gliner");
  });

  test("must be the same for all questions", () => {
    const one = "a request has one format";
    expect(badDecision({ questions: { a: noul, b: { ...noul }, c: mood } })).toBe(
      `questions: question "a" is a systemone question and "c" a GLiNER one; ${one}`,
    );
    expect(badDecision({ questions: { a: mood, b: noul } })).toBe(
      `questions: question "a" is a GLiNER question and "b" a systemone one; ${one}`,
    );
  });

  test("is systemone for a question with a schema, even if it has a GLiNER field", () => {
    expect(badDecision({ questions: { a: { ...noul, labels: ["a", "b"] } } })).toBe(
      "questions.a.labels: this model does not accept this field",
    );
  });
});
