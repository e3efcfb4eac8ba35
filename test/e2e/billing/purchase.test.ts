import { Stripe } from "stripe";
import { describe, expect, test, vi } from "vitest";
import { PurchaseFault } from "../../../src/account/billing/billing.ts";
import type { AttemptId } from "../../../src/kernel/core/ids.ts";
import { microUsd } from "../../../src/kernel/core/money.ts";
import {
  MICRO_PER_USD,
  openBillingFixture,
  openOtherBilling,
  paymentOf,
  withBillingFixture,
  type Bought,
} from "../../support/billing-fixture.ts";
import { until } from "../../support/books.ts";
import { closeRow, keyOf, pinPrices, reserveRow } from "../../support/ledger-rows.ts";
import { testOperator } from "../../support/test-operator.ts";
import { silentLog } from "../../support/silent-log.ts";

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** Every event arrives immediately and once. */
const fixture = withBillingFixture();
/** No event ever arrives. */
const undelivered = withBillingFixture({ delivery: () => [] });

async function press(bought: Bought, button: "pay" | "fail" | "close"): Promise<string | null> {
  const answer = await fetch(`${bought.checkoutUrl}/${button}`, {
    method: "POST",
    redirect: "manual",
  });
  expect(answer.status).toBe(303);
  return answer.headers.get("location");
}

/** A new organization's paid purchase. */
async function buyPaid(dollars: number): Promise<Bought> {
  const bought = await fixture.buy(await fixture.newOrg(), dollars);
  fixture.checkout.book.pay(bought.session);
  await fixture.checkout.webhooks.settled();
  return bought;
}

async function isFunded(orgId: string): Promise<unknown> {
  const sql = `select funded_at is not null and bought_at is not null as funded from org
    where org_id = $1`;
  return (await fixture.backend.query(sql, [orgId]))[0]?.["funded"];
}

/** A new organization's purchase of which no event arrives. */
async function buyUndelivered(): Promise<Bought> {
  return await undelivered.buy(await undelivered.newOrg(), 20);
}

/** Lets one process reconcile after this time, as it does by itself in minutes or days. */
async function reconcileAfter(ms: number): Promise<void> {
  undelivered.clock.moveOn(ms);
  await undelivered.billings[0].reconcileAll();
}

