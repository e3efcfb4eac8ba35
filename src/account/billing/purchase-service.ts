import { formatUsd, unreachable } from "../../kernel/index.ts";
import type {
  CardUpdate,
  ChargeUpdate,
  ClaimUpdate,
  PaymentUpdate,
  SessionUpdate,
} from "./billing.ts";
import type { KnownPurchase } from "./purchase-store.ts";
import type { BillingParts } from "./stripe-payments.ts";

interface PurchaseServiceDeps extends BillingParts {
  readonly takeCard: (card: CardUpdate) => Promise<void>;
  readonly takeCharge: (charge: ChargeUpdate) => Promise<void>;
}

/** Applies the payment provider's reports. Each may be repeated, late or missing. */
export class PurchaseService {
  readonly #deps: PurchaseServiceDeps;

  constructor(deps: PurchaseServiceDeps) {
    this.#deps = deps;
  }

  async take(update: PaymentUpdate): Promise<void> {
    switch (update.kind) {
      case "session":
        return await this.takeSession(update.session);
      case "card":
        return await this.#deps.takeCard(update.card);
      case "charge":
        return await this.#deps.takeCharge(update.charge);
      case "claim":
        return await this.takeClaim(update.claim);
      case "other":
        return;
      default:
        unreachable(update);
    }
  }

  async takeSession(session: SessionUpdate): Promise<void> {
    // Not one of our purchases: other programs may sell through the same Stripe account.
    if (session.purchaseId === null) return;
    const { store, log } = this.#deps;
    const purchase = await store.find(session.purchaseId);
    if (purchase === undefined) {
      const { purchaseId, sessionId, payment } = session;
      log.error({ purchaseId, sessionId, payment }, "a checkout names an unknown purchase");
      return;
    }
    const verdict = evaluateCheckout(purchase, session);
    switch (verdict.kind) {
      case "nothing":
        return;
      case "grant":
        await this.#grant(purchase, session);
        if (session.card !== undefined) await this.#deps.takeCard(session.card);
        return;
      case "park":
        return await this.#park(purchase, verdict.reason);
      case "ungranted":
        await store.decide(purchase.purchaseId, verdict.state);
        return;
      default:
        unreachable(verdict);
    }
  }

  /** The only code that turns a payment into credit. */
  async #grant(purchase: KnownPurchase, session: SessionUpdate): Promise<void> {
    const { store, seller, log } = this.#deps;
    const { purchaseId, orgId } = purchase;
    const { paymentId, receiptUrl, method } = session;
    const paid = { purchaseId, paymentId, receiptUrl, method, seller: seller() };
    const isFirst = await store.grant(paid);
    if (!isFirst) return;
    const amountUsd = formatUsd(purchase.amountMicroUsd);
    log.info({ purchaseId, orgId, amountUsd }, "a purchase was paid and credited");
  }

  async #park(purchase: KnownPurchase, reason: string): Promise<void> {
    const { purchaseId, orgId } = purchase;
    if (purchase.grantedAtMs !== null) return;
    await this.#deps.store.decide(purchaseId, "parked");
    this.#deps.log.error({ purchaseId, orgId, reason }, PARKED);
  }

  async takeClaim(claim: ClaimUpdate): Promise<void> {
    if (claim.state === "waits") return;
    const purchase = await this.#findPurchase(claim.paymentId);
    if (purchase === undefined) return;
    const { store, log } = this.#deps;
    const { purchaseId, orgId } = purchase;
    const { claimId, kind, amountMicroUsd, isOver } = claim;
    const isReversed = claim.state === "reversed";
    const reported = { claimId, purchaseId, kind, amountMicroUsd, isReversed, isOver };
    const isNew = await store.claim(reported);
    if (!isNew) return;
    const detail = { claimId, purchaseId, orgId, amountUsd: formatUsd(amountMicroUsd) };
    if (!isReversed && purchase.state === "parked" && purchase.isGrantedByHand) {
      log.error({ ...detail, kind }, GRANT_STAYS);
    } else if (kind === "refund") log.info(detail, "a purchase was refunded");
    else log.warn(detail, "a purchase is disputed: review the organization");
  }

  /**
   * A refund or dispute names only the payment. If its event arrives before the purchase is
   * reported as paid, the payment is not known here, so the payment provider is asked.
   */
  async #findPurchase(paymentId: string): Promise<KnownPurchase | undefined> {
    const { store, payments } = this.#deps;
    const known = await store.findByPayment(paymentId);
    if (known !== undefined) return known;
    const purchaseId = await payments.purchaseOfPayment(paymentId);
    return purchaseId === undefined ? undefined : await store.find(purchaseId);
  }
}

const PARKED =
  "a purchase was paid and is parked for this reason: nothing more was credited; review it in the " +
  "payment provider's dashboard, then refund it there, unless its credit is granted by hand";

// Credit that a person granted is not taken back: it may differ from the payment's amount.
const GRANT_STAYS =
  "a payment was refunded or disputed after its purchase was credited by hand: the credit stays; " +
  "settle the amount with the organization";

export type SessionVerdict =
  | { readonly kind: "grant" }
  | { readonly kind: "park"; readonly reason: string }
  | { readonly kind: "ungranted"; readonly state: "pending" | "failed" | "expired" }
  | { readonly kind: "nothing" };

export function evaluateCheckout(purchase: KnownPurchase, session: SessionUpdate): SessionVerdict {
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
      const reason = findMismatch(purchase, session);
      return reason === undefined ? { kind: "grant" } : { kind: "park", reason };
    }
    default:
      return unreachable(session.payment);
  }
}

function findMismatch(purchase: KnownPurchase, session: SessionUpdate): string | undefined {
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
  if (purchase.isGrantedByHand) return "its credit was granted by hand";
  return undefined;
}
