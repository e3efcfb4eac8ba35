import { type Static, Type } from "typebox";

import { TAX_ID_TYPES } from "../../../kernel/core/tax-id-types.ts";
import {
  Balance,
  Count,
  Fields,
  Id,
  Instant,
  nullable,
  oneOf,
  Page,
  reads,
  setting,
  Usd,
  UsdInput,
} from "./shared.ts";
import { PAUSE_REASONS } from "../../../kernel/core/top-up-pauses.ts";

export const CompanyData = Fields({
  legal_name: Type.String({ minLength: 1, maxLength: 200 }),
  address_lines: Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
    minItems: 1,
    maxItems: 3,
  }),
  city: Type.String({ minLength: 1, maxLength: 100 }),
  postal_code: Type.String({ maxLength: 20 }),
  country: Type.String({ pattern: "^[A-Z]{2}$", description: "a country code like DE" }),
  tax_id: nullable(
    Fields({ type: oneOf(...TAX_ID_TYPES), value: Type.String({ minLength: 2, maxLength: 40 }) }),
  ),
  purchase_order: Type.String({ maxLength: 30 }),
});
export type CompanyData = Static<typeof CompanyData>;

export const Issuer = Type.Object({
  /** Null if no name is set; the issuer is then the installation at `url`. */
  name: nullable(Type.String()),
  address_lines: Type.Array(Type.String()),
  tax_id: nullable(Type.String()),
  note: nullable(Type.String()),
  url: Type.String(),
});
export type Issuer = Static<typeof Issuer>;

export const CompanyPage = Type.Object({
  company: nullable(CompanyData),
  issuer: Issuer,
});
export type CompanyPage = Static<typeof CompanyPage>;

const StatementState = oneOf("so_far", "closing", "due", "closed");
export const StatementSummary = Type.Object({
  month: Type.String(),
  /** `closing`: ended less than six hours ago; `due`: is closed soon, or when it is first read. */
  state: StatementState,
  /** This and the next three fields are null until the statement is closed. */
  number: nullable(Type.String()),
  opening_usd: nullable(Usd),
  closing_usd: nullable(Usd),
  closed_at: nullable(Instant),
});
export type StatementSummary = Static<typeof StatementSummary>;

const UsageLine = Type.Object({
  requests: Count,
  input_tokens: Count,
  output_tokens: Count,
  cost_usd: Usd,
});
export type UsageLine = Static<typeof UsageLine>;

const figures = {
  month: Type.String(),
  opening_usd: Usd,
  credits: Type.Array(Type.Object({ kind: Type.String(), count: Count, amount_usd: Usd })),
  usage_usd: Usd,
  closing_usd: Usd,
  lines: Type.Array(
    Type.Object({
      at: Instant,
      kind: Type.String(),
      ref: Type.String(),
      receipt: nullable(Type.String()),
      amount_usd: Usd,
    }),
  ),
  lines_left_out: Count,
  unlisted_usage_usd: Usd,
  models: Type.Array(Type.Object({ model: Type.String(), ...UsageLine.properties })),
  keys: Type.Array(
    Type.Object({ key_id: Type.String(), name: Type.String(), ...UsageLine.properties }),
  ),
};

const StatementDocument = Type.Object({
  version: Type.Literal(1),
  org_id: Type.String(),
  ...figures,
});
/**
 * The content of a statement; its JSON text is stored, hashed and downloaded. Opening balance plus
 * credits minus usage is the closing balance. `lines` has the oldest credits, at most 500; the
 * other `lines_left_out` count only in `credits`. `models` and `keys` are at most 200 each, highest
 * cost first; one of them may be `other`, the sum of the cheapest. `unlisted_usage_usd` is the part
 * of the usage that `models` lacks, because its days were deleted from the journal.
 */
export type StatementDocument = Static<typeof StatementDocument>;

