import type { Stripe } from "stripe";

import type { PauseReason } from "../../kernel/index.ts";
import type { ChargeUpdate, SessionUpdate } from "./payment-update.ts";

/** The metadata key that marks a payment of automatic top-up, which the payer did not start. */
export const TOP_UP = "top_up";

export function isTopUp(intent: Stripe.PaymentIntent): boolean {
  return intent.metadata[TOP_UP] === "1";
}

export function readCharge(intent: Stripe.PaymentIntent): ChargeUpdate {
  const charge = expanded(intent.latest_charge);
  const payment = PAYMENTS[intent.status] ?? "open";
  return {
    session: {
      sessionId: intent.id,
      purchaseId: intent.metadata["purchase_id"] ?? null,
      orgId: intent.metadata["org_id"] ?? null,
      payment,
      cents: BigInt(intent.amount),
      currency: intent.currency,
      isLive: intent.livemode,
      paymentId: intent.id,
      receiptUrl: charge?.receipt_url ?? null,
      method: methodOf(charge),
    },
    failure: payment === "failed" ? findFailure(intent) : null,
    customerId: readId(intent.customer),
    cardId: readId(intent.payment_method) ?? readId(intent.last_payment_error?.payment_method),
    createdAtMs: intent.created * 1000,
  };
}

export function methodOf(charge: Stripe.Charge | undefined): string | undefined {
  const details = charge?.payment_method_details;
  if (details == null) return undefined;
  const { type, card } = details;
  const said = card == null ? type.replaceAll("_", " ") : `${card.brand ?? "card"} ${card.last4}`;
  return (said.charAt(0).toUpperCase() + said.slice(1)).slice(0, METHOD_CHARS_MAX);
}

const METHOD_CHARS_MAX = 60;

/** The payer is absent, so a status that requires an action by the payer counts as failed. */
const PAYMENTS: Partial<Record<Stripe.PaymentIntent.Status, SessionUpdate["payment"]>> = {
  succeeded: "paid",
  processing: "processing",
  requires_payment_method: "failed",
  requires_action: "failed",
  canceled: "failed",
};

function findFailure(intent: Stripe.PaymentIntent): PauseReason {
  if (intent.status === "requires_action") return "authentication_required";
  if (intent.status === "canceled") return "charge_refused";
  const { code, decline_code: decline } = intent.last_payment_error ?? {};
  return declineReason(code, decline);
}

/** Groups declines by what the customer can do about them. */
export function declineReason(code: string | undefined, decline: string | undefined): PauseReason {
  const said = new Set([code, decline]);
  if (said.has("authentication_required")) return "authentication_required";
  return said.has("expired_card") ? "card_expired" : "card_declined";
}

/** Stripe sends a reference as an id or as the whole object. */
export function readId(
  reference: string | { readonly id: string } | null | undefined,
): string | null {
  return typeof reference === "string" ? reference : (reference?.id ?? null);
}

export function expanded<T>(reference: string | T | null | undefined): T | undefined {
  return typeof reference === "string" || reference === null ? undefined : reference;
}
