import { describe, expect, test } from "vitest";
import {
  badDecision,
  exactly,
  goodDecision,
} from "../../../../test/fixtures/modality/decision-kit.ts";

/** Reads a body with one question, and returns that question. */
function asked(question: unknown, members: Readonly<Record<string, unknown>> = {}): unknown {
  return goodDecision({ questions: { a: question }, ...members }).questions[0];
}

function schema(type: unknown): unknown {
  return asked({ schema: type, instructions: "i" });
}

const noul = { schema: { type: "noul" } };

describe("systemone questions", () => {
  test.each([
    [{ type: "noul" }, { kind: "noul", criteria: undefined }],
    [
      { type: "enum", values: ["b", "a"] },
      { kind: "choice", labels: ["b", "a"], criteria: { b: null, a: null } },
    ],
    [
      { type: "integer", min: -1, max: 1 },
      { kind: "score", criteria: ["-1", "0", "1"], scoreFrom: -1 },
    ],
    [
      { type: "number", min: 1, max: 10 },
      { kind: "score", scoreFrom: 1 },
    ],
  ])("with the schema %j are read as %j", (type, question) => {
    expect(schema(type)).toMatchObject({ wire: "systemone", asked: type.type, ...question });
  });

  test("may call their instructions question, prompt or text, in any shape", () => {
    for (const name of ["instructions", "question", "prompt", "text"]) {
      for (const value of ["i", { ask: "i" }, ["i"]]) {
        const question = { schema: { type: "noul" }, [name]: value };
        expect(asked(question)).toMatchObject({ instructions: value });
      }
    }
  });

  test("need no instructions with criteria, and a description follows the instructions", () => {
    const criteria = ["a", "b"];
    const score = asked({ schema: { type: "score", criteria } });
    expect(score).toMatchObject({ instructions: undefined, criteria });
    const described = { type: "noul", description: "d" };
    expect(asked({ schema: described })).toMatchObject({ instructions: "d" });
    expect(asked({ schema: described, prompt: "i" })).toMatchObject({ instructions: "i\n\nd" });
    const structured = asked({ schema: described, prompt: { ask: "i" } });
    expect(structured).toMatchObject({ instructions: [{ ask: "i" }, "d"] });
  });

  test("treat null in a schema as absent, whatever the type", () => {
    const nothing = { description: null, criteria: null, values: null, min: null, max: null };
    const named = { ...nothing, type: "string", enum: ["a", "b"] };
    expect(asked({ schema: named, prompt: "i" })).toMatchObject({ labels: ["a", "b"] });
    const boolean = { ...nothing, type: "boolean", enum: null };
    expect(asked({ schema: boolean, prompt: "i" })).toMatchObject({ kind: "noul" });
  });

  const problemOf = (question: unknown): string =>
    badDecision({ questions: { a: question } }).replace(/^questions\.a/, "");

  test.each([
    [{ instructions: "i" }, ".schema is required: each question of this model carries a schema"],
    [{ schema: "noul" }, ".schema must be an object"],
    [{ ...noul, temperature: 1 }, ".temperature: this model does not accept this field"],
    [{ ...noul, type: "noul" }, ".type: belongs in the schema; move it there"],
    [noul, ".instructions: required: what to decide about the state"],
    [{ ...noul, instructions: "" }, /^\.instructions must be a non-empty string/],
    [{ ...noul, prompt: 5 }, /^\.prompt must be a non-empty string, object or/],
    [{ ...noul, instructions: "i", prompt: "i" }, /^\.prompt: the same as instructions; send one/],
    [{ type: "noul", criteria: { true: 1 } }, /^\.criteria\.true must be a non-empty string/],
    [{ type: "choice", prompt: "i" }, ".criteria: required: the options to choose from"],
    [{ type: "score", prompt: "i" }, ".criteria: required: the levels, or min and max"],
  ])("%j is refused: %s", (question, sentence) => {
    expect(problemOf(question)).toMatch(exactly(sentence));
  });

  test.each([
    [{}, /^type: required: one of noul, choice, score, box, bool/],
    [{ type: "text" }, /^type: decision models do not generate text; use one of noul, /],
    [{ type: "string" }, /^enum: required: decision models choose a label and do not generate/],
    [{ type: "noul", min: 1 }, "min: the type noul does not accept this field"],
    [{ type: "score", criteria: ["a", "b"], min: 1, max: 2 }, /^min: criteria already lists the/],
    [{ type: "integer", min: 1 }, "max: required beside min"],
    [{ type: "integer", max: 1 }, "min: required beside max"],
    [{ type: "number", min: 0.5, max: 2 }, "min must be a whole number"],
    [{ type: "integer", min: 1, max: 11 }, "max must be min plus 1 to 9"],
    [{ type: "integer", min: 2, max: 2 }, "max must be min plus 1 to 9"],
    [{ type: "integer", min: 1e300, max: 1e300 }, /must be min plus/],
    [{ type: "choice", criteria: { a: "x", b: "y" }, values: ["a", "b"] }, /^values: criteria alr/],
    [{ type: "enum", values: ["a", "b", "a"] }, "values[2]: this option is duplicated"],
    [{ type: "enum", values: ["a", " "] }, "values[1] must not be blank"],
    [{ type: "enum", values: ["__proto__", "a"] }, /must not be "__proto__"$/],
  ])("the schema %j is refused: %s", (type, sentence) => {
    const said = problemOf({ schema: type, prompt: "i" });
    expect(said.replace(/^\.schema\./, "")).toMatch(exactly(sentence));
  });

  test("have 2 to 255 options for a choice, and 2 to 10 levels for a score", () => {
    const words = (count: number): string[] => Array.from({ length: count }, (_, i) => `w${i}`);
    const described = (count: number): unknown =>
      Object.fromEntries(words(count).map((word) => [word, null]));
    const team = (type: unknown) => ({ questions: { team: { schema: type, prompt: "i" } } });
    for (const count of [2, 255]) {
      goodDecision(team({ type: "choice", criteria: described(count) }));
      goodDecision(team({ type: "enum", values: words(count) }));
    }
    goodDecision(team({ type: "score", criteria: words(10) }));
    for (const [type, sentence] of [
      [{ type: "choice", criteria: described(1) }, "criteria: 1 option, at least 2 needed"],
      [{ type: "choice", criteria: described(0) }, "criteria: 0 options, at least 2 needed"],
      [{ type: "choice", criteria: described(256) }, "criteria: 256 options, at most 255 accepted"],
      [{ type: "string", enum: words(256) }, "enum: 256 options, at most 255 accepted"],
      [{ type: "enum", values: words(1) }, "values: 1 option, at least 2 needed"],
      [{ type: "score", criteria: words(1) }, "criteria: 1 level, at least 2 needed"],
      [{ type: "score", criteria: words(11) }, "criteria: 11 levels, at most 10 accepted"],
    ] as const) {
      expect(badDecision(team(type))).toBe(`questions.team.schema.${sentence}`);
    }
  });
});
