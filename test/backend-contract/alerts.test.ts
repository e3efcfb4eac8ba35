import { beforeEach, describe, expect, test } from "vitest";

import { ALERT_KINDS, type AlertKind } from "../../src/account/alerts/alert-kinds.ts";
import { openAlertDocuments } from "../../src/account/alerts/alert-documents.ts";
import type { AlertRules } from "../../src/account/alerts/alert-store.ts";
import { alertText } from "../../src/account/alerts/alert-text.ts";
import type { AlertWorker } from "../../src/account/alerts/alert-worker.ts";
import { createRecordId, type OrgId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import { openMailer } from "../../src/kernel/index.ts";
import { alertWorker, deliverOnce } from "../support/alert-worker.ts";
import { keyOf } from "../support/ledger-rows.ts";
import { startMailServer } from "../support/mail-server.ts";
import { withBackend, withOtherBackend } from "../support/postgres.ts";
import { testOperator, testSeller } from "../support/test-operator.ts";
import { withResource } from "../support/with-resource.ts";

const PASSWORD = "smtp-password-0123";

const backend = withBackend();
/** The same database, opened by another process. */
const other = withOtherBackend(backend);
const mail = withResource(
  () => startMailServer(PASSWORD),
  (server) => server.close(),
);

let orgId: OrgId;
let email: string;

beforeEach(async () => {
  const tables = "alert_rules, alert_crossing, alert_event, alert_delivery, alert_try";
  await backend.query(`truncate ${tables}`);
  email = `${createRecordId("acct")}@example.com`;
  const org = { name: "Ada & Co", email };
  ({ orgId } = await backend.accountStore.createOrg(org, testOperator));
});

async function setRules(rules: Partial<AlertRules>): Promise<void> {
  await backend.alertStore.changeRules(orgId, rules, testOperator);
}

async function setBalance(micro: bigint): Promise<void> {
  await backend.query(
    `insert into account (account_id, org_id, credits) values ('wallet:' || $1, $1, $2)
    on conflict (account_id) do update set credits = excluded.credits`,
    [orgId, micro],
  );
}

async function setSpend(micro: bigint): Promise<void> {
  await backend.query(
    `insert into spend (scope, id, month, settled)
    values ('org', $1, date_trunc('month', now() at time zone 'utc')::date, $2)
    on conflict (scope, id, month) do update set settled = excluded.settled`,
    [orgId, micro],
  );
}

async function settleOn(keyId: string, daysFromToday: number, micro: bigint): Promise<void> {
  await backend.query(
    `insert into spend_day (key_id, day, settled)
    values ($1, (now() at time zone 'utc')::date + $2::integer, $3)
    on conflict (key_id, day) do update set settled = excluded.settled`,
    [keyId, daysFromToday, micro],
  );
}

/** Buys credit as the first purchase or a later one; returns the purchase's id. */
async function buy(cents: bigint): Promise<string> {
  const purchaseId = createRecordId("pur");
  await backend.query(
    `insert into purchase (purchase_id, org_id, micro_usd, cents, is_test_money, created_at,
      expires_at) values ($1, $2, $3::bigint * 10000, $3, false, now(), now())`,
    [purchaseId, orgId, cents],
  );
  const paid = { purchaseId, paymentId: null, receiptUrl: null, seller: testSeller() };
  await backend.purchaseStore.grant(paid);
  return purchaseId;
}

/** Adds the account of the organization's owner; returns its id. */
async function join(isVerified: boolean): Promise<string> {
  const accountId = createRecordId("acct");
  await backend.query(
    `insert into console_account (account_id, org_id, email, email_norm, email_verified_at,
      created_at) values ($1, $2, $3, $3, case when $4 then now() end, now())`,
    [accountId, orgId, email, isVerified],
  );
  return accountId;
}

const notice = (): Promise<number> => backend.alertQueue.notice();

async function addAddress(address = email): Promise<string> {
  const destinationId = createRecordId("dst");
  const wanted = { destinationId, channel: "email", address, kinds: null } as const;
  expect(await backend.alertStore.addDestination(orgId, wanted, testOperator)).toMatchObject({
    destinationId,
  });
  return destinationId;
}

function worker(password = PASSWORD): AlertWorker {
  const mailer = openMailer({
    smtpHost: "127.0.0.1",
    smtpPort: mail.port,
    smtpSecurity: "none",
    smtpUser: "alerts",
    smtpPassword: password,
    smtpFrom: "Token Market <alerts@example.com>",
  });
  const documentOf = openAlertDocuments(backend, testSeller);
  return alertWorker({ from: backend, mailer, documentOf });
}

/** Returns the stored events, after a check that their facts have the documented example's keys. */
async function told(): Promise<readonly Record<string, unknown>[]> {
  const read = "select kind, facts from alert_event where org_id = $1 order by at";
  const events = await backend.query(read, [orgId]);
  for (const { kind, facts } of events) {
    const { example } = ALERT_KINDS[kind as AlertKind];
    expect(Object.keys(facts as object).toSorted()).toEqual(Object.keys(example).toSorted());
  }
  return events;
}

describe("a new organization", () => {
  const thresholdOf = async (): Promise<bigint | null> =>
    (await backend.alertStore.rules(orgId)).balanceBelowMicroUsd;

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
    expect(await thresholdOf()).toBe(5_000_000n);
    await buy(20_000n);
    expect(await thresholdOf()).toBe(40_000_000n);
    const grant = { orgId, amountMicroUsd: microUsd(500_000_000n), ref: createRecordId("pur") };
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
    await setRules({ balanceBelowMicroUsd: microUsd(7_000_000n) });
    await buy(20_000n);
    expect(await thresholdOf()).toBe(7_000_000n);
  });

  test("keeps the rules that were set before its owner signs in", async () => {
    await setRules({ hasPurchases: true });
    await join(true);
    expect(await backend.alertStore.rules(orgId)).toMatchObject({ hasRestrictions: false });
    expect(await backend.alertStore.destinations(orgId)).toEqual([]);
  });
});

