import { expect, test } from "vitest";

import { askJudge, endsMonthSoon, readVerdict, SearchTasks } from "./search-tasks.ts";

function tasksOf(hasJudge: boolean): SearchTasks {
  return new SearchTasks({ searchId: "s", prompts: ["p0", "p1"], modelIds: ["a", "b"], hasJudge });
}

test("every candidate is asked a prompt before the next prompt begins", () => {
  const tasks = tasksOf(false);
  const taken = [];
  for (let task = tasks.take(); task !== undefined; task = tasks.take()) {
    taken.push(`${tasks.findPrompt(task)} ${task.kind === "answer" ? task.modelId : "judge"}`);
  }
  expect(taken).toEqual(["p0 a", "p0 b", "p1 a", "p1 b"]);
});

test("the judge is asked as soon as all answers to a prompt are there", () => {
  const tasks = tasksOf(true);
  tasks.take();
  tasks.take();
  expect(tasks.answered(0, "b", "second")).toBe(false);
  expect(tasks.take()).toEqual({ kind: "answer", promptAt: 1, modelId: "a" });
  expect(tasks.answered(0, "a", "first")).toBe(false);
  const judgement = tasks.take();
  expect(judgement?.kind).toBe("judge");
  expect(judgement?.kind === "judge" && judgement.modelIds.toSorted()).toEqual(["a", "b"]);
});

test("the judge is not asked about a prompt with a single answer", () => {
  const tasks = tasksOf(true);
  expect(tasks.answered(0, "a", "only one")).toBe(false);
  expect(tasks.answered(0, "b", undefined)).toBe(true);
  expect(tasks.take()).toEqual({ kind: "answer", promptAt: 0, modelId: "a" });
});

const MODEL_IDS = ["one/a", "two/b", "three/c"];
const answers = MODEL_IDS.map((modelId) => ({ modelId, text: `by ${modelId}` }));

test("the same seed gives the judge the same order, and over many seeds each model is first about as often", () => {
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
  const given = [
    { modelId: "one/a", text: "four" },
    { modelId: "two/b", text: "five" },
  ];
  const { question, modelIds } = askJudge("What is 2 + 2?", given, "s");
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

test("a UTC month counts as ending soon in its last two minutes, and as ended for what began before its end", () => {
  expect(endsMonthSoon(Date.parse("2026-11-30T23:57:59.999Z"))).toBe(false);
  expect(endsMonthSoon(Date.parse("2026-11-30T23:58:00.000Z"))).toBe(true);
  expect(endsMonthSoon(Date.parse("2026-12-01T00:00:00.000Z"))).toBe(false);
  expect(endsMonthSoon(Date.parse("2026-12-31T23:59:59.999Z"))).toBe(true);
  const sinceMs = Date.parse("2026-11-30T23:57:00.000Z");
  expect(endsMonthSoon(Date.parse("2026-12-01T00:00:00.000Z"), sinceMs)).toBe(true);
});
