import type { Stripe } from "stripe";

import { microUsd, type MicroUsd } from "../core/index.ts";
import type { ClaimUpdate, PaymentEvent, PaymentUpdate, SessionUpdate } from "./payment-update.ts";

const MICRO_PER_CENT = 10_000n;
const OTHER: PaymentUpdate = { kind: "other" };

/** An event as what it says. It says what is, not what happened: order and copies do not matter. */
export function readEvent(event: Stripe.Event): PaymentEvent {
  return { eventId: event.id, type: event.type, update: readUpdate(event) };
}

function readUpdate(event: Stripe.Event): PaymentUpdate {
  if (
    event.type === "checkout.session.completed" ||
    event.type === "checkout.session.async_payment_succeeded" ||
    event.type === "checkout.session.expired"
  ) {
    return { kind: "session", session: readSession(event.data.object) };
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
    payment: paymentOf(session, intent),
    cents: session.amount_total === null ? null : BigInt(session.amount_total),
    currency: session.currency,
    isLive: session.livemode,
    paymentId: idOf(session.payment_intent),
    receiptUrl: charge?.receipt_url ?? null,
  };
}

function paymentOf(
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

/** Undefined: of a charge without a payment of its own, so of no purchase. */
export function readRefund(refund: Stripe.Refund): ClaimUpdate | undefined {
  const paymentId = idOf(refund.payment_intent);
  if (paymentId === null) return undefined;
  const isReversed = refund.status === "failed" || refund.status === "canceled";
  return {
    claimId: refund.id,
    kind: "refund",
    paymentId,
    amountMicroUsd: centsToMicroUsd(refund.amount),
    state: isReversed ? "reversed" : refund.status === "succeeded" ? "stands" : "waits",
    // A bank may still send a refund back that went out.
    isOver: isReversed,
  };
}

const DISPUTES_GIVEN_BACK: ReadonlySet<string> = new Set(["won", "warning_closed", "prevented"]);

export function readDispute(dispute: Stripe.Dispute): ClaimUpdate | undefined {
  const paymentId = idOf(dispute.payment_intent);
  if (paymentId === null) return undefined;
  const isReversed = DISPUTES_GIVEN_BACK.has(dispute.status);
  return {
    claimId: dispute.id,
    kind: "dispute",
    paymentId,
    amountMicroUsd: centsToMicroUsd(dispute.amount),
    state: isReversed ? "reversed" : "stands",
    isOver: isReversed || dispute.status === "lost",
  };
}

function centsToMicroUsd(cents: number): MicroUsd {
  return microUsd(BigInt(cents) * MICRO_PER_CENT);
}

function idOf(reference: string | { readonly id: string } | null): string | null {
  return typeof reference === "string" ? reference : (reference?.id ?? null);
}

function expanded<T>(reference: string | T | null): T | undefined {
  return typeof reference === "string" || reference === null ? undefined : reference;
}