describe("a purchase of credit", () => {
  test("credits the wallet before the browser returns, and lifts the limit of the trial", async () => {
    const orgId = await fixture.newOrg();
    const bought = await fixture.buy(orgId, 25);
    expect(await fixture.purchase(bought)).toMatchObject({ state: "created", grantedAtMs: null });
    expect(await isFunded(orgId)).toBe(false);
    const back = await press(bought, "pay");
    const page = `/billing/return/${bought.purchaseId}\\?org=${orgId}`;
    expect(back).toMatch(new RegExp(`^http://127.0.0.1:\\d+${page}$`));
    await fixture.checkout.webhooks.settled();
    expect(await fixture.balance(orgId)).toBe(25n * MICRO_PER_USD);
    expect(await isFunded(orgId)).toBe(true);
    const seen = await fixture.billings[1].checkPurchase(orgId, bought.purchaseId);
    expect(seen).toMatchObject({
      state: "paid",
      amountMicroUsd: 25n * MICRO_PER_USD,
      isTestMoney: true,
      receiptUrl: expect.stringMatching(/\/receipt\/ch_/),
    });
    expect(await fixture.backend.purchaseStore.list(orgId)).toMatchObject([{ state: "paid" }]);
    expect(await fixture.broken()).toEqual([]);
  });

  test("is pending while the payment is on its way, and credited when it arrives", async () => {
    const bought = await fixture.buy(await fixture.newOrg(), 10);
    fixture.checkout.book.pay(bought.session, {}, true);
    await fixture.checkout.webhooks.settled();
    expect((await fixture.purchase(bought)).state).toBe("pending");
    fixture.checkout.book.finish(bought.session, true);
    await fixture.checkout.webhooks.settled();
    expect((await fixture.purchase(bought)).state).toBe("paid");
    expect(await fixture.balance(bought.orgId)).toBe(10n * MICRO_PER_USD);
  });

  test("with a payment that fails later credits nothing", async () => {
    const bought = await fixture.buy(await fixture.newOrg(), 10);
    await press(bought, "fail");
    await fixture.checkout.webhooks.settled();
    expect((await fixture.purchase(bought)).state).toBe("failed");
    expect(await fixture.balance(bought.orgId)).toBe(0n);
  });

  test("stays open after its checkout was closed, until it expires", async () => {
    const bought = await fixture.buy(await fixture.newOrg(), 10);
    expect(await press(bought, "close")).toMatch(/\/billing\?org=org_\w+$/);
    expect((await fixture.purchase(bought)).state).toBe("created");
    fixture.checkout.book.expire(bought.session);
    await fixture.checkout.webhooks.settled();
    expect((await fixture.purchase(bought)).state).toBe("expired");
  });

  test.each([
    ["below the minimum", 4_990_000n],
    ["above the maximum", 5_000_010_000n],
    ["not whole cents", 5_000_001n],
  ])("with an amount that is %s is refused before a purchase exists", async (_, amount) => {
    const orgId = await fixture.newOrg();
    const wanted = { orgId, amountMicroUsd: microUsd(amount), email: "a@example.com" };
    const begun = fixture.billings[0].startPurchase(wanted, testOperator);
    await expect(begun).rejects.toMatchObject({
      kind: "bad_amount",
      message: "amount_usd must be whole cents from 5.00 to 5000.00",
    });
    expect(await fixture.backend.purchaseStore.list(orgId)).toEqual([]);
  });

  test("is refused after 30 purchases of its organization within an hour", async () => {
    const orgId = await undelivered.newOrg();
    for (let i = 0; i < 30; i++) await undelivered.buy(orgId, 5);
    await expect(undelivered.buy(orgId, 5)).rejects.toMatchObject({ kind: "too_many" });
    undelivered.clock.moveOn(61 * MINUTE_MS);
    await expect(undelivered.buy(orgId, 5)).resolves.toBeDefined();
  });

  test("fails with an error when the payment provider is unreachable", async () => {
    const away = openOtherBilling(fixture, {
      stripeSecretKey: "sk_live_nothing",
      stripeWebhookSecret: "whsec_nothing",
      stripeApiUrl: "http://127.0.0.1:1",
    });
    const orgId = await fixture.newOrg();
    const wanted = { orgId, amountMicroUsd: microUsd(5n * MICRO_PER_USD), email: "a@b.test" };
    await expect(away.startPurchase(wanted, testOperator)).rejects.toThrow(PurchaseFault);
    const [purchase] = await fixture.backend.purchaseStore.list(orgId);
    expect(purchase).toMatchObject({ state: "failed", isTestMoney: false });
    await expect(away.topUps?.openCardCheckout(orgId)).rejects.toThrow(PurchaseFault);
    await away.close();
  });
});

