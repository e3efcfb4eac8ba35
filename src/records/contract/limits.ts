import { type Static, Type } from "typebox";

import {
  ByLimit,
  byLimit,
  ChangedLimit,
  Effective,
  LimitChange,
  LimitSource,
} from "./limit-change.ts";
import {
  Instant,
  listOf,
  MaybeInteger,
  MaybeText,
  nullable,
  type ReadRoute,
  UsdNumber,
} from "../../json/index.ts";

const LimitScope = Type.Object({
  scope: Type.String(),
  id: Type.String(),
  key_id: Type.Optional(Type.String()),
  ...ByLimit,
  /** Of a dedicated endpoint. */
  rps: Type.Optional(MaybeInteger),
  paced: Type.Optional(
    nullable(Type.Object({ per_second: Type.Integer(), wait_ms_max: Type.Integer() })),
  ),
  ceiling: Type.Object(ByLimit),
  source: Type.Object(byLimit(() => LimitSource)),
});
export type LimitScope = Static<typeof LimitScope>;

const Spend = Type.Object({
  cap_usd: nullable(UsdNumber),
  settled_usd: UsdNumber,
  in_flight_usd: UsdNumber,
  reset_at: Instant,
});
export type Spend = Static<typeof Spend>;

export const Limits = Type.Object({
  model: MaybeText,
  effective: Effective,
  scopes: listOf(LimitScope),
  output_bound: Type.Object({
    min: Type.Integer(),
    max: Type.Integer(),
    default: Type.Integer(),
  }),
  spend: Type.Object({
    org: Spend,
    key: Type.Object({
      ...Spend.properties,
      week: Type.Optional(Spend),
      day: Type.Optional(Spend),
    }),
  }),
});
export type Limits = Static<typeof Limits>;

export const limitRoutes = {
  "GET /v1/limits": {
    summary: "The limits of the key, and what is left of them",
    tag: "Records",
    query: Type.Partial(
      Type.Object({ model: Type.String({ description: "with the limits of this model" }) }),
    ),
    answer: Limits,
  },
  "POST /api/admission-limits": {
    summary: "Lower a limit, or remove what was set",
    description: "Limits can be lowered, never raised above their ceiling.",
    tag: "Records",
    body: LimitChange,
    answer: ChangedLimit,
  },
} as const satisfies Readonly<Record<string, ReadRoute>>;
