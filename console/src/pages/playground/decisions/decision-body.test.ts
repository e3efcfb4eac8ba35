import { describe, expect, test } from "vitest";

import { decisionBody, type DecisionDraft, type QuestionDraft } from "./decision-body.ts";

function question(change: Partial<QuestionDraft>): QuestionDraft {
  return {
    id: "q",
    name: "urgent",
    type: "boolean",
    instructions: "",
    labels: "",
    min: "",
    max: "",
    isMulti: false,
    ...change,
  };
}

function draft(...questions: readonly QuestionDraft[]): DecisionDraft {
  return { isJsonState: false, state: "Checkout is down", questions };
}

describe("a call of a systemone model", () => {
  test("has a schema for each question", () => {
    const made = decisionBody(
      "lab/decide",
      "systemone",
      draft(
        question({ instructions: " Is this urgent? " }),
        question({ name: "team", type: "enum", labels: "billing\n\n shop " }),
        question({ name: "kind", type: "choice", labels: "bug: it worked before\nwish" }),
        question({ name: "stars", type: "integer", min: "1", max: "5" }),
        question({ name: "mood", type: "score", labels: "calm\nfurious" }),
      ),
    );
    expect(made).toEqual({
      body: {
        model: "lab/decide",
        state: "Checkout is down",
        questions: {
          urgent: { schema: { type: "boolean" }, instructions: "Is this urgent?" },
          team: { schema: { type: "enum", values: ["billing", "shop"] } },
          kind: { schema: { type: "choice", criteria: { bug: "it worked before", wish: null } } },
          stars: { schema: { type: "integer", min: 1, max: 5 } },
          mood: { schema: { type: "score", criteria: ["calm", "furious"] } },
        },
      },
    });
  });
});

describe("a call of a gliner model", () => {
  test("has the type and its fields in each question", () => {
    const made = decisionBody(
      "lab/tag",
      "gliner",
      draft(
        question({
          name: "tone",
          type: "classification",
          labels: "formal\nfriendly",
          isMulti: true,
        }),
        question({ name: "people", type: "entities", labels: "person" }),
        question({ name: "letter", type: "structure", labels: "sender\nplace" }),
      ),
    );
    expect(made).toMatchObject({
      body: {
        questions: {
          tone: { type: "classification", labels: ["formal", "friendly"], multi_label: true },
          people: { type: "entities", labels: ["person"] },
          letter: { type: "structure", fields: [{ name: "sender" }, { name: "place" }] },
        },
      },
    });
  });
});

describe("a problem of the form", () => {
  test.each([
    ["state", { ...draft(question({})), state: " " }],
    ["state", { ...draft(question({})), isJsonState: true, state: "{" }],
    ["state", { ...draft(question({})), isJsonState: true, state: "3" }],
    ["questions", draft()],
    ["name", draft(question({ name: " " }))],
    ["name", draft(question({ id: "1" }), question({ id: "2" }))],
    ["labels", draft(question({ type: "enum", labels: "one" }))],
    ["range", draft(question({ type: "integer", min: "5", max: "5" }))],
    ["range", draft(question({ type: "number", min: "", max: "5" }))],
  ] as const)("is reported at the field %s (case %#)", (field, wrong) => {
    expect(decisionBody("lab/decide", "systemone", wrong)).toMatchObject({ field });
  });

  test("is not reported for a question named constructor", () => {
    const made = decisionBody("m", "systemone", draft(question({ name: "constructor" })));
    expect(made).toHaveProperty("body");
  });
});

test("a state in JSON is sent as JSON", () => {
  const json = { ...draft(question({})), isJsonState: true, state: '{"plan":"enterprise"}' };
  expect(decisionBody("m", "systemone", json)).toMatchObject({
    body: { state: { plan: "enterprise" } },
  });
});
