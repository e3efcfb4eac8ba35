import { beforeEach, describe, expect, test, vi } from "vitest";
import { TopUpFault, type TopUpView } from "../../../src/account/billing/billing.ts";
import { StripeCards } from "../../../src/account/billing/stripe-cards.ts";
import { StripePayments } from "../../../src/account/billing/stripe-payments.ts";
import type { TopUps } from "../../../src/account/billing/stripe-top-ups.ts";
import type { TopUpRule } from "../../../src/account/billing/top-up-store.ts";
import type { OrgId } from "../../../src/kernel/core/ids.ts";
import type { CheckoutPayment } from "../../../src/dev/test-checkout/checkout-objects.ts";
import { microUsd } from "../../../src/kernel/core/money.ts";
import {
  MICRO_PER_USD,
  openBillingFixture,
  withBillingFixture,
  type BillingFixture,
  type Bought,
} from "../../support/billing-fixture.ts";
import { testOperator } from "../../support/test-operator.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const usd = (dollars: number): ReturnType<typeof microUsd> =>
  microUsd(BigInt(dollars) * MICRO_PER_USD);
/** When the balance falls below $10, buy $50; at most $200 a month. */
const RULE: TopUpRule = {
  isOn: true,
  belowMicroUsd: usd(10),
  amountMicroUsd: usd(50),
  monthMaxMicroUsd: usd(200),
};

const fixture = withBillingFixture();
let orgId: OrgId;

function topUpsOf({ billings }: BillingFixture): TopUps {
  const [{ topUps }] = billings;
  if (topUps === undefined) throw new Error("automatic top-up is off");
  return topUps;
}

async function saveCard(of: BillingFixture, org: OrgId, last4 = "4242"): Promise<void> {
  const { checkoutUrl } = await topUpsOf(of).openCardCheckout(org);
  const body = new URLSearchParams({ card: last4 });
  const answer = await fetch(`${checkoutUrl}/pay`, { method: "POST", body, redirect: "manual" });
  const page = new RegExp(`/billing\\?card=saved&org=${org}$`);
  expect(answer.headers.get("location")).toMatch(page);
  await of.checkout.webhooks.settled();
}

async function orgWithRule(of: BillingFixture, rule = RULE, last4 = "4242"): Promise<OrgId> {
  const org = await of.newOrg();
  await saveCard(of, org, last4);
  await topUpsOf(of).setRule(org, rule, testOperator);
  return org;
}

/** Decides a purchase that is due, without sending its charge. */
async function decide({ backend, clock }: BillingFixture, purchaseId: string) {
  const nowMs = clock.nowMs();
  const times = { nowMs, monthMs: nowMs - MINUTE_MS, expiresAtMs: nowMs + DAY_MS };
  const bounds = { minMicroUsd: usd(5), maxMicroUsd: usd(100) };
  const wanted = { orgId, purchaseId, isTestMoney: true, ...times, ...bounds };
  const charge = await backend.topUpStore.begin(wanted, testOperator);
  if (charge === undefined) throw new Error("nothing was due");
  return charge;
}

async function rounds(of: BillingFixture): Promise<void> {
  await Promise.all(of.billings.map((billing) => billing.topUpRound()));
  await of.checkout.webhooks.settled();
}

const view = (): Promise<TopUpView> => topUpsOf(fixture).read(orgId);
const balance = async (): Promise<bigint> => (await fixture.balance(orgId)) / MICRO_PER_USD;
const charges = (): number => {
  const payments = [...fixture.checkout.book.payments.values()];
  return payments.filter((each) => each.metadata["org_id"] === orgId).length;
};

/** Raises the threshold to $1,000, so that a purchase is due as if the balance were spent. */
async function spend(): Promise<void> {
  const sql = "update top_up_rule set below = 1000000000 where org_id = $1";
  await fixture.backend.query(sql, [orgId]);
}

beforeEach(() => {
  fixture.checkout.chargeFaults.length = 0;
});