export const Statement = Type.Object({
  state: StatementState,
  number: nullable(Type.String()),
  closed_at: nullable(Instant),
  sha256: nullable(Type.String()),
  differences: Type.Array(Type.String()),
  has_left_journal: Type.Boolean(),
  ...figures,
  company: nullable(CompanyData),
  issuer: Issuer,
});
export type Statement = Static<typeof Statement>;

export const statementRoutes = {
  "GET /api/console/company": {
    summary: "The organization's company data, and the operator's",
    needs: "read",
    answer: CompanyPage,
  },
  "POST /api/console/company": {
    summary: "Sets the company data, all fields at once; new invoices and every page have them",
    ...setting("billing"),
    body: CompanyData,
    answer: CompanyPage,
  },
  "GET /api/console/statements": {
    summary: "The months of the organization, newest first",
    command: { usage: "statement list" },
    ...reads,
    answer: Type.Object({ data: Type.Array(StatementSummary) }),
  },
  "GET /api/console/statements/:month": {
    summary: "One monthly statement; a month that is over is closed when it is first read",
    command: { usage: "statement show <month>", verdict: "differences" },
    ...reads,
    answer: Statement,
  },
  "GET /api/console/statements/:month/statement.csv": {
    summary: "The same as a table",
    command: {
      usage: "statement csv <month>",
      summary: "One monthly statement as a table",
    },
    ...reads,
    answerType: "text/csv",
  },
  "GET /api/console/statements/:month/statement.pdf": {
    summary: "The same to print, with the parties of today",
    ...reads,
    answerType: "application/pdf",
  },
  "GET /api/console/statements/:month/statement.json": {
    summary: "The same as a file, without company data: the text that is kept and hashed",
    ...reads,
    answerType: "application/json",
  },
} as const;

export const PurchaseStatus = oneOf(
  "created",
  "pending",
  "paid",
  "partly_refunded",
  "refunded",
  "disputed",
  "failed",
  "expired",
  "parked",
);
export type PurchaseStatus = Static<typeof PurchaseStatus>;

export const Purchase = Type.Object({
  purchase_id: Id,
  amount_usd: Usd,
  status: PurchaseStatus,
  created_at: Instant,
  granted_at: nullable(Instant),
  refunded_usd: Usd,
  disputed_usd: Usd,
  receipt: nullable(Type.String()),
  receipt_url: nullable(Type.String()),
  is_test_money: Type.Boolean(),
  is_automatic: Type.Boolean(),
  is_granted_by_hand: Type.Boolean(),
});
export type Purchase = Static<typeof Purchase>;

/** The payment for one purchase, with buyer and issuer as they were when it was paid. */
export const Receipt = Type.Object({
  number: Type.String(),
  purchase_id: Id,
  paid_at: Instant,
  description: Type.String(),
  net_usd: Usd,
  tax_usd: Usd,
  no_tax_reason: Type.String(),
  amount_usd: Usd,
  refunded_usd: Usd,
  disputed_usd: Usd,
  payment_reference: nullable(Type.String()),
  payment_method: nullable(Type.String()),
  provider_url: nullable(Type.String()),
  is_test_money: Type.Boolean(),
  is_automatic: Type.Boolean(),
  buyer: Type.String(),
  company: nullable(CompanyData),
  issuer: Issuer,
});
export type Receipt = Static<typeof Receipt>;

export const Billing = Type.Object({
  balance: Balance,
  owed_usd: Usd,
  payments: Type.Object({
    mode: oneOf("stripe", "test", "none"),
    min_usd: Usd,
    max_usd: Usd,
  }),
  purchases: Type.Array(Purchase),
});
export type Billing = Static<typeof Billing>;

/** All requests of a UTC day are one entry. */
export const CreditEntry = Type.Object({
  at: Instant,
  kind: oneOf(
    "purchase",
    "grant",
    "welcome",
    "refund",
    "refund_reversal",
    "dispute",
    "dispute_reversal",
    "usage",
    "correction",
    "other",
  ),
  /** Depends on `kind`: id of a purchase, refund or dispute, reference of a grant, day of usage. */
  ref: Type.String(),
  amount_usd: Usd,
});
export type CreditEntry = Static<typeof CreditEntry>;

