import { expect, test } from "vitest";

import { tokensPerSecond } from "./conversation.ts";
import type { ChatAnswer } from "./chat-types.ts";

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

test("tokens per second are counted from the first token on", () => {
  expect(tokensPerSecond(answer)).toBe(50);
  expect(tokensPerSecond({ ...answer, durationMs: 500 })).toBeUndefined();
  expect(tokensPerSecond({ modelId: "a", text: "", reasoning: "", state: "waiting" })).toBe(
    undefined,
  );
});
