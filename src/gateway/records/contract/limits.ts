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
  instant,
  usd,
  type DefineField,
  Instant,
  List,
  MaybeInteger,
  MaybeText,
  nullable,
  type ReadRoute,
  shape,
  UsdNumber,
} from "../../../kernel/index.ts";
import type { MonthSpend } from "../../../ledger/index.ts";

const LimitScope = Type.Object({
  scope: Type.String(),
  id: Type.String(),
  key_id: Type.Optional(Type.String()),
  ...ByLimit,
  /** `rps` and `paced` are set only for a dedicated endpoint. */
  rps: Type.Optional(MaybeInteger),
  paced: Type.Optional(
    nullable(Type.Object({ per_second: Type.Number(), wait_ms_max: Type.Integer() })),
  ),
  ceiling: Type.Object(ByLimit),
  source: Type.Object(byLimit(() => LimitSource)),
});
export type LimitScope = Static<typeof LimitScope>;

export const spend = shape((is: DefineField<MonthSpend>) => ({
  cap_usd: is(nullable(UsdNumber), ({ capMicroUsd: cap }) => (cap === null ? null : usd(cap))),
  settled_usd: is(UsdNumber, ({ spentMicroUsd }) => usd(spentMicroUsd)),
  in_flight_usd: is(UsdNumber, ({ inFlightMicroUsd }) => usd(inFlightMicroUsd)),
  reset_at: is(Instant, ({ resetAtMs }) => instant(resetAtMs)),
}));

export const Limits = Type.Object({
  model: MaybeText,
  effective: Effective,
  scopes: List(LimitScope),
  output_bound: Type.Object({
    min: Type.Integer(),
    max: Type.Integer(),
    default: Type.Integer(),
  }),
  spend: Type.Object({
    org: spend.schema,
    key: Type.Object({
      ...spend.schema.properties,
      week: Type.Optional(spend.schema),
      day: Type.Optional(spend.schema),
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
