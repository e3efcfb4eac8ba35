import type { PurchaseState } from "./billing.ts";
import type { KnownPurchase } from "./purchase-store.ts";
import { unreachable } from "../core/assert.ts";
import type { OrgId } from "../core/ids.ts";
import { microUsd } from "../core/money.ts";

export interface PurchaseRow {
  readonly purchase_id: string;
  readonly org_id: string;
  readonly micro_usd: bigint;
  readonly cents: bigint;
  readonly state: "created" | "pending" | "failed" | "expired" | "parked" | "granted";
  readonly is_test_money: boolean;
  readonly session_id: string | null;
  readonly receipt_url: string | null;
  readonly created_at: Date;
  readonly expires_at: Date;
  readonly granted_at: Date | null;
  readonly refunded: bigint;
  readonly disputed: bigint;
}

/** Refunds first: what they and disputes take together is what the purchase gave. */
export const selectPurchaseSql: string = `
  select p.*,
    case when p.granted_at is null then 0 else least(p.micro_usd, c.refunds) end as refunded,
    case when p.granted_at is null then 0
      else least(p.micro_usd - least(p.micro_usd, c.refunds), c.disputes) end as disputed
  from purchase p cross join lateral (
    select coalesce(sum(micro_usd) filter (where kind = 'refund'), 0) as refunds,
      coalesce(sum(micro_usd) filter (where kind = 'dispute'), 0) as disputes
    from purchase_claim where purchase_id = p.purchase_id and not is_reversed
  ) c`;

export function knownPurchase(row: PurchaseRow): KnownPurchase {
  return {
    purchaseId: row.purchase_id,
    orgId: row.org_id as OrgId,
    amountMicroUsd: microUsd(row.micro_usd),
    cents: row.cents,
    state: stateOf(row),
    createdAtMs: row.created_at.getTime(),
    expiresAtMs: row.expires_at.getTime(),
    grantedAtMs: row.granted_at?.getTime() ?? null,
    refundedMicroUsd: microUsd(row.refunded),
    disputedMicroUsd: microUsd(row.disputed),
    receiptUrl: row.receipt_url,
    isTestMoney: row.is_test_money,
    sessionId: row.session_id,
  };
}

function stateOf(row: PurchaseRow): PurchaseState {
  switch (row.state) {
    case "granted":
      if (row.disputed > 0n) return "disputed";
      if (row.refunded === 0n) return "paid";
      return row.refunded < row.micro_usd ? "partly_refunded" : "refunded";
    case "created":
    case "pending":
    case "failed":
    case "expired":
    case "parked":
      return row.state;
    default:
      return unreachable(row.state);
  }
}
