import { expect, test } from "vitest";

import { testOperator } from "../../../test/support/test-operator.ts";
import { notingPurchases, notingTopUps, notingWebhooks } from "./open-billing.ts";
import type { PurchaseStore } from "./postgres-purchase-store.ts";
import type { TopUpStore } from "./postgres-top-up-store.ts";
import type { Billing } from "./stripe-billing.ts";

test("the end of a purchase is counted once, however often it is reported, and a pending purchase is not", async () => {
  const answers = [true, false, true, true];
  const ends: string[] = [];
  const answer = (): Promise<boolean> => Promise.resolve(answers.shift() ?? false);
  const verbs: Pick<PurchaseStore, "grant" | "decide"> = { grant: answer, decide: answer };
  const store = notingPurchases(verbs, (end) => ends.push(end));
  const paid = {} as Parameters<PurchaseStore["grant"]>[0];
  await store.grant(paid);
  await store.grant(paid);
  await store.decide("pur_1", "parked");
  await store.decide("pur_2", "pending");
  expect(ends).toEqual(["granted", "parked"]);
});

test("a top-up that fails is counted, but not if it had already ended so", async () => {
  const before = ["pending", "failed", undefined];
  const ends: string[] = [];
  const verbs: Pick<TopUpStore, "fail"> = { fail: () => Promise.resolve(before.shift()) };
  const store = notingTopUps(verbs, (end) => ends.push(end));
  for (const id of ["pur_1", "pur_2", "pur_3"]) {
    await store.fail(id, "failed", "card_declined", testOperator);
  }
  expect(ends).toEqual(["failed"]);
});

test("a payment webhook is counted by its result, and one that throws is counted as failed and rethrown", async () => {
  const results: string[] = [];
  const outcomes = [
    () => Promise.resolve("done" as const),
    () => Promise.resolve("bad_signature" as const),
    () => Promise.reject(new Error("away")),
  ];
  const asked: Pick<Billing, "webhook"> = {
    webhook: async () => await (outcomes.shift()?.() ?? "not_configured"),
  };
  const billing = notingWebhooks(asked, (result) => results.push(result));
  const event = { body: Buffer.alloc(0), signature: undefined };
  await billing.webhook(event);
  await billing.webhook(event);
  await expect(billing.webhook(event)).rejects.toThrow("away");
  expect(results).toEqual(["taken", "bad_signature", "failed"]);
});
