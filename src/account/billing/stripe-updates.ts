import type { Stripe } from "stripe";

import { microUsd, type MicroUsd, type PauseReason } from "../../kernel/index.ts";
import type {
  CardUpdate,
  ChargeUpdate,
  ClaimUpdate,
  PaymentEvent,
  PaymentUpdate,
  SessionUpdate,
} from "./billing.ts";

export const MICRO_PER_CENT = 10_000n;
/** The metadata key that marks a checkout that saves the card for automatic top-up. */
export const SAVE_CARD = "save_card";
const OTHER: PaymentUpdate = { kind: "other" };

/** Reads the state of an event's object, not a change, so late and repeated events do no harm. */
export function readEvent(event: Stripe.Event): PaymentEvent {
  return { eventId: event.id, type: event.type, update: readUpdate(event) };
}

function readUpdate(event: Stripe.Event): PaymentUpdate {
  if (
    event.type === "checkout.session.completed" ||
    event.type === "checkout.session.async_payment_succeeded" ||
    event.type === "checkout.session.expired"
  ) {
    return sessionUpdate(event.data.object);
  }
  if (
    event.type === "payment_intent.succeeded" ||
    event.type === "payment_intent.payment_failed" ||
    event.type === "payment_intent.canceled"
  ) {
    // Payments of checkouts are reported by their sessions, so only top-ups are read here.
    const intent = event.data.object;
    return isTopUp(intent) ? { kind: "charge", charge: readCharge(intent) } : OTHER;
  }
  if (event.type === "checkout.session.async_payment_failed") {
    return { kind: "session", session: { ...readSession(event.data.object), payment: "failed" } };
  }
  if (
    event.type === "refund.created" ||
    event.type === "refund.updated" ||
    event.type === "refund.failed"
  ) {
    return claimUpdate(readRefund(event.data.object));
  }
  if (event.type === "charge.dispute.created" || event.type === "charge.dispute.closed") {
    return claimUpdate(readDispute(event.data.object));
  }
  return OTHER;
}

function sessionUpdate(session: Stripe.Checkout.Session): PaymentUpdate {
  if (session.mode !== "setup") return { kind: "session", session: readSession(session) };
  const card = readCard(session);
  return card === undefined ? OTHER : { kind: "card", card };
}

function claimUpdate(claim: ClaimUpdate | undefined): PaymentUpdate {
  return claim === undefined ? OTHER : { kind: "claim", claim };
}

export function readSession(session: Stripe.Checkout.Session): SessionUpdate {
  const intent = expanded(session.payment_intent);
  const charge = expanded(intent?.latest_charge ?? null);
  return {
    sessionId: session.id,
    purchaseId: session.metadata?.["purchase_id"] ?? null,
    orgId: session.client_reference_id,
    payment: judgePayment(session, intent),
    cents: session.amount_total === null ? null : BigInt(session.amount_total),
    currency: session.currency,
    isLive: session.livemode,
    paymentId: readId(session.payment_intent),
    receiptUrl: charge?.receipt_url ?? null,
    method: readMethod(charge),
    card: readCard(session),
  };
}

/** Undefined if the checkout saves no card, or if the payer has not completed it. */
export function readCard(session: Stripe.Checkout.Session): CardUpdate | undefined {
  const isSetup = session.mode === "setup";
  const intentId = readId(isSetup ? session.setup_intent : session.payment_intent);
  const orgId = session.client_reference_id;
  const customerId = readId(session.customer);
  const isSaving = session.metadata?.[SAVE_CARD] === "1" && session.status === "complete";
  if (!isSaving || intentId === null || orgId === null || customerId === null) return undefined;
  return {
    sessionId: session.id,
    orgId,
    customerId,
    isLive: session.livemode,
    openedAtMs: session.created * 1000,
    intent: { kind: isSetup ? "setup" : "payment", id: intentId },
  };
}

function judgePayment(
  session: Stripe.Checkout.Session,
  intent: Stripe.PaymentIntent | undefined,
): SessionUpdate["payment"] {
  if (session.payment_status === "paid") return "paid";
  if (session.status === "expired") return "expired";
  if (session.status !== "complete") return "open";
  if (session.payment_status === "no_payment_required") return "not_needed";
  const hasFailed = intent?.status === "requires_payment_method" || intent?.status === "canceled";
  return hasFailed ? "failed" : "processing";
}

/** Undefined for a refund without a payment, which belongs to no purchase. */
export function readRefund(refund: Stripe.Refund): ClaimUpdate | undefined {
  const paymentId = readId(refund.payment_intent);
  if (paymentId === null) return undefined;
  const isReversed = refund.status === "failed" || refund.status === "canceled";
  return {
    claimId: refund.id,
    kind: "refund",
    paymentId,
    amountMicroUsd: centsToMicroUsd(refund.amount),
    state: isReversed ? "reversed" : refund.status === "succeeded" ? "stands" : "waits",
    // A successful refund is not final: a bank may still send the money back.
    isOver: isReversed,
  };
}

const DISPUTES_GIVEN_BACK: ReadonlySet<string> = new Set(["won", "warning_closed", "prevented"]);

export function readDispute(dispute: Stripe.Dispute): ClaimUpdate | undefined {
  const paymentId = readId(dispute.payment_intent);
  if (paymentId === null) return undefined;
  const isReversed = DISPUTES_GIVEN_BACK.has(dispute.status);
  return {
    claimId: dispute.id,
    kind: "dispute",
    paymentId,
    amountMicroUsd: centsToMicroUsd(dispute.amount),
    state: isReversed ? "reversed" : "stands",
    // A lost dispute is not final: it can be appealed, and then be won.
    isOver: isReversed,
  };
}

function centsToMicroUsd(cents: number): MicroUsd {
  return microUsd(BigInt(cents) * MICRO_PER_CENT);
}

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
      method: readMethod(charge),
    },
    failure: payment === "failed" ? findFailure(intent) : null,
    customerId: readId(intent.customer),
    cardId: readId(intent.payment_method) ?? readId(intent.last_payment_error?.payment_method),
    createdAtMs: intent.created * 1000,
  };
}

function readMethod(charge: Stripe.Charge | undefined): string | undefined {
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
function readId(reference: string | { readonly id: string } | null | undefined): string | null {
  return typeof reference === "string" ? reference : (reference?.id ?? null);
}

export function expanded<T>(reference: string | T | null | undefined): T | undefined {
  return typeof reference === "string" || reference === null ? undefined : reference;
}