describe("a card", () => {
  test("is saved without a payment, and shown by brand, last digits and expiry", async () => {
    orgId = await fixture.newOrg();
    expect(await view()).toMatchObject({ card: undefined, isCardPending: false });
    await topUpsOf(fixture).openCardCheckout(orgId);
    expect(await view()).toMatchObject({ card: undefined, isCardPending: true });
    await saveCard(fixture, orgId);
    const { card, isCardPending } = await view();
    expect(card).toMatchObject({ brand: "visa", last4: "4242", expMonth: 12 });
    expect(isCardPending).toBe(false);
    expect(charges()).toBe(0);
  });

  test("is saved only with a purchase that asked for it", async () => {
    orgId = await fixture.newOrg();
    for (const savesCard of [false, true]) {
      const wanted = { orgId, amountMicroUsd: usd(20), email: "o@example.com", savesCard };
      const { checkoutUrl } = await fixture.billings[0].startPurchase(wanted, testOperator);
      await fetch(`${checkoutUrl}/pay`, { method: "POST", redirect: "manual" });
      await fixture.checkout.webhooks.settled();
      expect((await view()).card?.last4).toBe(savesCard ? "4242" : undefined);
    }
    expect(await balance()).toBe(40n);
  });

  test("that is added twice at once belongs to one customer at the payment provider", async () => {
    orgId = await fixture.newOrg();
    const { customers } = fixture.checkout.book;
    const before = customers.size;
    await Promise.all(
      fixture.billings.map(async ({ topUps }) => await topUps?.openCardCheckout(orgId)),
    );
    await topUpsOf(fixture).openCardCheckout(orgId);
    expect(customers.size - before).toBe(1);
  });

  test("is saved with a new customer, and buys nothing, when the payment provider forgot the old one", async () => {
    orgId = await orgWithRule(fixture);
    fixture.checkout.book.customers.clear();
    await saveCard(fixture, orgId, "4242");
    expect(await view()).toMatchObject({ card: { last4: "4242" }, rule: { isOn: false } });
    await rounds(fixture);
    expect(charges()).toBe(0);
  });

  test("that was removed is detached, turns the rule off, and is not restored by a repeated event", async () => {
    orgId = await orgWithRule(fixture);
    const [card] = [...fixture.checkout.book.cards.values()].slice(-1);
    expect(await topUpsOf(fixture).removeCard(orgId, testOperator)).toBe(true);
    expect(await topUpsOf(fixture).removeCard(orgId, testOperator)).toBe(false);
    expect(card?.customer).toBeNull();
    const [event] = fixture.checkout.webhooks.events.slice(-1);
    await fixture.backend.query("delete from payment_event");
    await fixture.checkout.webhooks.send(event?.id ?? "");
    const rule = { isOn: false };
    expect(await view()).toMatchObject({ card: undefined, rule, pause: undefined });
    await rounds(fixture);
    expect(charges()).toBe(0);
    await expect(topUpsOf(fixture).setRule(orgId, RULE, testOperator)).rejects.toThrow(TopUpFault);
  });

  test("that replaces an old card is charged, and the old card is detached", async () => {
    orgId = await orgWithRule(fixture, RULE, "0341");
    fixture.clock.moveOn(MINUTE_MS);
    const [old] = [...fixture.checkout.book.cards.values()].slice(-1);
    await saveCard(fixture, orgId);
    await rounds(fixture);
    expect(old?.customer).toBeNull();
    expect(await balance()).toBe(50n);
  });
});

