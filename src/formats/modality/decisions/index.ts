import { assert } from "../../../kernel/index.ts";
import { quoteWorstCase } from "../../../catalog/index.ts";
import type { Modality } from "../../wire/modality.ts";
import { classifyDecision } from "./classify.ts";
import { encodeDecision, inputTokens } from "./encode-request.ts";
import { openDecisionAnswer } from "./open-answer.ts";
import { parseDecisionRequest, type ParsedDecisionRequest } from "./parse-request.ts";
import { servabilityProblem } from "./servability.ts";

/** `POST /v1/decisions`: typed answers to questions about a state, in either grammar. */
export const decisions: Modality<ParsedDecisionRequest> = {
  modality: "decisions",
  family: "decisions",
  read: (client) => parseDecisionRequest(client.body),
  servabilityProblem,
  encode: (request, deployment) => ({ ok: true, upstream: encodeDecision(request, deployment) }),
  openAnswer: (request, deployment, context) =>
    openDecisionAnswer({ request, deployment, ...context }),
  quote: (request, deployment) => {
    const { prices } = deployment;
    assert(prices !== null, "a plan has no unpriced deployment");
    return quoteWorstCase(prices, {
      input: inputTokens(request, deployment),
      output: request.outputTokens,
    });
  },
  // Some listings count the state once, others once per question. The largest number is claimed.
  inputTokens: (request, deployments) =>
    Math.max(
      request.estimatedInputTokens,
      ...deployments.map((each) => inputTokens(request, each)),
    ),
  timeouts: "decisions",
  classify: classifyDecision,
};
