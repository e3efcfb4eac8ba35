import { unreachable } from "../../kernel/index.ts";
import type { SessionUpdate } from "./payment-update.ts";
import type { KnownPurchase } from "./purchase-store.ts";

export type SessionVerdict =
  | { readonly kind: "grant" }
  /** Paid, but not as ordered: nothing is granted, and an operator has to review it. */
  | { readonly kind: "park"; readonly reason: string }
  | { readonly kind: "ungranted"; readonly state: "pending" | "failed" | "expired" }
  | { readonly kind: "nothing" };

/** What a session means for the purchase that it names. Money counts only as it was asked for. */
export function judgeSession(purchase: KnownPurchase, session: SessionUpdate): SessionVerdict {
  switch (session.payment) {
    case "open":
      return { kind: "nothing" };
    case "processing":
      return { kind: "ungranted", state: "pending" };
    case "failed":
    case "expired":
      return { kind: "ungranted", state: session.payment };
    case "not_needed":
      return { kind: "park", reason: "the checkout asked for no payment" };
    case "paid": {
      const reason = strangeness(purchase, session);
      return reason === undefined ? { kind: "grant" } : { kind: "park", reason };
    }
    default:
      return unreachable(session.payment);
  }
}

function strangeness(purchase: KnownPurchase, session: SessionUpdate): string | undefined {
  if (purchase.sessionId !== null && purchase.sessionId !== session.sessionId) {
    return `it was paid in session ${session.sessionId}, not in its own session ${purchase.sessionId}`;
  }
  if (session.orgId !== purchase.orgId) return "the session belongs to another organization";
  if (session.currency !== "usd") return `paid in ${session.currency ?? "no currency"}, not in usd`;
  if (session.cents !== purchase.cents) {
    return `${session.cents ?? "no"} cents were paid, not ${purchase.cents}`;
  }
  if (session.isLive === purchase.isTestMoney) {
    return session.isLive
      ? "real money was paid for a purchase with test money"
      : "test money was paid for a purchase with real money";
  }
  return undefined;
}