describe("a rule of automatic top-up", () => {
  test.each([
    ["a threshold of zero", { belowMicroUsd: microUsd(0n) }, "below_usd"],
    ["an amount above the maximum of a purchase", { amountMicroUsd: usd(5_001) }, "amount_usd"],
    ["a fraction of a cent", { amountMicroUsd: microUsd(50_000_001n) }, "amount_usd"],
    ["a monthly ceiling below one purchase", { monthMaxMicroUsd: usd(49) }, "month_max_usd"],
  ])("with %s is refused", async (_what, change, field) => {
    orgId = await fixture.newOrg();
    const rule = { ...RULE, isOn: false, ...change };
    const setting = topUpsOf(fixture).setRule(orgId, rule, testOperator);
    await expect(setting).rejects.toMatchObject({ name: "TopUpFault", field });
    expect((await view()).rule).toBeUndefined();
  });

  test("can be turned off, but not on, when the operator no longer allows its amount", async () => {
    orgId = await orgWithRule(fixture);
    await fixture.backend.query("update top_up_rule set amount = 10000 where org_id = $1", [orgId]);
    const { rule } = await view();
    if (rule === undefined) throw new Error("the rule is gone");
    const setRule = (isOn: boolean): Promise<void> =>
      topUpsOf(fixture).setRule(orgId, { ...rule, isOn }, testOperator);
    await expect(setRule(true)).rejects.toMatchObject({ field: "amount_usd" });
    await setRule(false);
    expect((await view()).rule).toEqual({ ...rule, isOn: false });
  });

  test("buys once below its threshold, even with several instances, and not above it", async () => {
    orgId = await orgWithRule(fixture);
    await Promise.all([rounds(fixture), rounds(fixture)]);
    expect(await balance()).toBe(50n);
    const purchases = await fixture.backend.purchaseStore.list(orgId);
    expect(purchases).toMatchObject([{ isAutomatic: true, state: "paid" }]);
    expect(purchases[0]?.receiptUrl).toMatch(/receipt/);
    fixture.clock.moveOn(DAY_MS);
    await rounds(fixture);
    expect(charges()).toBe(1);
    expect((await view()).hasOpenPurchase).toBe(false);
  });

  test("waits five minutes between purchases, and stops at its monthly ceiling", async () => {
    orgId = await orgWithRule(fixture);
    await spend();
    await rounds(fixture);
    await rounds(fixture);
    expect(charges()).toBe(1);
    // Starts in the middle of a month, so that the following minutes stay in it.
    const now = new Date(fixture.clock.nowMs());
    const middleMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 15) - now.getTime();
    fixture.clock.moveOn(middleMs);
    for (let turn = 0; turn < 6; turn += 1) {
      fixture.clock.moveOn(6 * MINUTE_MS);
      await rounds(fixture);
    }
    expect(charges()).toBe(5);
    expect((await view()).monthMicroUsd).toBe(usd(200));
    fixture.clock.moveOn(30 * DAY_MS);
    await rounds(fixture);
    expect(charges()).toBe(6);
  });

  test("neither waits for nor counts a purchase with test money once money is real", async () => {
    orgId = await orgWithRule(fixture);
    const { purchaseId } = await decide(fixture, "pur_apart");
    expect(await view()).toMatchObject({ hasOpenPurchase: true, monthMicroUsd: usd(50) });
    const other = "update purchase set is_test_money = false where purchase_id = $1";
    await fixture.backend.query(other, [purchaseId]);
    expect(await view()).toMatchObject({ hasOpenPurchase: false, monthMicroUsd: 0n });
  });

  test("counts a pending purchase against its ceiling", async () => {
    orgId = await orgWithRule(fixture, { ...RULE, monthMaxMicroUsd: usd(99) });
    fixture.checkout.chargeFaults.push("lost_before", "lost_before");
    await fixture.billings[0].topUpRound();
    expect(await view()).toMatchObject({ monthMicroUsd: usd(50), hasOpenPurchase: true });
  });
});

test.each([
  ["its charge", async () => void (await decide(fixture, "pur_ahead"))],
  ["the next one", async () => await spend().then(() => rounds(fixture))],
])(
  "a top-up that a host with a clock a day ahead started does not hold up %s",
  async (_, start) => {
    orgId = await orgWithRule(fixture);
    fixture.clock.moveOn(DAY_MS);
    await start();
    const before = charges();
    fixture.clock.moveOn(-DAY_MS + MINUTE_MS);
    await rounds(fixture);
    expect(charges()).toBe(before + 1);
  },
);

describe("a charge that fails", () => {
  test.each([
    ["0341", "card_declined"],
    ["3184", "authentication_required"],
  ])("with card %s pauses the rule until a person turns it on: %s", async (last4, reason) => {
    orgId = await orgWithRule(fixture, RULE, last4);
    await rounds(fixture);
    expect(await view()).toMatchObject({ rule: { isOn: false }, pause: { reason } });
    expect(await fixture.billings[0].topUpPause(orgId)).toMatchObject({ reason });
    fixture.clock.moveOn(DAY_MS);
    await rounds(fixture);
    await fixture.billings[0].reconcileAll();
    expect(charges()).toBe(1);
    expect(await balance()).toBe(0n);
    await saveCard(fixture, orgId);
    await rounds(fixture);
    expect(charges()).toBe(1);
    await topUpsOf(fixture).setRule(orgId, RULE, testOperator);
    await rounds(fixture);
    expect(await view()).toMatchObject({ rule: { isOn: true }, pause: undefined });
    expect(await balance()).toBe(50n);
  });

  test.each(["lost_before", "lost_after"] as const)(
    "without an answer (%s) is retried under the same key, charges once, and leaves the rule on",
    async (fault) => {
      orgId = await orgWithRule(fixture);
      // The payment client itself retries once, so the fault is scripted twice.
      fixture.checkout.chargeFaults.push(fault, fault);
      await fixture.billings[0].topUpRound();
      await fixture.checkout.webhooks.settled();
      fixture.clock.moveOn(MINUTE_MS);
      await rounds(fixture);
      await rounds(fixture);
      expect(charges()).toBe(1);
      expect(await balance()).toBe(50n);
      expect(await view()).toMatchObject({ rule: { isOn: true }, hasOpenPurchase: false });
    },
  );
});

