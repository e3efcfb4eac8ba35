import { expect, test } from "vitest";

import { askJudge, readVerdict } from "./judge.ts";

const answers = ["one/a", "two/b", "three/c"].map((modelId) => ({
  modelId,
  text: `by ${modelId}`,
}));

test("the same seed gives the same order, and over many seeds every model comes first as often", () => {
  expect(askJudge("p", answers, "s:1")).toEqual(askJudge("p", answers.toReversed(), "s:1"));
  const first = new Map<string, number>();
  for (let at = 0; at < 900; at += 1) {
    const modelId = askJudge("p", answers, `s:${at}`).modelIds[0] ?? "";
    first.set(modelId, (first.get(modelId) ?? 0) + 1);
  }
  for (const { modelId } of answers) {
    expect(first.get(modelId)).toBeGreaterThan(225);
    expect(first.get(modelId)).toBeLessThan(375);
  }
});

test("the judge sees the prompt and each answer under its letter, and no model's name", () => {
  const { question, modelIds } = askJudge(
    "What is 2 + 2?",
    [
      { modelId: "one/a", text: "four" },
      { modelId: "two/b", text: "five" },
    ],
    "s",
  );
  expect(question).toContain("What is 2 + 2?");
  expect(question).not.toMatch(/one\/a|two\/b/);
  const letterOfFour = /answer ([A-H])\]\]\nfour/.exec(question)?.[1] ?? "";
  expect(readVerdict(letterOfFour, modelIds)).toBe("one/a");
});

test.each(["B", "b", " B.\n", "**B**", '"B"', "Answer: B", "The best answer is B.", "(B)"])(
  "the verdict %j names the second answer",
  (reply) => {
    expect(readVerdict(reply, ["one/a", "two/b"])).toBe("two/b");
  },
);

test.each(["", "C", "A or B", "Both are good", "Because", "A B", "Answer", "I choose neither"])(
  "the verdict %j counts for no model",
  (reply) => {
    expect(readVerdict(reply, ["one/a", "two/b"])).toBeUndefined();
  },
);
