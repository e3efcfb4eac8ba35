import { expect, test } from "vitest";
import { changesOf } from "../support/change-writes.ts";
import { MICRO_PER_USD, paymentOf, withBillingFixture } from "../support/billing-fixture.ts";
import { tamper } from "../support/postgres.ts";
import { testOperator } from "../support/test-operator.ts";

const HOUR_MS = 3_600_000;

const fixture = withBillingFixture();

test("payments of the time lost in a restore are recovered once, and unknown organizations are reported", async () => {
  const { backend, checkout, clock, billings } = fixture;
  const [billing] = billings;
  // These checkouts begin 23 hours before the restored time; recovery looks up the last 24 hours.
  const sinceMs = clock.nowMs() + 23 * HOUR_MS;
  const orgId = await fixture.newOrg();
  const gone = await fixture.newOrg();
  const paid = await fixture.buy(orgId, 20);
  const refunded = await fixture.buy(orgId, 10);
  const open = await fixture.buy(orgId, 5);
  const ofGone = await fixture.buy(gone, 7);
  // This checkout is never paid, so nothing is owed for it.
  await fixture.buy(gone, 6);
  for (const { session } of [paid, refunded, ofGone]) checkout.book.pay(session);
  await expect.poll(() => fixture.balance(orgId)).toBe(30n * MICRO_PER_USD);
  checkout.book.refund(paymentOf(fixture, refunded), 400);
  await expect.poll(() => fixture.balance(orgId)).toBe(26n * MICRO_PER_USD);
  await expect.poll(() => fixture.balance(gone)).toBe(7n * MICRO_PER_USD);

  // Restores a time before all that, at which the second organization did not exist.
  for (const sql of [
    "delete from purchase_claim",
    "delete from purchase",
    "delete from receipt_series",
    "delete from payment_event",
    "delete from transfer",
    "delete from transfer_ref",
    "update account set debits = 0, credits = 0, owed = 0",
    "update org set funded_at = null, bought_at = null",
    `delete from account where org_id = '${gone}'`,
    `delete from org where org_id = '${gone}'`,
  ]) {
    await tamper(backend, sql);
  }

  const ids = { purchaseId: ofGone.purchaseId, sessionId: ofGone.session.id };
  const counts = { sessions: 5, purchases: 3, granted: 2, claims: 1 };
  expect(await billing.recover(sinceMs, testOperator)).toEqual({
    ...counts,
    unknownOrgs: [{ orgId: gone, ...ids, amountUsd: "7.000000" }],
    failed: [],
  });
  expect(await fixture.balance(orgId)).toBe(26n * MICRO_PER_USD);
  const recorded = await changesOf(backend, "purchase.recover");
  expect(recorded.map(({ target }) => target).toSorted()).toEqual(
    [paid, refunded, open].map(({ purchaseId }) => purchaseId).toSorted(),
  );
  expect(recorded[0]).toMatchObject({ orgId, by: testOperator, before: null });
  expect(await billing.recover(sinceMs, testOperator)).toMatchObject({ purchases: 0, granted: 0 });
  expect(await changesOf(backend, "purchase.recover")).toHaveLength(3);
  const later = await billing.recover(sinceMs + 2 * HOUR_MS, testOperator);
  expect(later).toMatchObject({ sessions: 0, claims: 0 });
  // An open purchase that is paid afterwards is credited as usual.
  checkout.book.pay(open.session);
  await expect.poll(() => fixture.balance(orgId)).toBe(31n * MICRO_PER_USD);
  expect(await fixture.broken()).toEqual([]);
});