describe("a top-up without payment events", () => {
  const deaf = withBillingFixture({ delivery: () => [] });

  /** Without events, the saved card is found when the organization looks at its top-up. */
  async function deafOrgWithRule(): Promise<void> {
    orgId = await deaf.newOrg();
    await saveCard(deaf, orgId);
    await topUpsOf(deaf).read(orgId);
    await topUpsOf(deaf).setRule(orgId, RULE, testOperator);
  }

  async function turnOff(): Promise<void> {
    await topUpsOf(deaf).setRule(orgId, { ...RULE, isOn: false }, testOperator);
  }

  const expire = (id: string) => deaf.backend.purchaseStore.decide(id, "expired");

  test("is completed by another process when its process died before the charge", async () => {
    await deafOrgWithRule();
    await decide(deaf, "pur_dead");
    await rounds(deaf);
    expect(deaf.checkout.book.payments.size).toBe(0);
    deaf.clock.moveOn(MINUTE_MS);
    await rounds(deaf);
    expect((await deaf.balance(orgId)) / MICRO_PER_USD).toBe(50n);
    const metadata = { purchase_id: "pur_dead" };
    expect([...deaf.checkout.book.payments.values()]).toMatchObject([{ metadata }]);
    expect(await deaf.broken()).toEqual([]);
  });

  test("finds the card that a paid checkout saved, although it could not be read at the payment", async () => {
    orgId = await deaf.newOrg();
    const [billing] = deaf.billings;
    const wanted = { orgId, amountMicroUsd: usd(20), email: "o@example.com", savesCard: true };
    const { purchase, checkoutUrl } = await billing.startPurchase(wanted, testOperator);
    await fetch(`${checkoutUrl}/pay`, { method: "POST", redirect: "manual" });
    const asked = vi.spyOn(StripeCards.prototype, "cardOf");
    asked.mockRejectedValueOnce(new Error("no answer"));
    const paid = await billing.checkPurchase(orgId, purchase.purchaseId);
    asked.mockRestore();
    expect(paid?.state).toBe("paid");
    const { card, isCardPending } = await topUpsOf(deaf).read(orgId);
    expect([card?.last4, isCardPending]).toEqual(["4242", false]);
  });

  test("is not charged after its rule was turned off, and its purchase expires", async () => {
    await deafOrgWithRule();
    deaf.checkout.chargeFaults.push("lost_before", "lost_before");
    await deaf.billings[0].topUpRound();
    await turnOff();
    const payments = deaf.checkout.book.payments.size;
    for (const _ of [1, 2, 3]) {
      deaf.clock.moveOn(6 * MINUTE_MS);
      await rounds(deaf);
    }
    expect(deaf.checkout.book.payments.size).toBe(payments);
    expect(await deaf.backend.purchaseStore.list(orgId)).toMatchObject([{ state: "expired" }]);
  });

  test.each<[string, string, () => Promise<unknown>]>([
    ["its rule is turned off", "pur_off", turnOff],
    ["its purchase ends", "pur_ended", () => expire("pur_ended")],
  ])(
    "is not charged if %s while the payment provider is asked for the charge",
    async (_what, purchaseId, act) => {
      await deafOrgWithRule();
      await decide(deaf, purchaseId);
      deaf.clock.moveOn(MINUTE_MS);
      const payments = deaf.checkout.book.payments.size;
      const asked = vi.spyOn(StripeCards.prototype, "findCharge");
      asked.mockImplementationOnce(async () => {
        await act();
        return undefined;
      });
      await deaf.billings[0].topUpRound();
      expect(asked).toHaveBeenCalledOnce();
      asked.mockRestore();
      await turnOff();
      deaf.clock.moveOn(10 * MINUTE_MS);
      await deaf.billings[0].topUpRound();
      expect(deaf.checkout.book.payments.size).toBe(payments);
      expect(await deaf.backend.purchaseStore.list(orgId)).toMatchObject([{ state: "expired" }]);
    },
  );
});

/** A client of the payment provider, as in another process. */
function openPayments(secretKey: () => string): StripePayments {
  const account = { secretKey, webhookSecrets: () => [], apiUrl: fixture.checkout.url };
  return new StripePayments(account, fixture.clock);
}

