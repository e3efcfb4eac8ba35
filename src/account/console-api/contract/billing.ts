import { Type, type Static } from "typebox";

import { Balance, Id, Instant, nullable, oneOf, Page, Usd, UsdInput, Fields } from "./shared.ts";
import { CompanyData, Issuer } from "./statements.ts";

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

/** One entry of the credit history. All requests of a UTC day are one entry. */
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
  /** By the kind of row: the purchase's id, the grant's reference, or the day of usage. */
  ref: Type.String(),
  amount_usd: Usd,
});
export type CreditEntry = Static<typeof CreditEntry>;

export const CreditLedger = Type.Object({ data: Type.Array(CreditEntry), ...Page });

const cursorQuery = Fields({
  cursor: Type.Optional(Type.String({ maxLength: 200 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
});

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
    params: Type.Object({ purchase_id: Id }),
    answer: Purchase,
  },
  "GET /api/console/purchases/:purchase_id/receipt": {
    summary: "The receipt of a paid purchase",
    needs: "read",
    gate: "reads",
    params: Type.Object({ purchase_id: Id }),
    answer: Receipt,
  },
  "GET /api/console/purchases/:purchase_id/receipt.pdf": {
    summary: "The same as a PDF file",
    needs: "read",
    gate: "reads",
    params: Type.Object({ purchase_id: Id }),
    answerType: "application/pdf",
  },
  "GET /api/console/credit-ledger": {
    summary: "The wallet's entries, newest first",
    needs: "read",
    gate: "reads",
    query: cursorQuery,
    answer: CreditLedger,
  },
  "GET /api/console/credit-ledger.csv": {
    summary: "The whole wallet as a file; its sum is the settled balance",
    needs: "read",
    answerType: "text/csv",
  },
} as const;