describe("one event is made for", () => {
  test("a balance below its threshold, however many processes look at it", async () => {
    await setRules({ balanceBelowMicroUsd: microUsd(5_000_000n) });
    await setBalance(6_000_000n);
    // Holds do not make a balance low: the alert compares the balance before holds are subtracted.
    await backend.query("update account set reserved = 4000000 where org_id = $1", [orgId]);
    expect(await notice()).toBe(0);
    await setBalance(4_999_999n);
    await Promise.all([notice(), other.alertQueue.notice(), notice(), other.alertQueue.notice()]);
    await notice();
    const facts = { balance_usd: "4.999999", threshold_usd: "5.000000" };
    expect(await told()).toEqual([{ kind: "balance.low", facts }]);
  });

  test("a balance that hovers around its threshold, and another after it rose 10 percent above", async () => {
    await setRules({ balanceBelowMicroUsd: microUsd(5_000_000n) });
    const noticeAt = async (...balances: readonly bigint[]): Promise<void> => {
      for (const balance of balances) {
        await setBalance(balance);
        await notice();
      }
    };
    await noticeAt(4_900_000n, 5_100_000n, 4_800_000n, 5_499_999n, 4_700_000n);
    expect(await told()).toHaveLength(1);
    await noticeAt(5_500_000n, 1_000_000n);
    expect(await told()).toHaveLength(2);
  });

  test("each percentage of a cap, but only the higher one of two that are passed at once", async () => {
    await setRules({ capPercents: [50, 80, 100] });
    await backend.accountStore.setOrgCap(orgId, microUsd(10_000_000n), testOperator);
    for (const spend of [4_999_999n, 8_500_000n, 8_600_000n, 10_000_000n]) {
      await setSpend(spend);
      await notice();
    }
    const facts = { cap_usd: "10.000000" };
    expect(await told()).toEqual([
      { kind: "org_cap.reached", facts: { ...facts, percent: 80, spent_usd: "8.500000" } },
      { kind: "org_cap.reached", facts: { ...facts, percent: 100, spent_usd: "10.000000" } },
    ]);
  });

  test("a cap that is reached again after it was raised, and another in another month", async () => {
    await setRules({ capPercents: [80] });
    await backend.accountStore.setOrgCap(orgId, microUsd(10_000_000n), testOperator);
    await setSpend(9_000_000n);
    await notice();
    await backend.accountStore.setOrgCap(orgId, microUsd(20_000_000n), testOperator);
    await notice();
    await setSpend(16_000_000n);
    await notice();
    expect(await told()).toHaveLength(2);
    await backend.query("update alert_crossing set period = period - interval '1 month'");
    await notice();
    expect(await told()).toHaveLength(3);
  });

  test("each of a key's daily and weekly caps, with its period, and again on another day", async () => {
    await setRules({ capPercents: [80] });
    const keyId = await keyOf(backend, orgId);
    await backend.query(
      `update api_key set name = 'ci', cap_day_micro_usd = 10, cap_week_micro_usd = 100,
        cap_micro_usd = 1000 where key_id = $1`,
      [keyId],
    );
    // Spend of eight days ago is in another week on any day of the week, so no cap counts it.
    await settleOn(keyId, -8, 1_000n);
    for (const settled of [7n, 8n, 9n]) {
      await settleOn(keyId, 0, settled);
      await notice();
    }
    const key = { percent: 80, key_id: keyId, key_name: "ci" };
    const day = { ...key, period: "day", spent_usd: "0.000008", cap_usd: "0.000010" };
    expect(await told()).toEqual([{ kind: "key_cap.reached", facts: day }]);

    await settleOn(keyId, 0, 80n);
    await notice();
    const week = { ...key, period: "week", spent_usd: "0.000080", cap_usd: "0.000100" };
    expect(await told()).toEqual([
      { kind: "key_cap.reached", facts: day },
      { kind: "key_cap.reached", facts: week },
    ]);

    await backend.query("update alert_crossing set period = period - 1 where subject like '% day'");
    await notice();
    const [, , again] = await told();
    expect(again).toMatchObject({ facts: { period: "day" } });
    expect(await told()).toHaveLength(3);
  });

  test("a purchase that is granted after the rule was set", async () => {
    await buy(500n);
    await setRules({ hasPurchases: true });
    const facts = { purchase_id: await buy(500n), amount_usd: "5.000000" };
    await Promise.all([notice(), other.alertQueue.notice()]);
    await notice();
    expect(await told()).toEqual([{ kind: "purchase.granted", facts }]);
  });

  test("a restriction, without its reason", async () => {
    await setRules({ hasRestrictions: true });
    await backend.query(
      `insert into usage_hold (org_id, family, state, reason)
      values ($1, 'chat', 'restricted', 'secret threshold')`,
      [orgId],
    );
    await notice();
    await notice();
    const facts = { calls: "chat", until: null };
    expect(await told()).toEqual([{ kind: "requests.restricted", facts }]);
  });

  test("a provider that fails most calls of an hour, at most once a day", async () => {
    await setRules({ hasTrouble: true });
    const hour = `insert into listing_hour_sum (org_id, hour, provider_id, model_id, attempts,
      succeeded, failed, streamed, streamed_tokens, streamed_ms, first_byte_spans, first_byte_counts)
      values ($1, date_trunc('hour', now()), $2, 'm', $3, $3::bigint - $4, $4, 0, 0, 0, '{}', '{}')`;
    await backend.query(hour, [orgId, "broken", 60n, 41n]);
    await backend.query(hour, [orgId, "well", 60n, 20n]);
    await backend.query(hour, [orgId, "rare", 10n, 10n]);
    await notice();
    await notice();
    expect(await told()).toMatchObject([
      { kind: "provider.trouble", facts: { provider: "broken", attempts: 60, failed: 41 } },
    ]);
  });
});