export const TopUpCard = Type.Object({
  brand: Type.String(),
  last4: Type.String(),
  exp_month: Type.Integer(),
  exp_year: Type.Integer(),
});

export const TopUpRule = Type.Object({
  is_on: Type.Boolean(),
  below_usd: Usd,
  amount_usd: Usd,
  month_max_usd: Usd,
});

export const TopUpPause = Type.Object({
  reason: oneOf(...PAUSE_REASONS),
  text: Type.String(),
  since: Instant,
});

export const TopUp = Type.Object({
  /**
   * False if the operator sells no credit or has automatic top-up off. Then the fields below are
   * empty, except `min_usd` and `max_usd`.
   */
  is_available: Type.Boolean(),
  card: nullable(TopUpCard),
  is_card_pending: Type.Boolean(),
  rule: nullable(TopUpRule),
  pause: nullable(TopUpPause),
  month_spent_usd: Usd,
  has_open_purchase: Type.Boolean(),
  min_usd: Usd,
  max_usd: Usd,
});
export type TopUp = Static<typeof TopUp>;

export const billingRoutes = {
  "GET /api/console/billing": {
    summary: "Balance, purchases, and how to buy credit",
    needs: "read",
    answer: Billing,
  },
  "POST /api/console/purchases": {
    summary: "Starts a purchase; the browser then opens checkout_url",
    needs: "billing",
    gate: "payments",
    body: Fields({
      amount_usd: UsdInput,
      back_to: Type.Optional(oneOf("billing", "welcome")),
      save_card: Type.Optional(Type.Boolean()),
    }),
    answer: Type.Object({ purchase: Purchase, checkout_url: Type.String() }),
  },
  "GET /api/console/purchases/:purchase_id": {
    summary: "One purchase; while it is open, its state is read from the payment provider",
    needs: "read",
    gate: "payments",
    answer: Purchase,
  },
  "GET /api/console/purchases/:purchase_id/receipt": {
    summary: "The receipt of a paid purchase",
    ...reads,
    answer: Receipt,
  },
  "GET /api/console/purchases/:purchase_id/receipt.pdf": {
    summary: "The same as a PDF file",
    ...reads,
    answerType: "application/pdf",
  },
  "GET /api/console/credit-ledger": {
    summary: "The wallet's entries, newest first",
    ...reads,
    query: Fields({
      cursor: Type.Optional(Type.String({ maxLength: 200 })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
    }),
    answer: Type.Object({ data: Type.Array(CreditEntry), ...Page }),
  },
  "GET /api/console/credit-ledger.csv": {
    summary: "The whole wallet as a file; its sum is the settled balance",
    needs: "read",
    answerType: "text/csv",
  },
  "GET /api/console/top-up": {
    summary: "Automatic top-up: the saved card, the rule, and what it has bought this month",
    needs: "read",
    gate: "payments",
    answer: TopUp,
  },
  "PATCH /api/console/top-up": {
    summary: "Sets the rule of automatic top-up; turning it on ends a pause",
    ...setting("billing"),
    body: Fields({
      is_on: Type.Boolean(),
      below_usd: UsdInput,
      amount_usd: UsdInput,
      month_max_usd: UsdInput,
    }),
    answer: TopUp,
  },
  "POST /api/console/top-up/card": {
    summary: "Starts saving a card without a payment; the browser then opens checkout_url",
    ...setting("billing"),
    gate: "payments",
    answer: Type.Object({ checkout_url: Type.String() }),
  },
  "POST /api/console/top-up/card/remove": {
    summary: "Removes the saved card and turns automatic top-up off",
    ...setting("billing"),
    gate: "payments",
    answer: TopUp,
  },
} as const;