describe("a purchase whose event never arrives", () => {
  test("is credited when the browser returns", async () => {
    const bought = await buyUndelivered();
    await press(bought, "pay");
    const { billings } = undelivered;
    const polls = [...billings, ...billings].map((billing) =>
      billing.checkPurchase(bought.orgId, bought.purchaseId),
    );
    await Promise.all(polls);
    const receiptUrl = expect.stringMatching(/receipt/);
    expect(await undelivered.purchase(bought)).toMatchObject({ state: "paid", receiptUrl });
    expect(await undelivered.balance(bought.orgId)).toBe(20n * MICRO_PER_USD);
  });

  test("is credited by the next reconciliation, and an unpaid one expires", async () => {
    const paid = await buyUndelivered();
    const unpaid = await buyUndelivered();
    undelivered.checkout.book.pay(paid.session);
    await undelivered.billings[0].reconcileAll();
    expect((await undelivered.purchase(paid)).state).toBe("created");
    undelivered.clock.moveOn(50 * MINUTE_MS);
    await Promise.all(undelivered.billings.map((billing) => billing.reconcileAll()));
    expect((await undelivered.purchase(paid)).state).toBe("paid");
    expect((await undelivered.purchase(unpaid)).state).toBe("expired");
  });

  test("follows refunds and disputes at the daily reconciliation, even months later", async () => {
    const bought = await buyUndelivered();
    const payment = undelivered.checkout.book.pay(bought.session);
    const refund = undelivered.checkout.book.refund(payment, 500);
    const dispute = undelivered.checkout.book.dispute(payment, 300);
    await reconcileAfter(20 * MINUTE_MS);
    expect(await undelivered.balance(bought.orgId)).toBe(12n * MICRO_PER_USD);
    expect(await undelivered.purchase(bought)).toMatchObject({
      state: "disputed",
      refundedMicroUsd: 5n * MICRO_PER_USD,
      disputedMicroUsd: 3n * MICRO_PER_USD,
    });
    undelivered.clock.moveOn(60 * DAY_MS);
    if (refund !== undefined) undelivered.checkout.book.failRefund(refund);
    undelivered.checkout.book.closeDispute(dispute, "won");
    await undelivered.billings[1].reconcileAll();
    expect(await undelivered.balance(bought.orgId)).toBe(20n * MICRO_PER_USD);
    expect((await undelivered.purchase(bought)).state).toBe("paid");
    expect(await undelivered.broken()).toEqual([]);
  });

  test("loses the credit of a refund that was pending for weeks, at the daily reconciliation", async () => {
    const bought = await buyUndelivered();
    const payment = undelivered.checkout.book.pay(bought.session);
    const refund = undelivered.checkout.book.refund(payment, 500);
    if (refund !== undefined) refund.status = "pending";
    await reconcileAfter(20 * MINUTE_MS);
    expect(await undelivered.balance(bought.orgId)).toBe(20n * MICRO_PER_USD);
    if (refund !== undefined) refund.status = "succeeded";
    await reconcileAfter(40 * DAY_MS);
    expect(await undelivered.balance(bought.orgId)).toBe(15n * MICRO_PER_USD);
  });

  test("gets back the credit of a dispute that was lost and is won on appeal months later", async () => {
    const bought = await buyUndelivered();
    const payment = undelivered.checkout.book.pay(bought.session);
    const dispute = undelivered.checkout.book.dispute(payment, 300);
    undelivered.checkout.book.closeDispute(dispute, "lost");
    await reconcileAfter(20 * MINUTE_MS);
    expect(await undelivered.balance(bought.orgId)).toBe(17n * MICRO_PER_USD);
    dispute.status = "won";
    await reconcileAfter(61 * DAY_MS);
    expect(await undelivered.balance(bought.orgId)).toBe(20n * MICRO_PER_USD);
  });

  test("stays pending, if it is in real money, while the gateway runs with a test key", async () => {
    const { backend, checkout, billings } = undelivered;
    const bought = await buyUndelivered();
    const sql = "update purchase set is_test_money = $2 where purchase_id = $1";
    const setTestMoney = (isTestMoney: boolean): Promise<unknown> =>
      backend.query(sql, [bought.purchaseId, isTestMoney]);
    checkout.book.pay(bought.session, {}, true);
    await reconcileAfter(20 * MINUTE_MS);
    // The payment account of the test key does not know checkouts of purchases with real money.
    await setTestMoney(false);
    checkout.book.sessions.delete(bought.session.id);
    await reconcileAfter(20 * MINUTE_MS);
    await billings[0].checkPurchase(bought.orgId, bought.purchaseId);
    expect((await undelivered.purchase(bought)).state).toBe("pending");
    await setTestMoney(true);
    checkout.book.sessions.set(bought.session.id, bought.session);
    checkout.book.finish(bought.session, true);
    await reconcileAfter(20 * MINUTE_MS);
    expect(await undelivered.balance(bought.orgId)).toBe(20n * MICRO_PER_USD);
  });

  test("expires when the provider no longer knows its checkout, and this is logged", async () => {
    const bought = await buyUndelivered();
    undelivered.checkout.book.sessions.delete(bought.session.id);
    await reconcileAfter(20 * MINUTE_MS);
    expect((await undelivered.purchase(bought)).state).toBe("expired");
    const message = "the payment provider does not know this checkout";
    expect(undelivered.log).toContainEqual(expect.objectContaining({ message }));
  });
});

