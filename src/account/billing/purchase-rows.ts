import {
  big,
  bool,
  columns,
  type Columns,
  instantMs,
  micro,
  orNull,
  text,
} from "../../kernel/index.ts";
import type { PurchaseState } from "./billing.ts";
import type { KnownPurchase } from "./purchase-store.ts";

type StoredState = "created" | "pending" | "failed" | "expired" | "parked" | "granted";

interface StoredPurchase extends Omit<KnownPurchase, "state"> {
  readonly state: StoredState;
}

const purchaseColumns: Columns<StoredPurchase> = columns({
  purchaseId: text("purchase_id"),
  orgId: text("org_id"),
  amountMicroUsd: micro("micro_usd"),
  cents: big("cents"),
  state: text("state"),
  createdAtMs: instantMs("created_at"),
  expiresAtMs: instantMs("expires_at"),
  grantedAtMs: orNull(instantMs("granted_at")),
  refundedMicroUsd: micro("refunded"),
  disputedMicroUsd: micro("disputed"),
  paymentId: orNull(text("payment_id")),
  receiptUrl: orNull(text("receipt_url")),
  isTestMoney: bool("is_test_money"),
  isAutomatic: bool("is_automatic"),
  sessionId: orNull(text("session_id")),
});

/** Refunds first: what they and disputes take together is what the purchase gave. */
export const SELECT_PURCHASE_SQL: string = `
  select p.*, exists (select from top_up t where t.purchase_id = p.purchase_id) as is_automatic,
    case when p.granted_at is null then 0 else least(p.micro_usd, c.refunds) end as refunded,
    case when p.granted_at is null then 0
      else least(p.micro_usd - least(p.micro_usd, c.refunds), c.disputes) end as disputed
  from purchase p cross join lateral (
    select coalesce(sum(micro_usd) filter (where kind = 'refund'), 0) as refunds,
      coalesce(sum(micro_usd) filter (where kind = 'dispute'), 0) as disputes
    from purchase_claim where purchase_id = p.purchase_id and not is_reversed
  ) c`;

export function knownPurchase(row: object): KnownPurchase {
  const stored = purchaseColumns.read(row);
  return { ...stored, state: stateOf(stored) };
}

function stateOf(stored: StoredPurchase): PurchaseState {
  const { state, amountMicroUsd, refundedMicroUsd, disputedMicroUsd } = stored;
  if (state !== "granted") return state;
  if (disputedMicroUsd > 0n) return "disputed";
  if (refundedMicroUsd === 0n) return "paid";
  return refundedMicroUsd < amountMicroUsd ? "partly_refunded" : "refunded";
}
