import type { Deployment } from "../../catalog/index.ts";
import type { Refusal } from "../../kernel/index.ts";
import {
  planRoute,
  policyProblem,
  withOwnKeys,
  type OwnKeys,
  type PlanInput,
} from "./plan-route.ts";

export interface RouteExplanation {
  /** In the order of the plan; empty if and only if there is a refusal. */
  readonly candidates: readonly Deployment[];
  readonly excluded: readonly ExcludedDeployment[];
  readonly refusal: Refusal | undefined;
  readonly ownKeys: OwnKeys;
}

export interface ExcludedDeployment {
  readonly deployment: Deployment;
  readonly reason: string;
}

/** Plans a route, and says of every other deployment why it would not be tried. */
export function explainRoute(input: PlanInput): RouteExplanation {
  const plan = planRoute(input);
  const candidates = plan.kind === "plan" ? [plan.first, ...plan.others()] : [];
  const isServed = input.model?.modality === input.modality;
  const listed = isServed ? input.model.deployments : [];
  const known = new Set([...withOwnKeys(listed, input), ...listed]);
  return {
    candidates,
    excluded: [...known]
      .filter((each) => !candidates.includes(each))
      .map((deployment) => ({ deployment, reason: exclusionReason(deployment, input) })),
    refusal: plan.kind === "refused" ? plan.refusal : undefined,
    ownKeys: plan.kind === "plan" ? plan.ownKeys : "none",
  };
}

function exclusionReason(deployment: Deployment, input: PlanInput): string {
  const forbidden = policyProblem(deployment, input);
  if (forbidden !== undefined) return forbidden;
  if (input.standing?.mayRoute(deployment) === false) return "its listing is not verified";
  if (deployment.ownKey === undefined && input.controls.connections === "only") {
    return 'provider.connections is "only"';
  }
  if (deployment.prices === null) return "it is listed without a price";
  if (!input.isHealthy(deployment)) return "it is cooling down after failures";
  const unservable = input.servabilityProblem(deployment);
  if (unservable !== undefined) return unservable.message;
  return "provider.allow_fallbacks is false, and another one is tried first";
}