test("a running console reconciles a due purchase by itself", async () => {
  const bought = await buyUndelivered();
  undelivered.checkout.book.pay(bought.session);
  undelivered.clock.moveOn(20 * MINUTE_MS);
  const running = openOtherBilling(undelivered, {}, { testCheckout: undelivered.checkout });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  running.start();
  vi.advanceTimersByTime(MINUTE_MS);
  vi.useRealTimers();
  const stateOf = async () => (await undelivered.purchase(bought)).state;
  expect(await until("it is paid", async () => (await stateOf()) === "paid")).toBe(true);
  await running.close();
});

test("a start with a live key reports credit that was bought with test money", async () => {
  const bought = await buyPaid(5);
  const errors: object[] = [];
  const live = openOtherBilling(
    fixture,
    { stripeSecretKey: "rk_live_x", stripeWebhookSecret: "whsec_x" },
    { log: { ...silentLog, error: (detail) => void errors.push(detail) } },
  );
  expect(live.mode).toBe("stripe");
  live.start();
  await until("the start has logged it", () => errors.length === 1);
  expect(errors[0]).toMatchObject({ orgIds: expect.arrayContaining([bought.orgId]) });
  await live.close();
});

test("an installation without a payment provider refuses purchases and payment events", async () => {
  const none = openOtherBilling(fixture);
  const orgId = await fixture.newOrg();
  expect(none.mode).toBe("none");
  const wanted = { orgId, amountMicroUsd: microUsd(5n * MICRO_PER_USD), email: "a@b.test" };
  await expect(none.startPurchase(wanted, testOperator)).rejects.toMatchObject({
    kind: "not_configured",
  });
  const event = { body: Buffer.from("{}"), signature: "t=1,v1=00" };
  expect(await none.webhook(event)).toBe("not_configured");
  expect(await fixture.backend.purchaseStore.list(orgId)).toEqual([]);
});

test("a payment that differs from its purchase is parked, credits nothing, and is logged with its reason", async () => {
  const bought = await fixture.buy(await fixture.newOrg(), 20);
  fixture.checkout.book.pay(bought.session, { cents: 1 });
  await fixture.checkout.webhooks.settled();
  expect((await fixture.purchase(bought)).state).toBe("parked");
  expect(await fixture.balance(bought.orgId)).toBe(0n);
  const { orgId, purchaseId } = bought;
  const detail = { purchaseId, orgId, reason: "1 cents were paid, not 2000" };
  expect(fixture.log).toContainEqual(
    expect.objectContaining({ level: "error", detail: expect.objectContaining(detail) }),
  );
});

test("a purchase whose credit was granted by hand, under its id, is parked when it is paid, and credits nothing more", async () => {
  const bought = await fixture.buy(await fixture.newOrg(), 20);
  const { orgId, purchaseId } = bought;
  const grant = { orgId, amountMicroUsd: microUsd(20n * MICRO_PER_USD), ref: purchaseId };
  await fixture.backend.creditStore.grant(grant, testOperator);
  fixture.checkout.book.pay(bought.session);
  await fixture.checkout.webhooks.settled();
  expect((await fixture.purchase(bought)).state).toBe("parked");
  expect(await fixture.balance(orgId)).toBe(20n * MICRO_PER_USD);
  const detail = { purchaseId, orgId, reason: "its credit was granted by hand" };
  expect(fixture.log).toContainEqual({
    level: "error",
    detail,
    message: expect.stringMatching(/^a purchase was paid .*: nothing more was credited/) as unknown,
  });
});

