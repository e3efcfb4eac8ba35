import { beforeEach, describe, expect, test } from "vitest";

import { ALERT_KINDS, type AlertKind } from "../../src/account/alerts/alert-kinds.ts";
import type { AlertRules } from "../../src/account/alerts/alert-store.ts";
import { openAlertDocuments } from "../../src/account/alerts/alert-documents.ts";
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
const ADDRESS = "ada@example.com";

const backend = withBackend();
/** The same database, opened by another process. */
const other = withOtherBackend(backend);
const mail = withResource(
  () => startMailServer(PASSWORD),
  (server) => server.close(),
);

let orgId: OrgId;

beforeEach(async () => {
  const tables = "alert_rules, alert_crossing, alert_event, alert_delivery, alert_try";
  await backend.query(`truncate ${tables}`);
  const org = { name: "Ada & Co", email: ADDRESS };
  ({ orgId } = await backend.accountStore.createOrg(org, testOperator));
});

const NO_RULES: AlertRules = {
  balanceBelowMicroUsd: null,
  capPercents: [],
  hasPurchases: false,
  hasRestrictions: false,
  hasKeyExpiry: false,
  hasTrouble: false,
  isBalanceFollowing: false,
};

async function setRules(rules: Partial<AlertRules>): Promise<void> {
  await backend.alertStore.changeRules(orgId, { ...NO_RULES, ...rules }, testOperator);
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

async function addAddress(address = ADDRESS): Promise<string> {
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

describe("one event is made for", () => {
  test("a balance below its threshold, however many processes look at it", async () => {
    await setRules({ balanceBelowMicroUsd: microUsd(5_000_000n) });
    await setBalance(6_000_000n);
    // Holds do not make a balance low: the alert compares the balance before holds are subtracted.
    await backend.query("update account set reserved = 4000000 where org_id = $1", [orgId]);
    expect(await backend.alertQueue.notice()).toBe(0);
    await setBalance(4_999_999n);
    const both = [backend, other, backend, other].map(({ alertQueue }) => alertQueue.notice());
    await Promise.all(both);
    await backend.alertQueue.notice();
    const facts = { balance_usd: "4.999999", threshold_usd: "5.000000" };
    expect(await told()).toEqual([{ kind: "balance.low", facts }]);
  });

  test("a balance that hovers around its threshold, and another after it rose 10 percent above", async () => {
    await setRules({ balanceBelowMicroUsd: microUsd(5_000_000n) });
    for (const balance of [4_900_000n, 5_100_000n, 4_800_000n, 5_499_999n, 4_700_000n]) {
      await setBalance(balance);
      await backend.alertQueue.notice();
    }
    expect(await told()).toHaveLength(1);
    await setBalance(5_500_000n);
    await backend.alertQueue.notice();
    await setBalance(1_000_000n);
    await backend.alertQueue.notice();
    expect(await told()).toHaveLength(2);
  });

  test("each percentage of a cap, but only the higher one of two that are passed at once", async () => {
    await setRules({ capPercents: [50, 80, 100] });
    await backend.accountStore.setOrgCap(orgId, microUsd(10_000_000n), testOperator);
    for (const spend of [4_999_999n, 8_500_000n, 8_600_000n, 10_000_000n]) {
      await setSpend(spend);
      await backend.alertQueue.notice();
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
    await backend.alertQueue.notice();
    await backend.accountStore.setOrgCap(orgId, microUsd(20_000_000n), testOperator);
    await backend.alertQueue.notice();
    await setSpend(16_000_000n);
    await backend.alertQueue.notice();
    expect(await told()).toHaveLength(2);
    await backend.query("update alert_crossing set period = period - interval '1 month'");
    await backend.alertQueue.notice();
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
      await backend.alertQueue.notice();
    }
    const key = { percent: 80, key_id: keyId, key_name: "ci" };
    const day = { ...key, period: "day", spent_usd: "0.000008", cap_usd: "0.000010" };
    expect(await told()).toEqual([{ kind: "key_cap.reached", facts: day }]);

    await settleOn(keyId, 0, 80n);
    await backend.alertQueue.notice();
    const week = { ...key, period: "week", spent_usd: "0.000080", cap_usd: "0.000100" };
    expect(await told()).toEqual([
      { kind: "key_cap.reached", facts: day },
      { kind: "key_cap.reached", facts: week },
    ]);

    await backend.query("update alert_crossing set period = period - 1 where subject like '% day'");
    await backend.alertQueue.notice();
    expect(await told()).toHaveLength(3);
    expect((await told())[2]).toMatchObject({ facts: { period: "day" } });
  });

  test("a purchase that is granted after the rule was set", async () => {
    const insert = `insert into purchase (purchase_id, org_id, micro_usd, cents, is_test_money,
      created_at, expires_at)
      values ($1, $2, 5000000, 500, false, now(), now())`;
    const buy = async (id: string): Promise<void> => {
      await backend.query(insert, [id, orgId]);
      await backend.query("select grant_purchase($1, null, null)", [id]);
    };
    await buy(createRecordId("pur"));
    await setRules({ hasPurchases: true });
    const purchaseId = createRecordId("pur");
    await buy(purchaseId);
    await Promise.all([backend.alertQueue.notice(), other.alertQueue.notice()]);
    await backend.alertQueue.notice();
    const facts = { purchase_id: purchaseId, amount_usd: "5.000000" };
    expect(await told()).toEqual([{ kind: "purchase.granted", facts }]);
  });

  test("a restriction, without its reason", async () => {
    await setRules({ hasRestrictions: true });
    await backend.query(
      `insert into usage_hold (org_id, family, state, reason)
      values ($1, 'chat', 'restricted', 'secret threshold')`,
      [orgId],
    );
    await backend.alertQueue.notice();
    await backend.alertQueue.notice();
    const facts = { calls: "chat", until: null };
    expect(await told()).toEqual([{ kind: "requests.restricted", facts }]);
  });
});

describe("delivery by e-mail", () => {
  test("arrives at the address in plain text and as HTML, and is not sent again", async () => {
    await addAddress();
    await setRules({ balanceBelowMicroUsd: microUsd(5_000_000n) });
    await setBalance(1n);
    await backend.alertQueue.notice();
    const before = mail.received.length;
    const [one, two] = [worker(), worker()];
    await Promise.all([one.deliverDue(), two.deliverDue()]);
    await one.deliverDue();
    await Promise.all([one.close(), two.close()]);
    expect(mail.received.length - before).toBe(1);
    const { to, source } = mail.received.at(-1) ?? { to: [], source: "" };
    expect(to).toEqual([ADDRESS]);
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
    const deliver = async (refuseWith?: number, password?: string): Promise<number> => {
      mail.refuseWith = refuseWith;
      await backend.query("update alert_delivery set next_at = now()");
      const sender = worker(password);
      const tried = await sender.deliverDue();
      expect(await sender.deliverDue()).toBe(0);
      await sender.close();
      mail.refuseWith = undefined;
      return tried;
    };
    const waiting = (tries: number): object[] => [{ state: "waiting", tries }];
    await deliver(undefined, "wrong");
    expect(await backend.alertStore.log(orgId)).toMatchObject(waiting(1));
    await deliver(451);
    expect(await backend.alertStore.log(orgId)).toMatchObject(waiting(2));
    expect(await backend.alertStore.destinations(orgId)).toMatchObject([
      { failingSinceMs: expect.any(Number) },
    ]);
    await deliver();
    const [line] = await backend.alertStore.log(orgId);
    expect(line).toMatchObject({ kind: "alerts.test", state: "delivered", tries: 3 });
    expect(mail.received.at(-1)?.source).toContain(`<${line?.eventId}.${destinationId}@`);
    expect(await backend.alertStore.destinations(orgId)).toMatchObject([{ failingSinceMs: null }]);
    await backend.alertStore.sendTest(orgId, destinationId);
    await deliver(550);
    expect((await backend.alertStore.log(orgId))[0]).toMatchObject({ state: "failed", tries: 1 });
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
      const read =
        "select destination_id as id from alert_destination where org_id = $1 order by 1";
      return (await backend.query(read, [orgId])).map(({ id }) => id);
    };
    const longAgo = "now() - interval '91 days'";
    await backend.query(`update alert_destination set created_at = ${longAgo}`);
    await backend.query(`update alert_destination set disabled_at = ${longAgo}
      where disabled_at is not null`);
    await backend.alertQueue.notice();
    expect(await left()).toHaveLength(2);
    await backend.query(`update alert_event set at = ${longAgo}`);
    await backend.alertQueue.notice();
    expect(await left()).toEqual([kept]);
  });
});
