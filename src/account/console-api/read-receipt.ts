import type { PurchaseRecord } from "../billing/billing.ts";
import { formatUsd, instant, type OrgId } from "../../kernel/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { conflict, type ConsoleRefusal, notFound } from "./console-refusal.ts";
import type { Receipt } from "./contract.ts";
import { shownCompany, shownIssuer } from "./show-company.ts";

const NOT_PAID = conflict(
  "this purchase was not paid, so it has no receipt; see its state on the billing page",
);
const HAS_ANOTHER = conflict(
  "the payment provider issued the receipt of this purchase; open it on the billing page",
);

/**
 * What an organization paid for one purchase. Only the purchases that the billing page lists have
 * one: nothing is asked of the payment provider, and nothing changes.
 */
export async function readReceipt(
  deps: ConsoleDeps,
  orgId: OrgId,
  purchaseId: string,
): Promise<Receipt | ConsoleRefusal> {
  const purchases = await deps.billing.listPurchases(orgId);
  const purchase = purchases.find((each) => each.purchaseId === purchaseId);
  if (purchase === undefined) return notFound("purchase");
  const { grantedAtMs } = purchase;
  if (grantedAtMs === null) return NOT_PAID;
  if (hasProviderReceipt(purchase)) return HAS_ANOTHER;
  const company = await deps.companies.find(orgId);
  return {
    number: purchase.purchaseId,
    paid_at: instant(grantedAtMs),
    amount_usd: formatUsd(purchase.amountMicroUsd),
    refunded_usd: formatUsd(purchase.refundedMicroUsd),
    disputed_usd: formatUsd(purchase.disputedMicroUsd),
    payment_reference: purchase.paymentId,
    is_test_money: purchase.isTestMoney,
    is_automatic: purchase.isAutomatic,
    company: company === undefined ? null : shownCompany(company),
    issuer: shownIssuer(deps),
  };
}

/** One payment has one receipt; that of the test checkout is a line without the parties. */
function hasProviderReceipt({ receiptUrl, isTestMoney }: PurchaseRecord): boolean {
  return receiptUrl !== null && !isTestMoney;
}
