import { describe, expect, test } from "vitest";

import {
  answersFlaw,
  listAnswers,
  envelopeFlaw,
  otherMembers,
  probabilityFlaw,
} from "./decision-flaws.ts";
import type { AskedQuestion } from "./decision-probes.ts";

const place: AskedQuestion = { id: "place", kind: "choice", body: {} };
const things: AskedQuestion = { id: "things", kind: "entities", body: {} };
const good = { type: "choice", choice: "a", probabilities: { a: 0.7, b: 0.3 } };

function systemone(answers: unknown, questions = [place]): string | undefined {
  return answersFlaw(listAnswers({ answers, model: "m" }, "systemone"), questions);
}

describe("answers to questions", () => {
  test.each([
    ["by id", { place: good }],
    ["in a list, by name", [{ name: "place", ...good }]],
    ["in a list, by their order", [good]],
  ])("are accepted %s", (_how, answers) => {
    expect(systemone(answers)).toBeUndefined();
  });

  test.each([
    ["no answer", undefined, "question place has no answer"],
    ["another name", { other: good }, "question place has no answer"],
    ["an extra answer", { place: good, more: good }, "there is an answer without a question"],
    ["two of one name", [{ name: "place" }, { name: "place" }], "two answers have one name"],
  ])("are refused with %s", (_how, answers, flaw) => {
    expect(systemone(answers)).toBe(flaw);
  });

  test.each([
    ["in a result", { result: { place: "a", things: {} }, token_usage: 3 }],
    ["in the body itself", { place: "a", things: {}, token_usage: 3, id: "x", model: "m" }],
  ])("of GLiNER are accepted %s", (_how, body) => {
    expect(answersFlaw(listAnswers(body, "gliner"), [place, things])).toBeUndefined();
  });
});

describe("probabilities of an answer", () => {
  test.each([
    ["by label", good],
    ["in a list", { probabilities: [0.5, 0.5] }],
    ["if there are none", "harbour"],
    ["if each label has its own", ["a", "b"].map((label) => ({ label, confidence: 0.9 }))],
  ])("are accepted %s", (_what, answer) => {
    expect(probabilityFlaw(answer)).toBeUndefined();
  });

  test.each([
    ["a sum of 1.4", { probabilities: { a: 1, b: 0.4 } }, "probabilities sum to 1.4"],
    ["one below 0", { probabilities: { a: 1.1, b: -0.1 } }, "a probability is not between 0 and 1"],
    ["a text", { probabilities: { a: "1" } }, "a probability is not between 0 and 1"],
    ["a noul above 1", { noul: 1.5 }, "noul is 1.5, not between 0 and 1"],
    ["a confidence of 2", [{ confidence: 2 }], "confidence is 2, not between 0 and 1"],
  ])("are refused with %s", (_what, answer, flaw) => {
    expect(probabilityFlaw(answer)).toBe(flaw);
    expect(systemone({ place: answer })).toBe(`question place: ${flaw}`);
  });
});

describe("a declared envelope", () => {
  const envelope = { result: {}, success: true, errors: [], messages: [] };
  const notEmpty = "is not an empty list";

  test("is accepted if it is complete, and a body needs none if none is declared", () => {
    expect(envelopeFlaw(envelope, "envelope_v4")).toBeUndefined();
    expect(envelopeFlaw({}, undefined)).toBeUndefined();
    expect(otherMembers({ ...envelope, result_info: {} }, "envelope_v4")).toEqual(["result_info"]);
    expect(otherMembers({ answers: {} }, undefined)).toEqual([]);
  });

  test.each([
    ["none of its members", { answers: {} }, "the envelope's success is not true"],
    ["a null result", { ...envelope, result: null }, "the envelope's result is not an object"],
    ["an error", { ...envelope, errors: [{}] }, `the envelope's errors ${notEmpty}`],
    ["null messages", { ...envelope, messages: null }, `the envelope's messages ${notEmpty}`],
  ])("is refused with %s", (_what, json, flaw) => {
    expect(envelopeFlaw(json, "envelope_v4")).toBe(flaw);
  });
});
