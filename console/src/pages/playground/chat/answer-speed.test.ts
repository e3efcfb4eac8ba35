import { expect, test } from "vitest";

import { tokensPerSecond, totalsOf } from "./answer-speed.ts";
import type { ChatAnswer, Turn } from "./chat-types.ts";

const answer: ChatAnswer = {
  modelId: "a",
  text: "",
  reasoning: "",
  state: "done",
  completionTokens: 100,
  firstByteMs: 500,
  durationMs: 2_500,
  costUsd: "0.000001",
};
const turn: Turn = { id: "t", text: "", attachments: [], answers: [answer] };

test("tokens a second are counted from the first token on", () => {
  expect(tokensPerSecond(answer)).toBe(50);
  expect(tokensPerSecond({ ...answer, durationMs: 500 })).toBeUndefined();
  expect(tokensPerSecond({ modelId: "a", text: "", reasoning: "", state: "waiting" })).toBe(
    undefined,
  );
});

test("totals are exact, of one model or of all of them", () => {
  const other = { ...answer, modelId: "b", costUsd: "0.100000" };
  const turns = [turn, { ...turn, answers: [answer, other] }];
  expect(totalsOf(turns, "a")).toMatchObject({ answers: 2, costUsd: "0.000002" });
  expect(totalsOf(turns)).toMatchObject({ answers: 3, costUsd: "0.100002", completionTokens: 300 });
});
