import type { Deployment } from "../../../catalog/index.ts";
import { MEDIA_PART_TOKENS } from "../../../kernel/index.ts";
import type { ParsedDecisionRequest } from "./parse-request.ts";

/**
 * Input tokens to reserve on this deployment: one per byte and the allowance for images, with the
 * state once, or once for each question where the provider runs a prompt for each.
 */
export function inputTokens(request: ParsedDecisionRequest, deployment: Deployment): number {
  const once = request.estimatedInputTokens;
  if (deployment.decisions?.isStatePerQuestion !== true) return once;
  const stateTokens = request.stateBytes + request.stateImages * MEDIA_PART_TOKENS;
  return once + (request.questions.length - 1) * stateTokens;
}
