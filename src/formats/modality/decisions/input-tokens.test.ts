import { expect, test } from "vitest";
import { MEDIA_PART_TOKENS } from "../../../kernel/core/constants.ts";
import { decisionBody, decisionsDeployment, goodDecision } from "../fixtures/decision-kit.ts";
import { inputTokens } from "./input-tokens.ts";

const noul = { schema: { type: "noul" }, instructions: "i" };
const once = decisionsDeployment({ readsImages: true });
const each = decisionsDeployment({ readsImages: true, isStatePerQuestion: true });

test("the state counts once, or once for each question where the provider asks them one by one", () => {
  const state = { text: "é".repeat(1000) };
  const stateBytes = Buffer.byteLength(JSON.stringify(state));
  for (const count of [1, 2, 5]) {
    const body = decisionBody({ state, questions: Array.from({ length: count }, () => noul) });
    const bytes = Buffer.byteLength(body);
    expect(inputTokens(goodDecision(body), once)).toBe(bytes);
    expect(inputTokens(goodDecision(body), each)).toBe(bytes + (count - 1) * stateBytes);
  }
});

test("images of the state are read with each question, those of a question once", () => {
  const base64 = "A".repeat(400);
  const image = { type: "image_url", image_url: { url: `data:image/png;base64,${base64}` } };
  const state = [image, image];
  const shown = { type: "noul", instructions: ["like", image] };
  const body = decisionBody({ state, questions: [shown, noul, noul] });
  const bytes = body.length - 3 * base64.length;
  const stateTokens = JSON.stringify(state).length - 2 * base64.length + 2 * MEDIA_PART_TOKENS;
  expect(inputTokens(goodDecision(body), once)).toBe(bytes + 3 * MEDIA_PART_TOKENS);
  expect(inputTokens(goodDecision(body), each)).toBe(
    bytes + 3 * MEDIA_PART_TOKENS + 2 * stateTokens,
  );
});