describe("delivery by e-mail", () => {
  test("arrives at the address in plain text and as HTML, and is not sent again", async () => {
    await addAddress();
    await setRules({ balanceBelowMicroUsd: microUsd(5_000_000n) });
    await setBalance(1n);
    await notice();
    const before = mail.received.length;
    await Promise.all([deliverOnce(worker()), deliverOnce(worker())]);
    await deliverOnce(worker());
    expect(mail.received.length - before).toBe(1);
    const { to, source } = mail.received.at(-1) ?? { to: [], source: "" };
    expect(to).toEqual([email]);
    expect(source).toContain("text/plain");
    expect(source).toContain("Ada &#38; Co");
    expect(source).toContain("https://console.example/billing");
    const [line] = await backend.alertStore.log(orgId);
    expect(line).toMatchObject({ kind: "balance.low", state: "delivered", tries: 1 });
    expect(line?.lastAnswer).toMatch(/^250/);
  });

  test("is retried while the mail server fails, but not for a mailbox that does not exist", async () => {
    const destinationId = await addAddress();
    await backend.alertStore.sendTest(orgId, destinationId);
    const deliver = async (refuseWith?: number, password?: string): Promise<unknown> => {
      mail.refuseWith = refuseWith;
      await backend.query("update alert_delivery set next_at = now()");
      await deliverOnce(worker(password));
      expect(await deliverOnce(worker(password))).toBe(0);
      mail.refuseWith = undefined;
      return await backend.alertStore.log(orgId);
    };
    expect(await deliver(undefined, "wrong")).toMatchObject([{ state: "waiting", tries: 1 }]);
    expect(await deliver(451)).toMatchObject([{ state: "waiting", tries: 2 }]);
    expect(await backend.alertStore.destinations(orgId)).toMatchObject([
      { failingSinceMs: expect.any(Number) },
    ]);
    await deliver();
    const [line] = await backend.alertStore.log(orgId);
    expect(line).toMatchObject({ kind: "alerts.test", state: "delivered", tries: 3 });
    expect(mail.received.at(-1)?.source).toContain(`<${line?.eventId}.${destinationId}@`);
    expect(await backend.alertStore.destinations(orgId)).toMatchObject([{ failingSinceMs: null }]);
    await backend.alertStore.sendTest(orgId, destinationId);
    expect(await deliver(550)).toMatchObject([{ state: "failed", tries: 1 }, {}]);
  });

  test("disables a destination that failed for days, and reports that with an event", async () => {
    const destinationId = await addAddress();
    await backend.alertStore.sendTest(orgId, destinationId);
    await backend.query(
      "update alert_destination set failing_since = now() - interval '3 days' where org_id = $1",
      [orgId],
    );
    await backend.query("update alert_delivery set tries = 9");
    mail.refuseWith = 451;
    await deliverOnce(worker());
    mail.refuseWith = undefined;
    expect((await told()).at(-1)).toMatchObject({ kind: "destination.disabled" });
    expect(await backend.alertStore.destinations(orgId)).toMatchObject([
      { disabledAtMs: expect.any(Number) },
    ]);
    expect(await backend.alertStore.sendTest(orgId, destinationId)).toBeUndefined();
  });

  test("a stop link of a removed destination also stops mail to its address when that was added again", async () => {
    const removed = await addAddress();
    await backend.alertStore.sendTest(orgId, removed);
    const hash = Buffer.alloc(32, 7);
    await backend.query("update alert_delivery set stop_hash = $1", [hash]);
    await backend.alertStore.removeDestination(orgId, removed, testOperator);
    await backend.alertStore.sendTest(orgId, await addAddress());
    expect(await backend.alertStore.useLink(hash)).toMatchObject({ link: "stop" });
    expect(await deliverOnce(worker())).toBe(0);
    expect((await backend.alertStore.destinations(orgId))[0]).toMatchObject({
      disabledReason: "stopped",
    });
  });

  test("a removed destination gets no delivery, and is deleted with its deliveries 90 days later", async () => {
    const destinationId = await addAddress();
    const kept = await addAddress("kept@example.com");
    await backend.alertStore.sendTest(orgId, destinationId);
    await backend.alertStore.removeDestination(orgId, destinationId, testOperator);
    expect(await deliverOnce(worker())).toBe(0);
    const left = async (): Promise<unknown[]> => {
      const read = "select destination_id as id from alert_destination where org_id = $1";
      return (await backend.query(read, [orgId])).map(({ id }) => id);
    };
    const longAgo = "now() - interval '91 days'";
    await backend.query(`update alert_destination set created_at = ${longAgo}`);
    await backend.query(`update alert_destination set disabled_at = ${longAgo}
      where disabled_at is not null`);
    await notice();
    expect(await left()).toHaveLength(2);
    await backend.query(`update alert_event set at = ${longAgo}`);
    await notice();
    expect(await left()).toEqual([kept]);
  });
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
  const event = { eventId: "evt_1", orgId, orgName: "Acme", atMs: 0, facts };
  const kind = "balance.low";
  const { text } = alertText({ ...event, kind }, "https://c.example", "https://c.example/link");
  expect(text).toContain("$4.99, below your threshold of $5.00.");
});
