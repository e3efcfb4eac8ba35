import { Type, type Static } from "typebox";

import {
  BySku,
  Count,
  Fields,
  Instant,
  nullable,
  oneOf,
  operatorReads,
  operatorSetting,
  Ref,
  ShortText,
  Usd,
  UsdInput,
} from "./shared.ts";

/** Exact to the pico-dollar: it has up to 12 decimals. */
const ExactUsd = Type.String({ pattern: "^-?[0-9]+(\\.[0-9]+)?$" });

const Part = Type.Object({ attempts: Count, cost_usd: ExactUsd });

const sums = {
  attempts: Count,
  settled_attempts: Count,
  void_attempts: Count,
  tokens: BySku(Count),
  /** The amount that the operator owes the provider for these attempts. */
  cost_usd: ExactUsd,
  cost_pico_usd: Type.String(),
  /** `debit_usd`: what customers were charged; `overrun_usd`: the cost above their reserves. */
  debit_usd: Usd,
  overrun_usd: Usd,
  /** The part of `debit_usd` plus `overrun_usd` that is not owed to the provider. */
  margin_usd: Usd,
  /** Attempts whose end was not observed, so that the provider's claim for them is not known. */
  unknown: Type.Object({ attempts: Count, charged_usd: Usd }),
  /** Attempts of `unknown` whose end was observed later. */
  corrections: Type.Object({ attempts: Count, cost_usd: ExactUsd, resolved_usd: Usd }),
  /** Attempts that a restore of the database lost and that the provider claims. */
  lost: Part,
};

export const OperatorPeriod = Type.Object({
  provider: Type.String(),
  start: Instant,
  end: Instant,
  mode: oneOf("prepaid", "arrears"),
  interval: Type.String(),
  state: oneOf("closed", "paid"),
  closed_at: Instant,
  ...sums,
  /**
   * `late`: attempts of this period that were admitted before it began; `late_corrections`:
   * corrections of attempts that ended before it began.
   */
  late: Part,
  late_corrections: Part,
  /** Fractions of a micro-dollar, carried in from the previous period and out to the next one. */
  carry_in_usd: ExactUsd,
  carry_out_usd: ExactUsd,
  rounding_usd: Usd,
  payable_usd: Usd,
  payment: nullable(Type.Object({ ref: Type.String(), paid_at: Instant })),
});
export type OperatorPeriod = Static<typeof OperatorPeriod>;

export const ProviderOwed = Type.Object({
  provider: Type.String(),
  accrued_usd: Usd,
  payable_usd: Usd,
  deposit_usd: Usd,
  unknown_usd: Usd,
  margin_usd: Usd,
});

export const OperatorSettlement = Type.Object({
  balances: Type.Array(ProviderOwed),
  /** Closed periods, newest first; the console gets at most 200. */
  periods: Type.Array(OperatorPeriod),
});
export type OperatorSettlement = Static<typeof OperatorSettlement>;

const ComparedLines = Type.Object({
  compared: Count,
  differing: Count,
  only_theirs: Count,
  only_ours: Count,
  unknown_claimed: Count,
});

const comparison = {
  their_usd: ExactUsd,
  our_usd: ExactUsd,
  difference_usd: ExactUsd,
  lines: nullable(ComparedLines),
};

export const RecordedComparison = Type.Object({
  recorded_at: Instant,
  ...comparison,
  /** Lines that differ or that only one side has; null if the provider stated no lines. */
  differing_lines: nullable(Count),
});

export const OperatorStatement = Type.Object({
  period: OperatorPeriod,
  models: Type.Array(Type.Object({ model: Type.String(), upstream_model: Type.String(), ...sums })),
  /** Comparisons with the provider's own statements, oldest first. */
  reconciliations: Type.Array(RecordedComparison),
});
export type OperatorStatement = Static<typeof OperatorStatement>;

