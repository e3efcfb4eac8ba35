import { describe, expect, test } from "vitest";

import type { PriceSheet } from "../../../catalog/catalog.ts";
import {
  decisionsDeployment,
  goodDecision,
} from "../../../../test/fixtures/modality/decision-kit.ts";
import { decisions } from "./index.ts";
import type { ParsedDecisionRequest } from "./parse-request.ts";

const prices: PriceSheet = {
  pinId: "pin",
  prompt: 2_000_000n,
  cachedPrompt: 500_000n,
  cacheWrite: 3_000_000n,
  completion: 1_000_000n,
  internalReasoning: 1_000_000n,
};
const once = decisionsDeployment({}, { prices });
const perQuestion = decisionsDeployment({ isStatePerQuestion: true }, { prices });

const STATE = "s".repeat(1_000);

function request(): ParsedDecisionRequest {
  const question = { schema: { type: "boolean" }, instructions: "?" };
  return goodDecision({ state: STATE, questions: { a: question, b: question } });
}

describe("a decisions call", () => {
  test("reserves each attempt's worst case: the state once, or once per question", () => {
    const asked = request();
    const inputOnce = BigInt(asked.estimatedInputTokens);
    const stateAgain = BigInt(STATE.length + 2);
    // An input token costs 3 micro-dollars at most, and each of 4,096 output tokens costs 1.
    expect(decisions.quote(asked, once)).toBe(inputOnce * 3n + 4_096n);
    expect(decisions.quote(asked, perQuestion)).toBe((inputOnce + stateAgain) * 3n + 4_096n);
  });

  test("claims the tokens of the dearest listing that may serve it", () => {
    const asked = request();
    const dearest = asked.estimatedInputTokens + STATE.length + 2;
    for (const listings of [
      [once, perQuestion],
      [perQuestion, once],
    ]) {
      expect(decisions.inputTokens?.(asked, listings)).toBe(dearest);
    }
    expect(decisions.inputTokens?.(asked, [once])).toBe(asked.estimatedInputTokens);
  });
});
