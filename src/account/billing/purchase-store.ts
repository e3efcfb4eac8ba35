import {
  big,
  bool,
  columns,
  instantMs,
  micro,
  opaque,
  type MicroUsd,
  type OrgId,
  orNull,
  type RecordOf,
  text,
} from "../../kernel/index.ts";
import type { PurchaseStatus } from "../console-api/contract/statements.ts";
import type { ReceiptFacts } from "./billing.ts";
import { buyerOf, type Seller, type StoredBuyer } from "./company.ts";

export interface NewPurchase extends Pick<
  StoredPurchase,
  "purchaseId" | "orgId" | "amountMicroUsd" | "isTestMoney" | "expiresAtMs"
> {
  readonly nowMs: number;
  readonly purchasesMax: number;
  readonly countedFromMs: number;
}

/** A purchase rebuilt from the payment provider's data; its organization may not exist any more. */
export interface RecoveredPurchase extends Pick<
  StoredPurchase,
  "purchaseId" | "amountMicroUsd" | "isTestMoney" | "createdAtMs" | "expiresAtMs"
> {
  readonly orgId: string;
  /** Null if automatic top-up paid it, without a checkout. */
  readonly sessionId: string | null;
}

export interface KnownPurchase extends Omit<StoredPurchase, "state" | "receipt"> {
  /** `parked`: the payment was not as ordered, or followed a grant by hand: it credited nothing. */
  readonly state: PurchaseStatus;
  readonly receipt: ReceiptFacts | null;
}
export type PurchaseRecord = Omit<KnownPurchase, "cents" | "sessionId" | "expiresAtMs">;

/** A `parked` purchase waits for an operator, a `pending` one for a bank. */
export interface WaitingPurchase extends Omit<PurchaseRecord, "state"> {
  readonly state: "parked" | "pending";
}

export type UngrantedState = "pending" | "failed" | "expired" | "parked";

export interface PurchaseClaim extends OpenClaim {
  readonly purchaseId: string;
  readonly amountMicroUsd: MicroUsd;
  /** True if the refund failed or was canceled, or the dispute was won or dropped. */
  readonly isReversed: boolean;
  readonly isOver: boolean;
}

export const openClaimColumns = columns({
  claimId: text("claim_id"),
  kind: text<"refund" | "dispute">("kind"),
});
export type OpenClaim = RecordOf<typeof openClaimColumns>;

const purchaseColumns = columns({
  purchaseId: text("purchase_id"),
  orgId: text<OrgId>("org_id"),
  /** A multiple of 10,000: the payment provider charges whole cents. */
  amountMicroUsd: micro("micro_usd"),
  cents: big("cents"),
  state: text<"created" | UngrantedState | "granted">("state"),
  createdAtMs: instantMs("created_at"),
  expiresAtMs: instantMs("expires_at"),
  grantedAtMs: orNull(instantMs("granted_at")),
  refundedMicroUsd: micro("refunded"),
  disputedMicroUsd: micro("disputed"),
  paymentId: orNull(text("payment_id")),
  receiptUrl: orNull(text("receipt_url")),
  paymentMethod: orNull(text("payment_method")),
  receipt: orNull(
    columns({
      series: text("receipt_series"),
      number: big("receipt_number"),
      buyer: opaque<StoredBuyer>("buyer"),
      seller: opaque<Seller>("seller"),
    }),
  ),
  isTestMoney: bool("is_test_money"),
  isAutomatic: bool("is_automatic"),
  /** True if an operator granted the credit, with the purchase's id as the reference. */
  isGrantedByHand: bool("is_granted"),
  sessionId: orNull(text("session_id")),
});
type StoredPurchase = RecordOf<typeof purchaseColumns>;

/**
 * Counts refunds first, then disputes; both together never exceed the purchase's amount. A purchase
 * that is not granted can have both too, and its grant must not credit what was returned.
 */
export const SELECT_PURCHASE_SQL: string = `
  select p.*, exists (select from top_up t where t.purchase_id = p.purchase_id) as is_automatic,
    c.is_granted, least(p.micro_usd, c.refunds) as refunded,
    least(p.micro_usd - least(p.micro_usd, c.refunds), c.disputes) as disputed
  from purchase p cross join lateral (
    select coalesce(sum(micro_usd) filter (where kind = 'refund'), 0) as refunds,
      coalesce(sum(micro_usd) filter (where kind = 'dispute'), 0) as disputes,
      exists (select from transfer_ref t where t.ref = p.purchase_id) as is_granted
    from purchase_claim where purchase_id = p.purchase_id and not is_reversed
  ) c`;

export function readPurchaseRow(row: object): KnownPurchase {
  const stored = purchaseColumns.read(row);
  const { receipt } = stored;
  const facts =
    receipt === null
      ? null
      : { number: receiptNumber(receipt), buyer: buyerOf(receipt.buyer), seller: receipt.seller };
  return { ...stored, state: toPurchaseState(stored), receipt: facts };
}

export function receiptNumber(of: { readonly series: string; readonly number: bigint }): string {
  const { series, number } = of;
  const prefix = series.startsWith("test:") ? "TEST" : "R";
  return `${prefix}-${String(number).padStart(NUMBER_DIGITS, "0")}`;
}

const NUMBER_DIGITS = 6;

function toPurchaseState(stored: StoredPurchase): PurchaseStatus {
  const { state, amountMicroUsd, refundedMicroUsd, disputedMicroUsd } = stored;
  if (state !== "granted") return state;
  if (disputedMicroUsd > 0n) return "disputed";
  if (refundedMicroUsd === 0n) return "paid";
  return refundedMicroUsd < amountMicroUsd ? "partly_refunded" : "refunded";
}
