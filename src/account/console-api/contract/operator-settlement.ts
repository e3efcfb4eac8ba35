import { Type, type Static } from "typebox";

import { Count, Id, Instant, nullable, oneOf, Ref, Usd, UsdInput } from "./shared.ts";

/** Dollars exact to the pico-dollar, with as many digits as that takes. */
const ExactUsd = Type.String({ pattern: "^-?[0-9]+(\\.[0-9]+)?$" });

export const OperatorPeriod = Type.Object({
  provider: Type.String(),
  start: Instant,
  end: Instant,
  mode: oneOf("prepaid", "arrears"),
  attempts: Count,
  cost_usd: ExactUsd,
  payable_usd: Usd,
  margin_usd: Usd,
  payment: nullable(Type.Object({ ref: Type.String(), paid_at: Instant })),
});
export type OperatorPeriod = Static<typeof OperatorPeriod>;

export const OperatorSettlement = Type.Object({
  balances: Type.Array(
    Type.Object({
      provider: Type.String(),
      accrued_usd: Usd,
      payable_usd: Usd,
      deposit_usd: Usd,
      unknown_usd: Usd,
      margin_usd: Usd,
    }),
  ),
  /** Closed ones, newest first, 200 at most. */
  periods: Type.Array(OperatorPeriod),
});
export type OperatorSettlement = Static<typeof OperatorSettlement>;

export const OperatorStatement = Type.Object({
  period: OperatorPeriod,
  models: Type.Array(
    Type.Object({
      model: Type.String(),
      upstream_model: Type.String(),
      attempts: Count,
      cost_usd: ExactUsd,
      debit_usd: Usd,
    }),
  ),
  /** What the provider's own statements said, oldest first. */
  reconciliations: Type.Array(
    Type.Object({
      recorded_at: Instant,
      their_usd: ExactUsd,
      our_usd: ExactUsd,
      /** Lines that differ or that only one side has; null: their statement has no lines. */
      differing_lines: nullable(Count),
    }),
  ),
});
export type OperatorStatement = Static<typeof OperatorStatement>;

export const OperatorClosing = Type.Object({
  /** In order of provider and time, 200 at most. */
  closed: Type.Array(OperatorPeriod),
  closed_count: Count,
  /** Everything that ended before it stays as it is. */
  settled_through: Instant,
  /** Closed without a manifest: by the terms of the last period, or monthly in arrears. */
  unlisted: Type.Array(
    Type.Object({ provider: Type.String(), terms_from: oneOf("last_period", "default") }),
  ),
});
export type OperatorClosing = Static<typeof OperatorClosing>;

export const OperatorComparison = Type.Object({
  is_equal: Type.Boolean(),
  their_usd: ExactUsd,
  our_usd: ExactUsd,
  difference_usd: ExactUsd,
  /** What their lines add up to, where that is not their total. */
  their_lines_usd: nullable(ExactUsd),
  /** Null: the statement has no lines. */
  lines: nullable(
    Type.Object({
      compared: Count,
      differing: Count,
      only_theirs: Count,
      only_ours: Count,
      unknown_claimed: Count,
    }),
  ),
  /** 20 at most; `lines` counts all. */
  first_differences: Type.Array(
    Type.Object({
      kind: oneOf("differs", "only_theirs", "only_ours", "unknown_claimed"),
      of: oneOf("attempt", "request"),
      id: Type.String(),
      their_usd: nullable(ExactUsd),
      our_usd: nullable(ExactUsd),
    }),
  ),
});
export type OperatorComparison = Static<typeof OperatorComparison>;

const periodParams = Type.Object({ provider_id: Id, period_start: Instant });

/** For operators, as the other routes below `/api/operator`. */
export const settlementRoutes = {
  "GET /api/operator/settlement": {
    summary: "Balances with providers, and closed periods",
    access: "operator",
    answer: OperatorSettlement,
  },
  "GET /api/operator/settlement/:provider_id/:period_start": {
    summary: "The statement of a closed period, with the comparisons that were recorded",
    access: "operator",
    params: periodParams,
    answer: OperatorStatement,
  },
  "POST /api/operator/settlement/:provider_id/:period_start/payment": {
    summary: "Records that a period was paid in full, once; the command is `settlement pay`",
    access: "operator",
    isSetting: true,
    params: periodParams,
    body: Type.Object({ ref: Ref }, { additionalProperties: false }),
    answer: Type.Object({ is_new: Type.Boolean(), period: OperatorPeriod }),
  },
  "POST /api/operator/settlement/close": {
    summary: "Closes every period that is over; the command is `settlement close`",
    access: "operator",
    isSetting: true,
    body: Type.Object({ provider_id: Type.Optional(Id) }, { additionalProperties: false }),
    answer: OperatorClosing,
  },
  "POST /api/operator/settlement/:provider_id/deposits": {
    summary: "Records a deposit, once per reference; the command is `settlement deposit`",
    access: "operator",
    isSetting: true,
    params: Type.Object({ provider_id: Id }),
    body: Type.Object({ amount_usd: UsdInput, ref: Ref }, { additionalProperties: false }),
    answer: Type.Object({ is_new: Type.Boolean(), deposit_usd: Usd }),
  },
  "POST /api/operator/settlement/:provider_id/:period_start/reconcile": {
    summary: "Compares a provider's own statement; the command is `settlement reconcile`",
    access: "operator",
    isSetting: true,
    takesFile: true,
    params: periodParams,
    /** JSON or CSV as the command reads it: 1 MiB and 20,000 lines at most. */
    body: Type.Object(
      { statement: Type.String({ minLength: 1 }) },
      { additionalProperties: false },
    ),
    answer: OperatorComparison,
  },
} as const;
