import type { Deployment } from "../../catalog/index.ts";
import { outputTokensTotal } from "../../kernel/index.ts";
import type { AttemptResult } from "../../upstream/index.ts";
import { BREACH, type Breaches } from "../verification/conduct.ts";
import type { AnswerBridge, CallRequest } from "../../formats/index.ts";
import type { CallPorts } from "./ports.ts";

/** One ended attempt, and who asked. */
export interface NotedAnswer {
  readonly deployment: Deployment;
  readonly orgId: string;
  readonly request: Pick<CallRequest, "outputTokens">;
  readonly result: AttemptResult;
  /** The usage or the cost was not believed. */
  readonly isImpossible: boolean;
}

/**
 * What one answer of live traffic says about its listing: the parts of the conformance checks that
 * cost nothing, because settlement has read them already. Only 2xx answers count, and of those
 * that failed only the ones that the provider certainly broke.
 */
export function noteConduct({ standing }: Pick<CallPorts, "standing">, noted: NotedAnswer): void {
  const { deployment, orgId, result } = noted;
  const { bridge, failure, upstreamStatus, timedOut } = result;
  if (upstreamStatus === null || upstreamStatus >= 300 || timedOut) return;
  // A customer's own key may lead to an account with other models than the listing's.
  if (deployment.ownKey !== undefined) return;
  if (failure === undefined) {
    if (bridge !== undefined) standing.note(deployment, orgId, breachesOf(bridge, noted));
  } else if (failure.isMalformed === true) {
    standing.note(deployment, orgId, BREACH.unreadable | substitutionOf(bridge));
  }
}

/** Of a complete answer. */
function breachesOf(bridge: AnswerBridge, noted: NotedAnswer): Breaches {
  const { deployment, request, isImpossible } = noted;
  const { usage } = bridge;
  let breaches = substitutionOf(bridge);
  if (isImpossible || bridge.usageFlaw !== undefined) breaches |= BREACH.usageImpossible;
  const counted = usage ?? bridge.declaredUsage;
  if (counted === undefined && isUsageDue(bridge, deployment)) breaches |= BREACH.usageMissing;
  if (deployment.modality !== "text") return breaches;
  if (bridge.hasWrongFinish) breaches |= BREACH.wrongFinish;
  if (usage !== undefined && outputTokensTotal(usage) > request.outputTokens) {
    breaches |= BREACH.boundExceeded;
  }
  return breaches;
}

function substitutionOf(bridge: AnswerBridge | undefined): Breaches {
  return bridge?.servedModel?.isSubstituted === true ? BREACH.substituted : 0;
}

/** A job reports its cost at its end, and some report a cost in place of tokens. */
function isUsageDue({ reportedCostUsd }: AnswerBridge, { modality, billing }: Deployment): boolean {
  return modality !== "video" && (billing !== "reported_cost" || reportedCostUsd === undefined);
}
