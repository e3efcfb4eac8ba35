import { Type, type Static } from "typebox";

import { CreditEntry, Purchase } from "./billing.ts";
import { CallFamily, Count, Id, Instant, nullable, oneOf, Page, Usd, UsdInput } from "./shared.ts";

/** Why something was done, for the change log. */
const Reason = Type.String({ minLength: 1, maxLength: 200 });
/** Dollars exact to the pico-dollar, with as many digits as that takes. */
const ExactUsd = Type.String({ pattern: "^-?[0-9]+(\\.[0-9]+)?$" });

export const OperatorHealth = Type.Object({
  version: Type.String(),
  commit: nullable(Type.String()),
  node: Type.String(),
  schema: Type.Object({ database: nullable(Count), program: Count }),
  catalog: Type.Object({ build_id: Type.String(), models: Count, listings: Count }),
  /** What an operator should do something about. */
  notices: Type.Array(
    Type.Object({
      kind: oneOf("below_cost", "stale_prices", "refresh_waits"),
      text: Type.String(),
    }),
  ),
  /** Changed in files or the environment and not in force yet. */
  waiting_for_restart: Type.Array(Type.String()),
  instances: Type.Array(
    Type.Object({
      number: Count,
      host: Type.String(),
      lease_until: Instant,
      is_alive: Type.Boolean(),
      open_attempts: Count,
    }),
  ),
  /** Null: the books did not answer within a second. */
  books: nullable(
    Type.Object({
      open_attempts: Count,
      oldest_open_seconds: Count,
      partitions_ahead: Count,
      partitions_unsummed: Count,
      unclosed_periods: Count,
      owed_usd: Usd,
      /** Committed work is gone from the database: see `ledger reopen`. */
      has_gone_back: Type.Boolean(),
      last_audit: nullable(Type.Object({ ended_at: Instant, violations: Count })),
    }),
  ),
  /** For reports; null: none is configured. `lag_ms` null: it is not used at the moment. */
  replica: nullable(Type.Object({ lag_ms: nullable(Count) })),
});
export type OperatorHealth = Static<typeof OperatorHealth>;

export const OperatorOrg = Type.Object({
  org_id: Id,
  name: Type.String(),
  email: Type.String(),
  created_at: Instant,
  /** Credits minus debits and what is owed: below zero, it owes. */
  balance_usd: Usd,
  /** Reserves of what is in flight now. */
  held_usd: Usd,
  cap_usd: nullable(Usd),
  /** `none`: it never held credit; `trial`: credit was given, never bought. */
  credit: oneOf("none", "trial", "bought"),
  /** Kinds of requests that are limited or restricted after unusual use. */
  restrictions: Count,
});
export type OperatorOrg = Static<typeof OperatorOrg>;

export const OperatorRestriction = Type.Object({
  org_id: Id,
  family: CallFamily,
  state: oneOf("limited", "restricted"),
  /** What was unusual, with figures; the customer never sees it. */
  reason: Type.String(),
  since: Instant,
  /** Null: until it is lifted. */
  until: nullable(Instant),
  lifted_at: nullable(Instant),
  in_effect: Type.Boolean(),
});
export type OperatorRestriction = Static<typeof OperatorRestriction>;

export const OperatorLimit = Type.Object({
  source: oneOf("self", "contract"),
  scope: oneOf("org", "key", "model"),
  key_id: nullable(Id),
  model: nullable(Type.String()),
  rpm: nullable(Count),
  tpm: nullable(Count),
  concurrency: nullable(Count),
});
export type OperatorLimit = Static<typeof OperatorLimit>;

export const OperatorChange = Type.Object({
  position: Type.Integer(),
  at: Instant,
  actor_kind: Type.String(),
  /** The operator's account or user, the account, the key, … */
  actor_id: Type.String(),
  /** Null: not an account, or one that was merged into another. */
  actor_email: nullable(Type.String()),
  says: Type.String(),
  target: Type.String(),
  /** Null: the target is not an account. */
  target_email: nullable(Type.String()),
});
export type OperatorChange = Static<typeof OperatorChange>;

export const OperatorOrgPage = Type.Object({
  org: OperatorOrg,
  /** Newest first, 20 at most: purchases, grants and days of use. */
  wallet: Type.Array(CreditEntry),
  purchases: Type.Array(Purchase),
  limits: Type.Array(OperatorLimit),
  restrictions: Type.Array(OperatorRestriction),
  /** Newest first, 20 at most, with what only operators see. */
  changes: Type.Array(OperatorChange),
});
export type OperatorOrgPage = Static<typeof OperatorOrgPage>;

export const WaitingPurchase = Type.Object({
  purchase_id: Id,
  org_id: Id,
  amount_usd: Usd,
  /** `parked`: paid, but not as ordered; `pending`: the payment is in progress. */
  status: oneOf("parked", "pending"),
  created_at: Instant,
  is_test_money: Type.Boolean(),
  /** Credit was granted by hand with the purchase's id as the reference. */
  is_granted: Type.Boolean(),
});
export type WaitingPurchase = Static<typeof WaitingPurchase>;