export const OperatorClosing = Type.Object({
  /** The periods that this call closed, ordered by provider and time, at most 200. */
  closed: Type.Array(OperatorPeriod),
  closed_count: Count,
  /** The settlement horizon: no attempt can end before this instant any more. */
  settled_through: Instant,
  /** Providers without a manifest: closed by their last period's terms, else monthly in arrears. */
  unlisted: Type.Array(
    Type.Object({ provider: Type.String(), terms_from: oneOf("last_period", "default") }),
  ),
});
export type OperatorClosing = Static<typeof OperatorClosing>;

export const DifferingLine = Type.Object({
  kind: oneOf("differs", "only_theirs", "only_ours", "unknown_claimed"),
  of: oneOf("attempt", "request"),
  id: Type.String(),
  their_usd: nullable(ExactUsd),
  our_usd: nullable(ExactUsd),
});

export const OperatorComparison = Type.Object({
  is_equal: Type.Boolean(),
  ...comparison,
  /** The sum of the provider's lines; null if it equals the total that the provider states. */
  their_lines_usd: nullable(ExactUsd),
  /** The first 20 lines that differ. */
  first_differences: Type.Array(DifferingLine),
});
export type OperatorComparison = Static<typeof OperatorComparison>;

export const settlementRoutes = {
  "GET /api/operator/settlement": {
    summary: "Balances with providers, and closed periods, newest first",
    command: {
      usage: "settlement list [provider_id]",
      columns:
        "provider start end mode interval state attempts cost_usd debit_usd overrun_usd " +
        "margin_usd rounding_usd payable_usd accrued_usd deposit_usd unknown_usd",
      csv: "periods",
    },
    ...operatorReads,
    query: Fields({ provider_id: Type.Optional(ShortText("the id of one provider")) }),
    answer: OperatorSettlement,
  },
  "GET /api/operator/settlement/:provider_id/:period_start": {
    summary: "The statement of a closed period, with the comparisons that were recorded",
    command: { usage: "settlement show <provider_id> <period_start>" },
    ...operatorReads,
    answer: OperatorStatement,
  },
  "POST /api/operator/settlement/:provider_id/:period_start/payment": {
    summary: "Records that a period was paid in full, once per reference",
    command: { usage: "settlement pay <provider_id> <period_start>" },
    changes: ["settlement.pay"],
    ...operatorSetting,
    body: Fields({ ref: Ref }),
    answer: Type.Object({ is_new: Type.Boolean(), period: OperatorPeriod }),
  },
  "POST /api/operator/settlement/close": {
    summary: "Closes every period that is over; safe to repeat, and to run twice at once",
    command: { usage: "settlement close", readsCatalog: true },
    changes: ["settlement.close"],
    ...operatorReads,
    isSetting: true,
    body: Fields({
      provider_id: Type.Optional(ShortText("the id of one provider")),
      until: Type.Optional(
        Type.String({
          format: "date-time",
          description: "a day or an instant in UTC: closes as if it were the current time",
        }),
      ),
    }),
    answer: OperatorClosing,
  },
  "POST /api/operator/settlement/:provider_id/deposits": {
    summary: "Records a deposit paid in advance, once per reference",
    command: { usage: "settlement deposit <provider_id>" },
    changes: ["settlement.deposit"],
    ...operatorSetting,
    body: Fields({ amount_usd: UsdInput, ref: Ref }),
    answer: Type.Object({ is_new: Type.Boolean(), deposit_usd: Usd }),
  },
  "POST /api/operator/settlement/:provider_id/:period_start/reconcile": {
    summary: "Compares a provider's own statement, JSON or CSV, with ours",
    command: {
      usage: "settlement reconcile <provider_id> <period_start>",
      summary: "Compares a provider's own statement with ours; exit 1 when they differ",
      fromFile: "statement",
      verdict: "is_equal",
    },
    changes: ["settlement.reconcile"],
    ...operatorReads,
    isSetting: true,
    takesFile: true,
    /** A page may send at most 1 MiB and 20,000 lines. */
    body: Fields({
      statement: Type.String({
        minLength: 1,
        description: "JSON with total_usd and lines, or CSV with a header row",
      }),
    }),
    answer: OperatorComparison,
  },
} as const;
