import { classifyDecision } from "./classify.ts";
import type { DecisionWire } from "./decision-wire.ts";
import { encodeDecision } from "./encode-request.ts";
import { inputTokens } from "./input-tokens.ts";
import { openDecisionAnswer } from "./open-answer.ts";
import { readDecisionRequest } from "./read-request.ts";
import { servabilityProblem } from "./servability.ts";

/** The decisions route's wire: one door, both grammars behind it. */
export const decisionWire: DecisionWire = {
  readDecisionRequest,
  servabilityProblem,
  inputTokens,
  encode: encodeDecision,
  openAnswer: openDecisionAnswer,
  classify: classifyDecision,
};
