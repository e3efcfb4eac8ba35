import type { Stripe } from "stripe";
import { expect, test } from "vitest";
import { readDispute, readEvent, readRefund, readSession } from "./stripe-updates.ts";

const session = {
  id: "cs_1",
  status: "complete",
  payment_status: "paid",
  amount_total: 2_000,
  currency: "usd",
  livemode: true,
  client_reference_id: "org_1",
  metadata: { purchase_id: "pur_1" },
  payment_intent: "pi_1",
};

const claim = { amount: 1, payment_intent: "pi_1" };

function sessionLike(change: object = {}): Stripe.Checkout.Session {
  return { ...session, ...change } as unknown as Stripe.Checkout.Session;
}

function refundLike(change: object): Stripe.Refund {
  return { id: "re_1", ...claim, ...change } as unknown as Stripe.Refund;
}

function disputeLike(change: object): Stripe.Dispute {
  return { id: "dp_1", ...claim, ...change } as unknown as Stripe.Dispute;
}

function eventOf(type: string, object: object): Stripe.Event {
  return { id: "evt_1", type, data: { object } } as unknown as Stripe.Event;
}

test("a checkout session is read with only its payment's id, and with the expanded payment", () => {
  const update = readSession(sessionLike());
  expect(update).toEqual({
    sessionId: "cs_1",
    purchaseId: "pur_1",
    orgId: "org_1",
    payment: "paid",
    cents: 2_000n,
    currency: "usd",
    isLive: true,
    paymentId: "pi_1",
    receiptUrl: null,
  });
  const intent = { id: "pi_1", latest_charge: { receipt_url: "https://pay.example/r" } };
  expect(readSession(sessionLike({ payment_intent: intent }))).toEqual({
    ...update,
    receiptUrl: "https://pay.example/r",
  });
});

test.each([
  ["open", { status: "open", payment_status: "unpaid" }],
  ["expired", { status: "expired", payment_status: "unpaid" }],
  ["processing", { status: "complete", payment_status: "unpaid" }],
  ["not_needed", { status: "complete", payment_status: "no_payment_required" }],
  ["failed", { payment_status: "unpaid", payment_intent: { status: "requires_payment_method" } }],
  ["failed", { payment_status: "unpaid", payment_intent: { status: "canceled" } }],
  ["processing", { payment_status: "unpaid", payment_intent: { status: "processing" } }],
])("a checkout session is read as %s from %j", (payment, change) => {
  expect(readSession(sessionLike(change)).payment).toBe(payment);
});

test.each([
  ["succeeded", "stands", false],
  ["pending", "waits", false],
  ["requires_action", "waits", false],
  ["failed", "reversed", true],
  ["canceled", "reversed", true],
])("a refund that is %s %s", (status, state, isOver) => {
  const update = readRefund(refundLike({ status, amount: 1_050 }));
  expect(update).toMatchObject({ kind: "refund", state, isOver, amountMicroUsd: 10_500_000n });
});

test.each([
  ["needs_response", "stands", false],
  ["under_review", "stands", false],
  ["warning_needs_response", "stands", false],
  ["lost", "stands", false],
  ["appeal_under_review", "stands", false],
  ["won", "reversed", true],
  ["warning_closed", "reversed", true],
  ["prevented", "reversed", true],
])("a dispute that is %s %s", (status, state, isOver) => {
  expect(readDispute(disputeLike({ status }))).toMatchObject({ kind: "dispute", state, isOver });
});

test("a refund without a payment belongs to no purchase", () => {
  expect(readRefund(refundLike({ payment_intent: null, status: "succeeded" }))).toBeUndefined();
});

test.each([
  ["checkout.session.completed", session, "session"],
  ["checkout.session.async_payment_succeeded", session, "session"],
  ["checkout.session.expired", session, "session"],
  ["refund.created", refundLike({ status: "succeeded" }), "claim"],
  ["refund.updated", refundLike({ status: "succeeded" }), "claim"],
  ["refund.failed", refundLike({ status: "failed" }), "claim"],
  ["charge.dispute.created", disputeLike({ status: "needs_response" }), "claim"],
  ["charge.dispute.closed", disputeLike({ status: "won" }), "claim"],
  ["charge.refunded", { amount_refunded: 1 }, "other"],
  ["customer.created", {}, "other"],
])("the Stripe event %s is read as an update of the right kind", (type, object, kind) => {
  expect(readEvent(eventOf(type, object))).toMatchObject({
    eventId: "evt_1",
    type,
    update: { kind },
  });
});

test("an async_payment_failed event is read as failed, although its session is only unpaid", () => {
  const object = { ...session, payment_status: "unpaid" };
  const event = eventOf("checkout.session.async_payment_failed", object);
  expect(readEvent(event).update).toMatchObject({ session: { payment: "failed" } });
});