test("a top-up that three processes send to the payment provider at once is charged once", async () => {
  orgId = await orgWithRule(fixture);
  const charge = await decide(fixture, "pur_twice");
  const clients = [1, 2, 3].map(() => openPayments(() => fixture.checkout.secretKey));
  const answers = await Promise.all(clients.map(({ cards }) => cards.charge(charge)));
  for (const client of clients) client.close();
  expect(answers.map(({ kind }) => kind)).toEqual(["charge", "charge", "charge"]);
  expect(charges()).toBe(1);
});

test("a payment key that is replaced while the program runs is used by the next request", async () => {
  let key = "sk_test_replaced";
  const payments = openPayments(() => key);
  await expect(payments.session("cs_none")).rejects.toThrow();
  key = fixture.checkout.secretKey;
  expect(await payments.session("cs_none")).toBeUndefined();
  payments.close();
});

const PAUSED_BY_RETURN = { rule: { isOn: false }, pause: { reason: "payment_returned" } };

test.each(["refund", "dispute"] as const)(
  "a %s takes back an automatic purchase's credit, and nothing is charged again until a person turns the rule on",
  async (kind) => {
    orgId = await orgWithRule(fixture);
    await rounds(fixture);
    const payment = [...fixture.checkout.book.payments.values()].at(-1);
    if (payment !== undefined) fixture.checkout.book[kind](payment, 5_000);
    await fixture.checkout.webhooks.settled();
    expect(await balance()).toBe(0n);
    expect((await view()).monthMicroUsd).toBe(usd(50));
    fixture.clock.moveOn(6 * MINUTE_MS);
    await rounds(fixture);
    expect(charges()).toBe(1);
    expect(await view()).toMatchObject(PAUSED_BY_RETURN);
    await topUpsOf(fixture).setRule(orgId, RULE, testOperator);
    await rounds(fixture);
    expect(charges()).toBe(2);
    expect(await fixture.broken()).toEqual([]);
  },
);

/** A purchase of an organization with a rule that was paid in another currency. */
async function parkedPurchase(): Promise<{ bought: Bought; payment: CheckoutPayment }> {
  orgId = await orgWithRule(fixture);
  const bought = await fixture.buy(orgId, 20);
  const payment = fixture.checkout.book.pay(bought.session, { currency: "eur" });
  await fixture.checkout.webhooks.settled();
  expect((await fixture.purchase(bought)).state).toBe("parked");
  return { bought, payment };
}

test.each(["refund", "dispute"] as const)(
  "a %s of a parked purchase that an operator granted by hand pauses automatic top-up and is logged as an error",
  async (kind) => {
    const { bought, payment } = await parkedPurchase();
    const grant = { orgId, amountMicroUsd: usd(20), ref: bought.purchaseId };
    await fixture.backend.creditStore.grant({ ...grant, isTrial: false }, testOperator);
    const before = fixture.log.length;
    fixture.checkout.book[kind](payment, 2_000);
    await fixture.checkout.webhooks.settled();
    expect(await view()).toMatchObject(PAUSED_BY_RETURN);
    const detail = { purchaseId: bought.purchaseId, orgId };
    expect(fixture.log.slice(before)).toMatchObject([{ level: "error", detail }]);
    expect(await balance()).toBe(20n);
    expect(await fixture.broken()).toEqual([]);
  },
);

test("the refund of a parked purchase, which credited nothing, leaves automatic top-up on", async () => {
  const { bought, payment } = await parkedPurchase();
  fixture.checkout.book.refund(payment);
  await fixture.checkout.webhooks.settled();
  const claims = "select count(*)::int as n from purchase_claim where purchase_id = $1";
  expect(await fixture.backend.query(claims, [bought.purchaseId])).toEqual([{ n: 1 }]);
  expect(await view()).toMatchObject({ rule: { isOn: true }, pause: undefined });
});

