import { assert } from "../core/assert.ts";
import type { Clock } from "../core/time.ts";
import { tokenCount } from "../limits/limit-store.ts";
import { quoteWorstCase } from "../pricing/quote.ts";
import type { DecisionRequest, DecisionWire } from "../modality/decisions/decision-wire.ts";
import type { CallKind } from "./call-kind.ts";

/** Typed answers to questions about a state: `POST /v1/decisions`. */
export function decisionCall(wire: DecisionWire, clock: Clock): CallKind<DecisionRequest> {
  return {
    modality: "decisions",
    read: (exchange) => wire.readDecisionRequest(exchange.body),
    servabilityProblem: (request, deployment) => wire.servabilityProblem(request, deployment),
    encode: (request, deployment) => wire.encode(request, deployment),
    openAnswer: (request, deployment, { requestId, createdSeconds }) =>
      wire.openAnswer({ request, deployment, requestId, createdSeconds }),
    quote: (request, deployment) => {
      const { prices } = deployment;
      assert(prices !== null, "a plan has no unpriced deployment");
      return quoteWorstCase(prices, {
        input: wire.inputTokens(request, deployment),
        output: request.outputTokens,
      });
    },
    // One listing counts the state once, another per question: the claim holds for the dearest.
    tokens: (request, deployments) =>
      tokenCount(
        Math.max(
          request.estimatedInputTokens,
          ...deployments.map((each) => wire.inputTokens(request, each)),
        ),
        request.outputTokens,
      ),
    timeouts: ({ decisions }) => decisions,
    classifier: (base, deployment) => ({
      ...base,
      answer: (failed) => wire.classify(failed, deployment, clock.nowMs()),
    }),
  };
}
