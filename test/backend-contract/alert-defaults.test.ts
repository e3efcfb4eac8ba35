import { beforeEach, describe, expect, test } from "vitest";

import { openAlertDocuments } from "../../src/account/alerts/alert-documents.ts";
import { alertText } from "../../src/account/alerts/alert-text.ts";
import { createRecordId, type OrgId } from "../../src/kernel/core/ids.ts";
import { withBackend } from "../support/postgres.ts";
import { testOperator, testSeller } from "../support/test-operator.ts";

const backend = withBackend();
let orgId: OrgId;
let email: string;

beforeEach(async () => {
  email = `${createRecordId("acct")}@example.com`;
  ({ orgId } = await backend.accountStore.createOrg({ name: "Acme", email }, testOperator));
});

async function join(isVerified: boolean): Promise<string> {
  const accountId = createRecordId("acct");
  await backend.query(
    `insert into console_account (account_id, org_id, email, email_norm, email_verified_at,
      created_at) values ($1, $2, $3, $3, case when $4 then now() end, now())`,
    [accountId, orgId, email, isVerified],
  );
  return accountId;
}

async function buy(cents: bigint): Promise<string> {
  const id = createRecordId("pur");
  await backend.query(
    `insert into purchase (purchase_id, org_id, micro_usd, cents, is_test_money, created_at,
      expires_at) values ($1, $2, $3::bigint * 10000, $3, false, now(), now())`,
    [id, orgId, cents],
  );
  const paid = { purchaseId: id, paymentId: null, receiptUrl: null, seller: testSeller() };
  await backend.purchaseStore.grant(paid);
  return id;
}

const below = async (): Promise<bigint | null> =>
  (await backend.alertStore.rules(orgId)).balanceBelowMicroUsd;

describe("a new organization", () => {
  test("gets the default alerts at its owner's address once the address is verified", async () => {
    const accountId = await join(false);
    expect(await backend.alertStore.destinations(orgId)).toEqual([]);
    await backend.query(
      "update console_account set email_verified_at = now() where account_id = $1",
      [accountId],
    );
    expect(await backend.alertStore.destinations(orgId)).toMatchObject([
      { channel: "email", address: email, kinds: null },
    ]);
    expect(await backend.alertStore.rules(orgId)).toEqual({
      balanceBelowMicroUsd: null,
      capPercents: [80, 100],
      hasPurchases: true,
      hasRestrictions: true,
      hasKeyExpiry: true,
      hasTrouble: true,
      isBalanceFollowing: true,
    });
  });

  test("is warned below a fifth of its last purchase, and always below five dollars", async () => {
    await join(true);
    await buy(1_000n);
    expect(await below()).toBe(5_000_000n);
    await buy(20_000n);
    expect(await below()).toBe(40_000_000n);
    const amountMicroUsd = 500_000_000n as never;
    const grant = { orgId, amountMicroUsd, ref: createRecordId("pur") };
    await backend.creditStore.grant(grant, testOperator);
    const changes = await backend.changeStore.list({ orgId, actionPrefix: "alert", limit: 9 });
    expect(changes.map(({ before, after }) => [before, after])).toEqual([
      [{ balance_below_usd: "40.000000" }, { balance_below_usd: "100.000000" }],
      [{ balance_below_usd: "5.000000" }, { balance_below_usd: "40.000000" }],
      [{ balance_below_usd: null }, { balance_below_usd: "5.000000" }],
    ]);
  });

  test("keeps a balance threshold that a person set, whatever it buys later", async () => {
    await join(true);
    const balanceBelowMicroUsd = 7_000_000n as never;
    await backend.alertStore.changeRules(orgId, { balanceBelowMicroUsd }, testOperator);
    await buy(20_000n);
    expect(await below()).toBe(7_000_000n);
  });

  test("keeps the rules that were set before its owner signs in", async () => {
    await backend.alertStore.changeRules(orgId, { hasPurchases: true }, testOperator);
    await join(true);
    expect(await backend.alertStore.rules(orgId)).toMatchObject({ hasRestrictions: false });
    expect(await backend.alertStore.destinations(orgId)).toEqual([]);
  });
});

test("a provider that fails most calls of an hour is reported once a day, and others are not", async () => {
  await join(true);
  const hour = `insert into listing_hour_sum (org_id, hour, provider_id, model_id, attempts,
    succeeded, failed, streamed, streamed_tokens, streamed_ms, first_byte_spans, first_byte_counts)
    values ($1, date_trunc('hour', now()), $2, 'm', $3, $3::bigint - $4, $4, 0, 0, 0, '{}', '{}')`;
  await backend.query(hour, [orgId, "broken", 60n, 41n]);
  await backend.query(hour, [orgId, "well", 60n, 20n]);
  await backend.query(hour, [orgId, "rare", 10n, 10n]);
  await backend.alertQueue.notice();
  await backend.alertQueue.notice();
  const told = await backend.query(
    "select facts from alert_event where org_id = $1 and kind = 'provider.trouble'",
    [orgId],
  );
  expect(told).toMatchObject([{ facts: { provider: "broken", attempts: 60, failed: 41 } }]);
});

test("the mail of a purchase has its receipt as a PDF file, and other mails have none", async () => {
  const documentOf = openAlertDocuments(backend, testSeller);
  const event = { eventId: "evt_1", orgId, orgName: "Acme", atMs: 0 };
  const facts = { purchase_id: await buy(1_000n), amount_usd: "10.000000" };
  const found = await documentOf({ ...event, kind: "purchase.granted", facts });
  expect(found?.filename).toMatch(/^receipt-r-\d{6}\.pdf$/);
  expect(found?.content.subarray(0, 5).toString()).toBe("%PDF-");
  expect(await documentOf({ ...event, kind: "alerts.test", facts: {} })).toBeUndefined();
});

test("a mail rounds a low balance down, so that it is never equal to its threshold", () => {
  const facts = { balance_usd: "4.999999", threshold_usd: "5.000000" };
  const event = { eventId: "evt_1", orgId, orgName: "Acme", atMs: 0 };
  const { text } = alertText(
    { ...event, kind: "balance.low", facts },
    "https://c.example",
    "https://c.example/alerts/link",
  );
  expect(text).toContain("$4.99, below your threshold of $5.00.");
});