test.each([
  ["", [], 1],
  [", although a first run failed half-way,", [new Error("no")], 0],
] as const)(
  "a top-up charge that a restore lost is recovered once%s and counts against the month again",
  async (_, faults, purchases) => {
    const restored = await openBillingFixture();
    const { backend, checkout, clock, billings } = restored;
    const org = await orgWithRule(restored);
    await rounds(restored);
    await backend.query("set session_replication_role = replica");
    const lost = "top_up purchase receipt_series payment_event transfer transfer_ref";
    for (const table of lost.split(" ")) await backend.query(`delete from ${table}`);
    await backend.query("update account set debits = 0, credits = 0, owed = 0");
    await backend.query("update top_up_rule set is_on = false");
    await backend.query("set session_replication_role = origin");
    const sinceMs = clock.nowMs();
    for (const fault of faults) {
      vi.spyOn(backend.topUpStore, "recover").mockRejectedValueOnce(fault);
      expect((await billings[0].recover(sinceMs, testOperator)).failed).toHaveLength(1);
    }
    const found = await billings[0].recover(sinceMs, testOperator);
    expect(found).toMatchObject({ purchases, granted: 1, failed: [] });
    const again = await billings[0].recover(sinceMs, testOperator);
    expect(again).toMatchObject({ purchases: 0, granted: 0 });
    expect(await restored.balance(org)).toBe(50n * MICRO_PER_USD);
    const recovered = await backend.purchaseStore.list(org);
    expect(recovered).toMatchObject([{ isAutomatic: true, state: "paid" }]);
    expect((await topUpsOf(restored).read(org)).monthMicroUsd).toBe(usd(50));
    expect(checkout.book.payments.size).toBe(1);
    expect(await restored.broken()).toEqual([]);
    await restored.close();
  },
);

test("no automatic top-up starts while the books went back, nor after their reopening until a recovery of the payments succeeded", async () => {
  const restored = await openBillingFixture();
  const { backend, checkout, clock, billings } = restored;
  const org = await orgWithRule(restored);
  const startsNothing = async (): Promise<void> => {
    await rounds(restored);
    expect(checkout.book.payments.size).toBe(0);
  };
  await backend.query(
    "insert into books_alarm (instance_id, finding, restored_to) values ('one', '', now())",
  );
  await startsNothing();
  const closings = { openAttempts: "void", isNothingLost: false, closings: [] } as const;
  const books = await backend.reopenBooks({ reason: "lost", ...closings }, testOperator);
  await startsNothing();
  expect(await backend.topUpStore.recoveryDueSince()).toBe(books.restoredToMs);

  await restored.buy(org, 20);
  const found = vi.spyOn(backend.purchaseStore, "recover").mockRejectedValueOnce(new Error("no"));
  const failed = await billings[0].recover(clock.nowMs(), testOperator);
  expect(failed.failed).toHaveLength(1);
  found.mockRestore();
  await startsNothing();
  // This one begins too late: it does not read what was paid right after the restored time.
  await billings[0].recover(clock.nowMs() + 2 * DAY_MS, testOperator);
  await startsNothing();
  await billings[0].recover(clock.nowMs(), testOperator);
  await rounds(restored);
  expect(checkout.book.payments.size).toBe(1);
  await restored.close();
});

test("a reopening without customers of a payment provider leaves top-ups on for one that is added later", async () => {
  const restored = await openBillingFixture();
  const closings = { openAttempts: "void", isNothingLost: false, closings: [] } as const;
  await restored.backend.reopenBooks({ reason: "lost", ...closings }, testOperator);
  expect(await restored.backend.topUpStore.recoveryDueSince()).toBeUndefined();
  await restored.close();
});

test("top-ups that wait for a recovery of the payments are in the log once an hour, of several processes too", async () => {
  const { backend, log, clock } = fixture;
  const at = "2026-05-01T00:00:00.000Z";
  await backend.query("insert into billing_schedule values ('recovery', $1)", [at]);
  const command = `tokenmarket billing recover --since ${at}`;
  const line = { level: "warn", detail: { command }, message: expect.any(String) as string };
  const said = (): unknown[] =>
    log.filter(({ message }) => message.startsWith("no automatic top-up starts"));
  for (const pause of [0, MINUTE_MS, 59 * MINUTE_MS]) {
    clock.moveOn(pause);
    await rounds(fixture);
    expect(said()).toEqual(pause < 59 * MINUTE_MS ? [line] : [line, line]);
  }
  await backend.topUpStore.endRecovery(Date.parse(at));
  clock.moveOn(60 * MINUTE_MS);
  await rounds(fixture);
  expect(said()).toHaveLength(2);
});

test("automatic top-up that the operator paused charges nothing and names that reason", async () => {
  orgId = await orgWithRule(fixture);
  expect(await fixture.backend.topUpStore.pause(orgId, "operator", testOperator)).toBe(true);
  await rounds(fixture);
  expect(charges()).toBe(0);
  expect(await fixture.billings[0].topUpPause(orgId)).toMatchObject({ reason: "operator" });
});
