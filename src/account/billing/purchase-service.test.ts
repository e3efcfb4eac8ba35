import { expect, test } from "vitest";

import type { OrgId } from "../../kernel/core/ids.ts";
import { microUsd, ZERO_MICRO_USD } from "../../kernel/core/money.ts";
import type { SessionUpdate } from "./billing.ts";
import { evaluateCheckout } from "./purchase-service.ts";
import type { KnownPurchase } from "./purchase-store.ts";

const purchase: KnownPurchase = {
  purchaseId: "pur_1",
  orgId: "org_1" as OrgId,
  amountMicroUsd: microUsd(20_000_000n),
  cents: 2_000n,
  state: "created",
  createdAtMs: 0,
  expiresAtMs: 1,
  grantedAtMs: null,
  refundedMicroUsd: ZERO_MICRO_USD,
  disputedMicroUsd: ZERO_MICRO_USD,
  paymentId: null,
  receiptUrl: null,
  paymentMethod: null,
  receipt: null,
  isTestMoney: false,
  isAutomatic: false,
  isGrantedByHand: false,
  sessionId: "cs_1",
};

const session: SessionUpdate = {
  sessionId: "cs_1",
  purchaseId: "pur_1",
  orgId: "org_1",
  payment: "paid",
  cents: 2_000n,
  currency: "usd",
  isLive: true,
  paymentId: "pi_1",
  receiptUrl: null,
};

test("a payment that is exactly what was ordered is granted", () => {
  expect(evaluateCheckout(purchase, session)).toEqual({ kind: "grant" });
});

test("a checkout whose session was not stored is still granted", () => {
  expect(evaluateCheckout({ ...purchase, sessionId: null }, session)).toEqual({ kind: "grant" });
});

test.each<[string, Partial<SessionUpdate>, string]>([
  [
    "another session",
    { sessionId: "cs_2" },
    "it was paid in session cs_2, not in its own session cs_1",
  ],
  ["another organization", { orgId: "org_2" }, "the session belongs to another organization"],
  ["no organization", { orgId: null }, "the session belongs to another organization"],
  ["another currency", { currency: "eur" }, "paid in eur, not in usd"],
  ["a cent less", { cents: 1_999n }, "1999 cents were paid, not 2000"],
  ["a cent more", { cents: 2_001n }, "2001 cents were paid, not 2000"],
  ["no amount", { cents: null }, "no cents were paid, not 2000"],
  ["test money", { isLive: false }, "test money was paid for a purchase with real money"],
  ["nothing to pay", { payment: "not_needed" }, "the checkout asked for no payment"],
])("a checkout with %s is parked with its reason", (_, odd, reason) => {
  expect(evaluateCheckout(purchase, { ...session, ...odd })).toEqual({ kind: "park", reason });
});

test("real money for a purchase with test money is parked", () => {
  expect(evaluateCheckout({ ...purchase, isTestMoney: true }, session)).toEqual({
    kind: "park",
    reason: "real money was paid for a purchase with test money",
  });
});

test("a payment whose credit was granted by hand is parked", () => {
  expect(evaluateCheckout({ ...purchase, isGrantedByHand: true }, session)).toEqual({
    kind: "park",
    reason: "its credit was granted by hand",
  });
});

test.each([
  ["open", { kind: "nothing" }],
  ["processing", { kind: "ungranted", state: "pending" }],
  ["failed", { kind: "ungranted", state: "failed" }],
  ["expired", { kind: "ungranted", state: "expired" }],
] as const)("a payment that is %s grants nothing", (payment, verdict) => {
  expect(evaluateCheckout(purchase, { ...session, payment, cents: 1n })).toEqual(verdict);
});
