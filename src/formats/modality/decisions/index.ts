import { assert } from "../../../kernel/index.ts";
import { quoteWorstCase } from "../../../catalog/index.ts";
import type { Modality } from "../../wire/modality.ts";
import { classifyDecision } from "./classify.ts";
import { encodeDecision, inputTokens } from "./encode-request.ts";
import { openDecisionAnswer } from "./open-answer.ts";
import { parseDecisionRequest, type ParsedDecisionRequest } from "./parse-request.ts";
import { servabilityProblem } from "./servability.ts";

/**
 * `POST /v1/decisions`: typed answers to the request's `questions` about its `state`. Questions can
 * be in the systemone or in the GLiNER format.
 */
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
  // Some providers count `state` once per question. The largest count is claimed from rate limits.
  inputTokens: (request, deployments) =>
    Math.max(
      request.estimatedInputTokens,
      ...deployments.map((each) => inputTokens(request, each)),
    ),
  timeouts: "decisions",
  classify: classifyDecision,
};