export const OperatorListing = Type.Object({
  listing_id: Type.String(),
  provider: Type.String(),
  provider_name: Type.String(),
  model: Type.String(),
  /** Why it is not routed; null: it is. */
  not_routed: nullable(Type.String()),
  /** As this instance sees it: `probing` tries one request, `open` none. */
  circuit: oneOf("closed", "probing", "open"),
  pool: Type.String(),
  /** Seconds that the pool still cools down after a 429; 0: it does not. */
  pool_cooldown_seconds: Count,
  /** Percent of what was declared that is used at most. */
  pool_usable_percent: Count,
  verdict: oneOf("verified", "failed", "changed", "expired", "unchecked"),
  checked_at: nullable(Instant),
  /** Since when live answers break what the listing promises. */
  suspect_since: nullable(Instant),
});
export type OperatorListing = Static<typeof OperatorListing>;

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

const orgParams = Type.Object({ org_id: Id });
const periodParams = Type.Object({ provider_id: Id, period_start: Instant });
/** Null: the default again. */
const ContractValue = Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 1_000_000_000 })));

export const OperatorContract = Type.Object(
  {
    /** `org`: all keys together; `key`: each key, or the one that is named. */
    scope: oneOf("org", "key", "model"),
    key_id: Type.Optional(Id),
    model: Type.Optional(Id),
    rpm: ContractValue,
    tpm: ContractValue,
    concurrency: ContractValue,
  },
  { additionalProperties: false },
);
export type OperatorContract = Static<typeof OperatorContract>;

/**
 * For accounts that the setting `operators` names; for all others these paths do not exist. What
 * changes something needs a sign-in of the last twelve hours.
 */
export const operatorRoutes = {
  "GET /api/operator/health": {
    summary: "Instances, books, version and schema",
    access: "operator",
    answer: OperatorHealth,
  },
  "GET /api/operator/organizations": {
    summary: "Organizations with balance and holds, newest first",
    access: "operator",
    query: Type.Object(
      {
        q: Type.Optional(Type.String({ maxLength: 200 })),
        cursor: Type.Optional(Id),
      },
      { additionalProperties: false },
    ),
    answer: Type.Object({ data: Type.Array(OperatorOrg), ...Page }),
  },
  "GET /api/operator/organizations/:org_id": {
    summary: "One organization: wallet, purchases, limits, restrictions, changes",
    access: "operator",
    params: orgParams,
    answer: OperatorOrgPage,
  },
  "POST /api/operator/organizations/:org_id/grants": {
    summary: "Grants credit, once per reference; the command is `credit grant`",
    access: "operator",
    isSetting: true,
    params: orgParams,
    body: Type.Object(
      { amount_usd: UsdInput, ref: Reason, is_trial: Type.Optional(Type.Boolean()) },
      { additionalProperties: false },
    ),
    answer: Type.Object({ is_new: Type.Boolean(), balance_usd: Usd }),
  },
  "POST /api/operator/organizations/:org_id/contract": {
    summary: "Sets contract limits in place of the defaults; the command is `limits contract`",
    access: "operator",
    isSetting: true,
    params: orgParams,
    body: OperatorContract,
    answer: OperatorLimit,
  },
  "POST /api/operator/organizations/:org_id/lift": {
    summary: "Lifts restrictions after unusual use; the command is `unusual-use lift`",
    access: "operator",
    isSetting: true,
    params: orgParams,
    body: Type.Object(
      { family: Type.Optional(CallFamily), reason: Reason },
      { additionalProperties: false },
    ),
    answer: Type.Object({ lifted: Type.Array(OperatorRestriction) }),
  },
  "GET /api/operator/restrictions": {
    summary: "Restrictions for unusual use, newest first, 1,000 at most",
    access: "operator",
    query: Type.Object(
      { past: Type.Optional(oneOf("yes", "no")) },
      { additionalProperties: false },
    ),
    answer: Type.Object({ data: Type.Array(OperatorRestriction) }),
  },
  "GET /api/operator/purchases": {
    summary: "Purchases waiting for a person or a bank, parked ones first, 200 at most",
    access: "operator",
    answer: Type.Object({ data: Type.Array(WaitingPurchase) }),
  },
  "GET /api/operator/listings": {
    summary: "Every listing with its circuit, pool and verdict, as this instance sees them",
    access: "operator",
    answer: Type.Object({ data: Type.Array(OperatorListing) }),
  },
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
    body: Type.Object({ ref: Reason }, { additionalProperties: false }),
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
    body: Type.Object({ amount_usd: UsdInput, ref: Reason }, { additionalProperties: false }),
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
