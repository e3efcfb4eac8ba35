import * as fc from "fast-check";
import { expect, test } from "vitest";

import { AnswerReader, type ReadAnswer } from "./model-caller.ts";

function read(chunks: readonly Buffer[]): ReadAnswer {
  const reader = new AnswerReader();
  for (const chunk of chunks) reader.push(chunk);
  return reader.answer;
}

function stream(...events: readonly (string | object)[]): Buffer {
  const lines = events.map((each) => (typeof each === "string" ? each : JSON.stringify(each)));
  return Buffer.from(lines.map((line) => `data: ${line}\n\n`).join(""));
}

function delta(content: string): object {
  return { choices: [{ index: 0, delta: { content } }] };
}

test("an answer is the same however its bytes are cut", () => {
  const usage = { choices: [], usage: { prompt_tokens: 3 } };
  const whole = stream(delta("Grüße, "), delta("日本 👋"), usage, "[DONE]");
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: whole.length })), (cuts) => {
      const marks = [0, ...cuts.toSorted((a, b) => a - b), whole.length];
      const chunks = marks.slice(1).map((mark, at) => whole.subarray(marks[at], mark));
      expect(read(chunks)).toEqual({ text: "Grüße, 日本 👋", isWhole: true });
    }),
  );
});

test("an answer that broke off or ended with an error is not marked as whole", () => {
  expect(read([stream(delta("half"))])).toMatchObject({ text: "half", isWhole: false });
  const failed = stream(delta("half"), {
    choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
    error: { code: "upstream_error" },
  });
  expect(read([failed, stream("[DONE]")]).isWhole).toBe(false);
});

test("events that are not JSON objects are ignored", () => {
  const answer = read([stream("{", "null", delta("fine"), "[DONE]")]);
  expect(answer).toMatchObject({ text: "fine", isWhole: true });
});