/** A checkout that this program did not start. */
const STRANGE_CHECKOUT = {
  cents: 100,
  currency: "usd",
  orgId: null,
  email: null,
  metadata: {},
  paymentMetadata: {},
  successUrl: "http://127.0.0.1/",
  cancelUrl: "http://127.0.0.1/?a=%22%3E",
  expiresAtSeconds: 9_999_999_999,
};

test("a checkout of another program on the same Stripe account is ignored", async () => {
  const before = fixture.log.length;
  const payment = fixture.checkout.book.pay(fixture.checkout.book.createSession(STRANGE_CHECKOUT));
  fixture.checkout.book.refund(payment);
  await fixture.checkout.webhooks.settled();
  expect(fixture.log.slice(before)).toEqual([]);
});

describe("refunds and disputes", () => {
  test("together never take more than the purchase credited, and a dispute is logged for the operator", async () => {
    const bought = await buyPaid(10);
    const payment = paymentOf(fixture, bought);
    fixture.checkout.book.refund(payment, 700);
    const dispute = fixture.checkout.book.dispute(payment, 1_000);
    await fixture.checkout.webhooks.settled();
    expect(await fixture.balance(bought.orgId)).toBe(0n);
    expect(await fixture.purchase(bought)).toMatchObject({
      state: "disputed",
      refundedMicroUsd: 7n * MICRO_PER_USD,
      disputedMicroUsd: 3n * MICRO_PER_USD,
    });
    expect(fixture.log).toContainEqual({
      level: "warn",
      message: "a purchase is disputed: review the organization",
      detail: expect.objectContaining({ orgId: bought.orgId, amountUsd: "10.000000" }) as unknown,
    });
    fixture.checkout.book.closeDispute(dispute, "won");
    await fixture.checkout.webhooks.settled();
    expect(await fixture.balance(bought.orgId)).toBe(3n * MICRO_PER_USD);
    expect((await fixture.purchase(bought)).state).toBe("partly_refunded");
  });

  test("turn credit that was already spent into debt, and holds are refused until it is paid", async () => {
    const { creditStore, ledgerBatchStore: ledger } = fixture.backend;
    const bought = await buyPaid(10);
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
    // 5 were used and 3 are held, so only 2 of the disputed 10 could be taken and 8 are owed.
    expect(await fixture.backend.purchaseStore.owed(orgId)).toBe(8n * MICRO_PER_USD);
    expect(await fixture.balance(orgId)).toBe(-5n * MICRO_PER_USD);
    expect(await reserve(3n, 0n)).toEqual({
      kind: "low_balance",
      availableMicroUsd: -8n * MICRO_PER_USD,
      heldMicroUsd: 3n * MICRO_PER_USD,
    });
    // Credit that a hold releases pays the debt at once.
    await ledger.closeBatch([closeRow(2n as AttemptId, MICRO_PER_USD)]);
    expect(await fixture.backend.purchaseStore.owed(orgId)).toBe(6n * MICRO_PER_USD);
    const gift = { orgId, amountMicroUsd: microUsd(MICRO_PER_USD), ref: `gift ${orgId}` };
    const balanceMicroUsd = -5n * MICRO_PER_USD;
    for (const created of [true, false]) {
      expect(await creditStore.grant(gift, testOperator)).toEqual({ created, balanceMicroUsd });
    }
    const other = await fixture.buy(orgId, 7);
    fixture.checkout.book.pay(other.session);
    await fixture.checkout.webhooks.settled();
    expect(await fixture.backend.purchaseStore.owed(orgId)).toBe(0n);
    expect(await fixture.balance(orgId)).toBe(2n * MICRO_PER_USD);
    expect(await reserve(4n, 2n)).toEqual({ kind: "reserved" });
    const lines = await creditStore.ledgerEntries(orgId);
    const sum = lines.reduce<bigint>((total, { amountMicroUsd: each }) => total + each, 0n);
    expect(sum).toBe(2n * MICRO_PER_USD);
    expect(await fixture.broken()).toEqual([]);
  });
});

