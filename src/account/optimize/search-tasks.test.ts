import { expect, test } from "vitest";

import { SearchTasks } from "./search-tasks.ts";

function tasksOf(hasJudge: boolean): SearchTasks {
  return new SearchTasks({ searchId: "s", prompts: ["p0", "p1"], modelIds: ["a", "b"], hasJudge });
}

test("every candidate is asked a prompt before the next prompt begins", () => {
  const tasks = tasksOf(false);
  const taken = [];
  for (let task = tasks.take(); task !== undefined; task = tasks.take()) {
    taken.push(`${tasks.promptOf(task)} ${task.kind === "answer" ? task.modelId : "judge"}`);
  }
  expect(taken).toEqual(["p0 a", "p0 b", "p1 a", "p1 b"]);
  expect(tasks.planned).toBe(4);
});

test("the judge is asked as soon as all answers to a prompt are there", () => {
  const tasks = tasksOf(true);
  expect(tasks.planned).toBe(6);
  tasks.take();
  tasks.take();
  expect(tasks.answered(0, "b", "second")).toBe(false);
  expect(tasks.take()).toEqual({ kind: "answer", promptAt: 1, modelId: "a" });
  expect(tasks.answered(0, "a", "first")).toBe(false);
  const judgement = tasks.take();
  expect(judgement?.kind).toBe("judge");
  expect(judgement?.kind === "judge" && judgement.modelIds.toSorted()).toEqual(["a", "b"]);
});

test("a single answer is not judged: that call is left out", () => {
  const tasks = tasksOf(true);
  expect(tasks.answered(0, "a", "only one")).toBe(false);
  expect(tasks.answered(0, "b", undefined)).toBe(true);
  expect(tasks.take()).toEqual({ kind: "answer", promptAt: 0, modelId: "a" });
});
