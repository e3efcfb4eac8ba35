import { Type } from "typebox";

import type { Deployment } from "../../catalog/index.ts";
import {
  type MicroUsd,
  type Refusal,
  refusalTimes,
  Count,
  type DefineField,
  List,
  MicroUsdNumber,
  nullable,
  oneOf,
  type ReadRoute,
  shape,
} from "../../kernel/index.ts";
import { RefusalReason } from "../../ledger/index.ts";
import type { CallRequest } from "../../formats/index.ts";
import type { Step } from "./call-kind.ts";

export interface ShownStep extends Step {
  readonly health: "healthy" | "half_open";
  readonly translated: boolean;
  readonly servedLast: boolean;
  readonly poolFull: Refusal | undefined;
}

export interface ExcludedStep {
  readonly deployment: Deployment;
  readonly reason: string;
}

export interface ShownRoute {
  readonly request: CallRequest;
  /** The candidates, in the order in which a call would try them. */
  readonly steps: readonly ShownStep[];
  readonly excluded: readonly ExcludedStep[];
  /** The amount that a call would hold for the candidate of `findTaken`; null without one. */
  readonly reserve: MicroUsd | null;
  readonly refusal: Refusal | undefined;
}

/** The candidate to which a call would be sent: a candidate whose pool is full is passed over. */
export function findTaken(steps: readonly ShownStep[]): ShownStep | undefined {
  return steps.find(({ poolFull }) => poolFull === undefined) ?? steps[0];
}

interface Candidate extends ShownStep {
  readonly rank: number;
  readonly request: CallRequest;
}

const pool = shape((is: DefineField<Candidate>) => ({
  id: is(Type.String(), ({ deployment }) => `pool:${deployment.pool.id}`),
  has_capacity: is(Type.Boolean(), ({ poolFull }) => poolFull === undefined),
}));

const candidate = shape((is: DefineField<Candidate>) => ({
  rank: is(Type.Integer(), ({ rank }) => rank),
  provider: is(Type.String(), ({ deployment }) => deployment.providerId),
  upstream_id: is(Type.String(), ({ deployment }) => deployment.upstreamModelId),
  dialect: is(Type.String(), ({ deployment }) => deployment.wire),
  translated: is(Type.Boolean(), ({ translated }) => translated),
  priority: is(Type.Integer(), ({ deployment }) => deployment.priority),
  health: is(oneOf("healthy", "half_open"), ({ health }) => health),
  pool: is(pool.schema, pool.show),
  own_key: is(Type.Boolean(), ({ deployment }) => deployment.ownKey !== undefined),
  reasons: is(List(Type.String()), listReasons),
}));

function listReasons({ request, ...step }: Candidate): string[] {
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

const excluded = shape((is: DefineField<ExcludedStep>) => ({
  provider: is(Type.String(), ({ deployment }) => deployment.providerId),
  reason: is(Type.String(), ({ reason }) => reason),
}));

const estimate = shape((is: DefineField<ShownRoute>) => ({
  input_tokens: is(Count, ({ request }) => request.estimatedInputTokens),
  output_tokens: is(Count, ({ request }) => request.outputTokens),
  reserve_micro_usd: is(nullable(MicroUsdNumber), ({ reserve }) => reserve),
}));

const { origin, limit_scope, limit_kind, limit_id, retry_after, retry_at, reset_at } =
  RefusalReason.properties;

const refusal = shape((is: DefineField<Refusal>) => ({
  status: is(Type.Integer(), ({ status }) => status),
  code: is(Type.String(), (each) => each.class),
  message: is(Type.String(), ({ message }) => message),
  retryable: is(Type.Boolean(), ({ retryable }) => retryable),
  origin: is(origin, (each) => each.origin),
  limit_scope: is(limit_scope, ({ limit }) => limit?.scope),
  limit_kind: is(limit_kind, ({ limit }) => limit?.kind),
  limit_id: is(limit_id, ({ limit }) => limit?.id),
  retry_after: is(retry_after, ({ retryAfterSeconds }) => retryAfterSeconds),
  retry_at: is(retry_at, (each) => refusalTimes(each).retry_at),
  reset_at: is(reset_at, (each) => refusalTimes(each).reset_at),
}));

export const routeAnswer = shape((is: DefineField<ShownRoute>) => ({
  candidates: is(
    List(candidate.schema, { description: "in the order in which they would be tried" }),
    ({ steps, request }) =>
      steps.map((step, at) => candidate.show({ ...step, rank: at + 1, request })),
  ),
  excluded: is(List(excluded.schema), (route) => route.excluded.map(excluded.show)),
  estimate: is(estimate.schema, estimate.show),
  would_admit: is(Type.Boolean(), (route) => route.refusal === undefined),
  refusal: is(nullable(refusal.schema), (route) =>
    route.refusal === undefined ? null : refusal.show(route.refusal),
  ),
  dropped_params: is(List(Type.String()), ({ request, steps }) => [
    ...new Set([...request.droppedParams, ...(findTaken(steps)?.upstream.droppedParams ?? [])]),
  ]),
}));

export const dryRunRoute = {
  summary: "Dry run: which provider would serve, and what would be held",
  description: "The body is that of the route that `for` names. Nothing is sent or charged.",
  tag: "Records",
  query: Type.Object({
    for: Type.Unsafe<string>({
      // In the order in which the refusal of an unknown value lists them.
      ...oneOf("chat", "messages", "images", "videos", "decisions"),
      description: "the kind of request",
    }),
  }),
  answer: routeAnswer.schema,
} as const satisfies ReadRoute;
