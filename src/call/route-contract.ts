import { type Static, Type } from "typebox";

import { RefusalReason } from "../ledger/index.ts";
import { Count, listOf, MicroUsdNumber, nullable, oneOf, type ReadRoute } from "../json/index.ts";

const Candidate = Type.Object({
  rank: Type.Integer(),
  provider: Type.String(),
  upstream_id: Type.String(),
  dialect: Type.String(),
  translated: Type.Boolean({ description: "the request is written anew for the other wire" }),
  priority: Type.Integer(),
  health: oneOf("healthy", "half_open"),
  pool: Type.Object({ id: Type.String(), has_room: Type.Boolean() }),
  own_key: Type.Boolean(),
  reasons: listOf(Type.String()),
});
export type RouteCandidate = Static<typeof Candidate>;

const RouteRefusal = Type.Object({
  code: Type.String(),
  message: Type.String(),
  ...Type.Pick(RefusalReason, [
    "status",
    "retryable",
    "origin",
    "limit_scope",
    "limit_kind",
    "limit_id",
    "retry_after",
    "retry_at",
    "reset_at",
  ]).properties,
});
export type RouteRefusal = Static<typeof RouteRefusal>;

export const RouteAnswer = Type.Object({
  candidates: listOf(Candidate, { description: "in the order in which they would be tried" }),
  excluded: listOf(Type.Object({ provider: Type.String(), reason: Type.String() })),
  estimate: Type.Object({
    input_tokens: Count,
    output_tokens: Count,
    reserve_micro_usd: nullable(MicroUsdNumber),
  }),
  would_admit: Type.Boolean(),
  refusal: nullable(RouteRefusal),
  dropped_params: listOf(Type.String()),
});
export type RouteAnswer = Static<typeof RouteAnswer>;

/** Kinds of requests that `for` names, in the order in which its refusal has them. */
const KINDS = ["chat", "messages", "images", "videos", "decisions"] as const;

/** The dry run; the body is that of the route that `for` names. */
export const dryRunRoute = {
  summary: "Dry run: which provider would serve, and what would be held",
  description: "The body is that of the route that `for` names. Nothing is sent or charged.",
  tag: "Records",
  query: Type.Object({
    for: Type.Unsafe<string>({ ...oneOf(...KINDS), description: "the kind of request" }),
  }),
  answer: RouteAnswer,
} as const satisfies ReadRoute;