test("payment events are accepted only with a signature under the old or the new secret, for five minutes", async () => {
  const rotating = openOtherBilling(fixture, {
    stripeSecretKey: "sk_test_x",
    stripeWebhookSecret: "whsec_new, whsec_old",
    stripeApiUrl: fixture.checkout.url,
  });
  const payload = JSON.stringify({ id: "evt_1", object: "event", type: "ping", data: {} });
  const { webhooks } = new Stripe("sk_test_x");
  const signed = (secret: string, ageSeconds: number): string => {
    const timestamp = Math.floor(fixture.clock.nowMs() / 1000) - ageSeconds;
    return webhooks.generateTestHeaderString({ payload, secret, timestamp });
  };
  for (const [answer, signature] of [
    ["done", signed("whsec_new", 0)],
    ["done", signed("whsec_old", 295)],
    ["bad_signature", signed("whsec_old", 305)],
    ["bad_signature", signed("whsec_other", 0)],
    ["bad_signature", "t=1,v1=00"],
    ["bad_signature", undefined],
  ] as const) {
    expect(await rotating.webhook({ body: Buffer.from(payload), signature })).toBe(answer);
  }
  await rotating.close();
});

describe("the page of the test checkout", () => {
  test("names the amount and the test money, and runs no script", async () => {
    const bought = await buyUndelivered();
    const answer = await fetch(bought.checkoutUrl);
    const html = await answer.text();
    expect(answer.status).toBe(200);
    for (const words of ["<strong>Test money:</strong>", "$20.00 USD", "Pay with test money"]) {
      expect(html).toContain(words);
    }
    expect(html).not.toContain("<script");
    const policy = answer.headers.get("content-security-policy");
    const home = new URL(bought.session.success_url).origin;
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; img-src 'self' data:; font-src 'self'; form-action 'self' /,
    );
    expect(policy).toContain(home);
    expect(policy).not.toContain("unsafe");
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  test("escapes HTML in the customer's email address", async () => {
    const email = '"><script>alert(1)</script>';
    const session = undelivered.checkout.book.createSession({ ...STRANGE_CHECKOUT, email });
    const html = await (await fetch(`${undelivered.checkout.url}/pay/${session.id}`)).text();
    expect(html).not.toContain("<script>");
    expect(html).toContain("&#60;script&#62;");
  });

  test("takes a payment once when it is submitted twice, and leads back to the console both times", async () => {
    const bought = await buyUndelivered();
    const { checkoutUrl, session } = bought;
    const { book, webhooks } = undelivered.checkout;
    for (const _ of [1, 2]) expect(await press(bought, "pay")).toBe(session.success_url);
    expect(webhooks.events.filter(({ data }) => data.object.id === session.id)).toHaveLength(1);
    expect(await (await fetch(checkoutUrl)).text()).toContain("This checkout is complete.");
    const charge = book.charges.get(paymentOf(undelivered, bought).latest_charge ?? "");
    expect(await (await fetch(charge?.receipt_url ?? "")).text()).toContain("$20.00 USD");
  });
});

test("a payment event that the gateway refused is sent again and credits the purchase once", async () => {
  const again = await openBillingFixture({ delivery: () => [0, 0] });
  const one = await again.buy(await again.newOrg(), 5);
  again.refuseEvents(2);
  again.checkout.book.pay(one.session);
  await again.checkout.webhooks.settled();
  expect(again.statuses).toEqual([500, 500, 200, 200]);
  expect((await again.purchase(one)).state).toBe("paid");
  expect(await again.balance(one.orgId)).toBe(5_000_000n);
  await again.close();
});
