import type { Deployment } from "../catalog/index.ts";
import {
  type MicroUsd,
  printJson,
  type Refusal,
  refusalGround,
  refusalTimes,
} from "../core/index.ts";
import type { CallRequest } from "../wire/index.ts";
import type { Step } from "./call-kind.ts";
import type { RouteAnswer, RouteCandidate, RouteRefusal } from "./route-contract.ts";

export interface ShownStep extends Step {
  readonly health: "healthy" | "half_open";
  /** Is the request written anew for the other wire? */
  readonly translated: boolean;
  /** Did it serve this conversation last? */
  readonly servedLast: boolean;
  /** Why its pool has no place now; undefined: it has one. */
  readonly poolFull: Refusal | undefined;
}

export interface ExcludedStep {
  readonly deployment: Deployment;
  readonly reason: string;
}

export interface ShownRoute {
  readonly request: CallRequest;
  /** In the order in which they would be tried. */
  readonly steps: readonly ShownStep[];
  readonly excluded: readonly ExcludedStep[];
  /** Null: no candidate could serve, so nothing would be held. */
  readonly reserve: MicroUsd | null;
  readonly refusal: Refusal | undefined;
}

/** The body of `POST /v1/route`. */
export function routeBody(route: ShownRoute): string {
  const { request, steps, excluded, reserve, refusal } = route;
  const dropped = [...request.droppedParams, ...(steps[0]?.upstream.droppedParams ?? [])];
  const answer: RouteAnswer = {
    candidates: steps.map((step, at) => candidate(step, at, request)),
    excluded: excluded.map(({ deployment, reason }) => ({
      provider: deployment.providerId,
      reason,
    })),
    estimate: {
      input_tokens: request.estimatedInputTokens,
      output_tokens: request.outputTokens,
      reserve_micro_usd: reserve,
    },
    would_admit: refusal === undefined,
    refusal: refusal === undefined ? null : shownRefusal(refusal),
    dropped_params: [...new Set(dropped)],
  };
  return printJson(answer);
}

function candidate(step: ShownStep, at: number, request: CallRequest): RouteCandidate {
  const { deployment, health, translated, poolFull } = step;
  return {
    rank: at + 1,
    provider: deployment.providerId,
    upstream_id: deployment.upstreamModelId,
    dialect: deployment.wire,
    translated,
    priority: deployment.priority,
    health,
    pool: { id: `pool:${deployment.pool.id}`, has_room: poolFull === undefined },
    own_key: deployment.ownKey !== undefined,
    reasons: reasonsOf(step, request),
  };
}

/** Why it has its position, and what is lost on the way to it. */
function reasonsOf(step: ShownStep, request: CallRequest): string[] {
  const { deployment, upstream, servedLast, poolFull } = step;
  const isNamed = request.controls.order?.includes(deployment.providerId) === true;
  const { droppedParams } = upstream;
  return [
    ...(isNamed ? ["provider.order names it"] : []),
    ...(deployment.ownKey === undefined ? [] : ["it is called with your own key"]),
    `its priority is ${deployment.priority}`,
    ...(servedLast ? ["of equals it served this conversation last"] : []),
    ...(poolFull === undefined ? [] : [poolFull.message]),
    ...(droppedParams.length === 0 ? [] : [`it drops ${[...new Set(droppedParams)].join(", ")}`]),
  ];
}

/** The fields of the error that the real route would answer with. */
function shownRefusal(refusal: Refusal): RouteRefusal {
  const { retryAfterSeconds } = refusal;
  return {
    status: refusal.status,
    code: refusal.class,
    message: refusal.message,
    retryable: refusal.retryable,
    ...refusalGround(refusal),
    ...(retryAfterSeconds === undefined ? {} : { retry_after: retryAfterSeconds }),
    ...refusalTimes(refusal),
  };
}
