import { describe, expect, test } from "vitest";
import type { AttemptId } from "../../../src/kernel/core/ids.ts";
import { microUsd } from "../../../src/kernel/core/money.ts";
import {
  MICRO_PER_USD,
  openOtherBilling,
  paymentOf,
  withBillingFixture,
  type Bought,
} from "../../support/billing-fixture.ts";
import { closeRow, keyOf, pinPrices, reserveRow } from "../../support/ledger-rows.ts";
import { testOperator } from "../../support/test-operator.ts";

/** Every event arrives immediately and once. */
const fixture = withBillingFixture();

describe("a payment that differs from its purchase is parked and credits nothing:", () => {
  test.each([
    ["another amount", { cents: 1 }, "1 cents were paid, not 2000"],
    ["another currency", { currency: "eur" }, "paid in eur, not in usd"],
    [
      "real money for test money",
      { isLive: true },
      "real money was paid for a purchase with test money",
    ],
  ])("%s", async (_, odd, reason) => {
    const bought = await fixture.buy(await fixture.newOrg(), 20);
    fixture.checkout.book.pay(bought.session, odd);
    await fixture.checkout.webhooks.settled();
    expect((await fixture.purchase(bought)).state).toBe("parked");
    expect(await fixture.balance(bought.orgId)).toBe(0n);
    const reported = fixture.log.find(({ detail }) => {
      return "purchaseId" in detail && detail.purchaseId === bought.purchaseId;
    });
    expect(reported).toMatchObject({ level: "error", detail: { reason, orgId: bought.orgId } });
  });

  test("a checkout of another program on the same Stripe account is ignored", async () => {
    const before = fixture.log.length;
    const session = fixture.checkout.book.createSession({
      cents: 100,
      currency: "usd",
      orgId: null,
      email: null,
      metadata: {},
      paymentMetadata: {},
      successUrl: "http://127.0.0.1/",
      cancelUrl: "http://127.0.0.1/",
      expiresAtSeconds: 9_999_999_999,
    });
    const payment = fixture.checkout.book.pay(session);
    fixture.checkout.book.refund(payment);
    await fixture.checkout.webhooks.settled();
    expect(fixture.log.slice(before)).toEqual([]);
  });
});

describe("refunds and disputes", () => {
  async function paid(dollars: number): Promise<Bought> {
    const bought = await fixture.buy(await fixture.newOrg(), dollars);
    fixture.checkout.book.pay(bought.session);
    await fixture.checkout.webhooks.settled();
    return bought;
  }

  test("credit that was already spent becomes debt, and requests are refused until it is paid", async () => {
    const { creditStore, ledgerBatchStore: ledger } = fixture.backend;
    const bought = await paid(10);
    const { orgId } = bought;
    const keyId = await keyOf(fixture.backend, orgId);
    const member = await ledger.join("spender", 3_600_000);
    const reserve = async (attempt: bigint, dollars: bigint): Promise<unknown> => {
      const of = { orgId, keyId, attemptId: attempt as AttemptId };
      const row = reserveRow(of, dollars * MICRO_PER_USD);
      return (await ledger.reserveBatch(member, [{ row, close: null }]))[0];
    };
    await pinPrices(fixture.backend);
    await reserve(1n, 6n);
    await reserve(2n, 3n);
    await ledger.closeBatch([closeRow(1n as AttemptId, 5n * MICRO_PER_USD)]);
    fixture.checkout.book.dispute(paymentOf(fixture, bought), 1_000);
    await fixture.checkout.webhooks.settled();
    // 5 were used and 3 are held: 2 could be taken, 8 are owed.
    expect(await fixture.billings[0].owed(orgId)).toBe(8n * MICRO_PER_USD);
    expect(await fixture.balance(orgId)).toBe(-5n * MICRO_PER_USD);
    expect(await reserve(3n, 0n)).toEqual({
      kind: "low_balance",
      availableMicroUsd: -8n * MICRO_PER_USD,
      heldMicroUsd: 3n * MICRO_PER_USD,
    });
    // Money that a hold releases pays the debt at once.
    await ledger.closeBatch([closeRow(2n as AttemptId, MICRO_PER_USD)]);
    expect(await fixture.billings[0].owed(orgId)).toBe(6n * MICRO_PER_USD);
    const gift = { orgId, amountMicroUsd: microUsd(MICRO_PER_USD), ref: `gift ${orgId}` };
    const balanceMicroUsd = -5n * MICRO_PER_USD;
    expect(await creditStore.grant(gift, testOperator)).toEqual({ created: true, balanceMicroUsd });
    expect(await creditStore.grant(gift, testOperator)).toEqual({
      created: false,
      balanceMicroUsd,
    });
    const other = await fixture.buy(orgId, 7);
    fixture.checkout.book.pay(other.session);
    await fixture.checkout.webhooks.settled();
    expect(await fixture.billings[0].owed(orgId)).toBe(0n);
    expect(await fixture.balance(orgId)).toBe(2n * MICRO_PER_USD);
    expect(await reserve(4n, 2n)).toEqual({ kind: "reserved" });
    const lines = await creditStore.ledgerEntries(orgId);
    const sum = lines.reduce<bigint>((total, { amountMicroUsd: each }) => total + each, 0n);
    expect(sum).toBe(2n * MICRO_PER_USD);
    expect(await fixture.broken()).toEqual([]);
  });
});

describe("payment events", () => {
  test("without a valid signature are refused", async () => {
    for (const signature of ["t=1,v1=00", undefined]) {
      const event = { body: Buffer.from("{}"), signature };
      expect(await fixture.billings[0].webhook(event)).toBe("bad_signature");
    }
  });

  test("are accepted under the old and the new secret, for five minutes", async () => {
    const { Stripe } = await import("stripe");
    const { clock } = fixture;
    const rotating = openOtherBilling(fixture, {
      stripeSecretKey: "sk_test_x",
      stripeWebhookSecret: "whsec_new, whsec_old",
      stripeApiUrl: fixture.checkout.url,
    });
    const payload = JSON.stringify({ id: "evt_1", object: "event", type: "ping", data: {} });
    const { webhooks } = new Stripe("sk_test_x");
    const reported = async (secret: string, ageSeconds: number): Promise<string> => {
      const timestamp = Math.floor(clock.nowMs() / 1000) - ageSeconds;
      const signature = webhooks.generateTestHeaderString({ payload, secret, timestamp });
      return await rotating.webhook({ body: Buffer.from(payload), signature });
    };
    expect(await reported("whsec_new", 0)).toBe("done");
    expect(await reported("whsec_old", 295)).toBe("done");
    expect(await reported("whsec_old", 305)).toBe("bad_signature");
    expect(await reported("whsec_other", 0)).toBe("bad_signature");
    await rotating.close();
  });
});
