import { Webhook } from "standardwebhooks";
import { beforeEach, describe, expect, test } from "vitest";

import {
  countSealedBy,
  openKeyVault,
  resealRows,
  type KeyVault,
} from "../../src/gateway/accounts/key-vault.ts";
import { ALERT_KINDS, type AlertKind, reportEvent } from "../../src/account/alerts/alert-kinds.ts";
import type { AlertDestination } from "../../src/account/alerts/alert-store.ts";
import type { AlertWorker } from "../../src/account/alerts/alert-worker.ts";
import { createWebhookSecret, sealSecret } from "../../src/account/alerts/webhook-secrets.ts";
import { sealedTables } from "../../src/app/open-key-vault.ts";
import { createRecordId, type OrgId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import { addKey } from "../support/add-key.ts";
import { alertWorker, deliverOnce, type Delivering } from "../support/alert-worker.ts";
import { until } from "../support/books.ts";
import { nameServer } from "../support/name-server.ts";
import { withBackend, withOtherBackend } from "../support/postgres.ts";
import { testOperator } from "../support/test-operator.ts";
import { type ReceivedWebhook, startWebhookReceiver } from "../support/webhook-receiver.ts";
import { withResource } from "../support/with-resource.ts";

const FIRST_KEY = Buffer.alloc(32, 7).toString("base64");
const SECOND_KEY = Buffer.alloc(32, 8).toString("base64");

const backend = withBackend();
/** The same database, opened by another process. */
const other = withOtherBackend(backend);
const receiver = withResource(
  () => startWebhookReceiver(),
  (server) => server.close(),
);
const vault = vaultOf(FIRST_KEY);

let orgId: OrgId;
let path: string;

beforeEach(async () => {
  const tables = "alert_rules, alert_crossing, alert_event, alert_delivery, alert_try";
  await backend.query(`truncate ${tables}`);
  await backend.query("delete from alert_destination");
  orgId = await newOrg();
  path = `/${createRecordId("path")}`;
});

function vaultOf(keys: string): KeyVault {
  const opened = openKeyVault(keys);
  if (opened === undefined) throw new Error("there is a key");
  return opened;
}

async function newOrg(): Promise<OrgId> {
  const org = { name: "Ada & Co", email: "ada@example.com" };
  return (await backend.accountStore.createOrg(org, testOperator)).orgId;
}

async function addWebhook({
  org = orgId,
  address = receiver.url + path,
  kinds = null as readonly string[] | null,
} = {}) {
  const destinationId = createRecordId("dst");
  const secret = createWebhookSecret();
  const sealedSecret = sealSecret(vault, secret, { destinationId, orgId: org });
  const wanted = { destinationId, channel: "webhook", address, kinds, sealedSecret } as const;
  const added = await backend.alertStore.addDestination(org, wanted, testOperator);
  expect(added).toMatchObject({ destinationId, disabledAtMs: null });
  return { destinationId, secret };
}

function worker(how: Partial<Delivering> = {}): AlertWorker {
  return alertWorker({ from: backend, ring: vault, ...how });
}

const deliver = (how?: Partial<Delivering>): Promise<number> => deliverOnce(worker(how));

async function makeDue(): Promise<void> {
  await backend.query("update alert_delivery set next_at = now() where state = 'waiting'");
}

function verified({ body, headers }: ReceivedWebhook, secret: string): unknown {
  return new Webhook(secret).verify(body, headers as Record<string, string>);
}

async function onlyDestination(): Promise<AlertDestination | undefined> {
  return (await backend.alertStore.destinations(orgId))[0];
}

async function states(): Promise<readonly unknown[]> {
  const log = await backend.alertStore.log(orgId);
  return log.map(({ kind, state, tries, lastAnswer }) => [kind, state, tries, lastAnswer]);
}

async function report(kind: "balance.low" | "org_cap.reached", once?: string): Promise<boolean> {
  const facts = { balance_usd: "4.000000" };
  const query = async (sql: string, values: unknown[]) => ({
    rows: await backend.query(sql, values),
  });
  const event = { orgId, kind, facts, ...(once === undefined ? {} : { once }) };
  return await reportEvent({ query: query as never }, event);
}

async function rotate(destinationId: string): Promise<string> {
  const next = createWebhookSecret();
  const sealed = sealSecret(vault, next, { destinationId, orgId });
  await backend.alertStore.rotateSecret(orgId, destinationId, sealed, testOperator);
  return next;
}

async function setEnabled(destinationId: string, isEnabled: boolean): Promise<unknown> {
  const change = { isEnabled };
  return await backend.alertStore.changeDestination(orgId, destinationId, change, testOperator);
}

const sendTest = (destinationId: string): Promise<string | false | undefined> =>
  backend.alertStore.sendTest(orgId, destinationId);

describe("a delivery", () => {
  test("passes verification by the official library, and sends its event once", async () => {
    const { secret } = await addWebhook();
    const rule = { balanceBelowMicroUsd: microUsd(5_000_000n) };
    await backend.alertStore.changeRules(orgId, rule, testOperator);
    await backend.alertQueue.notice();
    await Promise.all([deliver(), deliver({ from: other })]);
    await deliver();
    const [got, ...more] = receiver.at(path);
    expect(more).toEqual([]);
    expect(got).toMatchObject({ method: "POST", headers: { "content-type": "application/json" } });
    const [line] = await backend.alertStore.log(orgId);
    expect(got?.headers["webhook-id"]).toBe(line?.eventId);
    expect(verified(got as ReceivedWebhook, secret)).toEqual({
      type: "balance.low",
      timestamp: new Date(line?.atMs ?? 0).toISOString(),
      data: { org_id: orgId, balance_usd: "0.000000", threshold_usd: "5.000000" },
    });
    expect(await states()).toEqual([["balance.low", "delivered", 1, "status 204"]]);
  });

  test("is retried after a redirect or a 500 with the same id and body, and follows no redirect", async () => {
    const { destinationId, secret } = await addWebhook();
    await sendTest(destinationId);
    receiver.answer(path, (response) => {
      response.writeHead(302, { location: `${receiver.url}${path}/moved` }).end();
    });
    await deliver();
    const redirected = "status 302: redirects are not followed";
    expect(await states()).toEqual([["alerts.test", "waiting", 1, redirected]]);
    expect(await deliver()).toBe(0);
    receiver.answer(path, (response) => response.writeHead(500).end("a word of theirs"));
    await makeDue();
    await deliver();
    expect(await states()).toEqual([["alerts.test", "waiting", 2, "status 500"]]);
    receiver.answer(path, (response) => response.writeHead(200).end());
    await makeDue();
    await deliver();
    expect(await states()).toEqual([["alerts.test", "delivered", 3, "status 200"]]);
    const sent = receiver.at(path);
    expect(new Set(sent.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    expect(new Set(sent.map(({ body }) => body)).size).toBe(1);
    for (const each of sent) verified(each, secret);
    expect(sent).toHaveLength(3);
    expect(receiver.at(`${path}/moved`)).toEqual([]);
  });

  test.each([
    ["an address of this machine", () => `${receiver.url}${path}`],
    ["a name that has a private address", () => receiver.url.replace("127.0.0.1", "hooks.example")],
  ])("is never sent to %s, even if that address is stored", async (_what, address) => {
    const { destinationId } = await addWebhook({ address: address() });
    await sendTest(destinationId);
    const before = receiver.received.length;
    const { address: server } = await nameServer("127.0.0.1");
    await deliver({ allowPrivate: false, nameServers: [server] });
    expect(receiver.received.length).toBe(before);
    const [line] = await states();
    expect(line).toEqual(["alerts.test", "waiting", 1, "not sent: the address is private"]);
  });

  test("that is answered with 410 disables its destination at once, and reports that with an event", async () => {
    const { destinationId } = await addWebhook();
    receiver.answer(path, (response) => response.writeHead(410).end());
    await sendTest(destinationId);
    await sendTest(destinationId);
    await deliver();
    expect(await onlyDestination()).toMatchObject({ disabledReason: "gone" });
    const log = await states();
    expect(log[0]).toEqual(["destination.disabled", null, null, null]);
    // The path may be a token, which other destinations must not get.
    const told = "select facts from alert_event where kind = 'destination.disabled'";
    const address = `${new URL(receiver.url).origin}/…`;
    expect(await backend.query(told)).toMatchObject([{ facts: { address } }]);
    expect(await deliver()).toBe(0);
  });

  test("is not sent when no encryption key decrypts its secret", async () => {
    const { destinationId } = await addWebhook();
    await sendTest(destinationId);
    await deliver({ ring: vaultOf(SECOND_KEY) });
    expect(receiver.at(path)).toEqual([]);
    expect((await states())[0]).toMatchObject({ 1: "waiting", 3: /cannot be decrypted/ });
  });
});

describe("a slow receiver", () => {
  test("gets at most two deliveries at once from all processes, and delays no other receiver", async () => {
    const slow = await addWebhook();
    const waiting: (() => void)[] = [];
    receiver.answer(path, (response) => void waiting.push(() => response.writeHead(204).end()));
    for (let count = 0; count < 6; count += 1) {
      await sendTest(slow.destinationId);
    }
    const senders = [worker(), worker({ from: other })];
    const runs = senders.map((each) => each.deliverDue());
    await until("two are at the receiver", () => waiting.length === 2);
    const fast = await newOrg();
    const quick = await addWebhook({ org: fast, address: `${receiver.url}${path}/quick` });
    await backend.alertStore.sendTest(fast, quick.destinationId);
    await until("the other one's is delivered", () => receiver.at(`${path}/quick`).length === 1);
    expect(waiting).toHaveLength(2);
    let most = 0;
    await until("all are delivered", () => {
      most = Math.max(most, receiver.open());
      waiting.splice(0).forEach((answer) => answer());
      return receiver.at(path).length === 6;
    });
    waiting.splice(0).forEach((answer) => answer());
    await until("all are answered", () => receiver.open() === 0);
    await Promise.all(runs);
    await Promise.all(senders.map((each) => each.close()));
    expect(most).toBeLessThanOrEqual(2);
    expect(new Set(receiver.at(path).map(({ headers }) => headers["webhook-id"])).size).toBe(6);
  });
});

describe("the secret of a webhook", () => {
  test("from before a rotation signs deliveries beside the new secret until its grace period ends", async () => {
    const { destinationId, secret } = await addWebhook();
    const next = await rotate(destinationId);
    await sendTest(destinationId);
    await deliver();
    const first = receiver.at(path)[0] as ReceivedWebhook;
    verified(first, secret);
    verified(first, next);
    await backend.query("update alert_destination set former_until = now()");
    await sendTest(destinationId);
    await deliver();
    const second = receiver.at(path)[1] as ReceivedWebhook;
    verified(second, next);
    expect(() => verified(second, secret)).toThrow("No matching signature");
    expect(await onlyDestination()).toMatchObject({ formerSecretUntilMs: null });
  });

  test("is resealed with the first encryption key, together with the former secret", async () => {
    const { destinationId, secret } = await addWebhook();
    const next = await rotate(destinationId);
    const ring = vaultOf(`${SECOND_KEY},${FIRST_KEY}`);
    const [second = "", first = ""] = ring.keyNames;
    const tables = sealedTables(backend);
    const counts = async () => Object.fromEntries(await countSealedBy(tables, ring));
    expect(await counts()).toEqual({ [second]: 0, [first]: 2 });
    const resealed = await resealRows(tables, ring, testOperator);
    expect(resealed).toEqual({ resealed: 2, kept: 0, unopened: [] });
    expect(await counts()).toEqual({ [second]: 2, [first]: 0 });
    const unopened = await resealRows(tables, vault, testOperator);
    expect(unopened).toMatchObject({ unopened: [destinationId] });
    await sendTest(destinationId);
    await deliver({ ring });
    const got = receiver.at(path)[0] as ReceivedWebhook;
    verified(got, secret);
    verified(got, next);
  });

  test("is deleted with its webhook", async () => {
    const { destinationId } = await addWebhook();
    await backend.alertStore.removeDestination(orgId, destinationId, testOperator);
    const read = "select sealed_secret, former_secret from alert_destination";
    expect(await backend.query(read)).toEqual([{ sealed_secret: null, former_secret: null }]);
  });
});

describe("settings of customers", () => {
  test("a destination gets the kinds of events that it has chosen, or all", async () => {
    const { destinationId } = await addWebhook({ kinds: ["org_cap.reached"] });
    await report("balance.low");
    await report("org_cap.reached");
    expect(await states()).toEqual([
      ["org_cap.reached", "waiting", 0, null],
      ["balance.low", null, null, null],
    ]);
    const change = { kinds: null };
    await backend.alertStore.changeDestination(orgId, destinationId, change, testOperator);
    await report("balance.low");
    expect((await states())[0]).toEqual(["balance.low", "waiting", 0, null]);
  });

  test("a disabled destination gets nothing until it is enabled, which needs its address to be free", async () => {
    const { destinationId } = await addWebhook();
    await report("balance.low");
    expect(await setEnabled(destinationId, false)).toMatchObject({ disabledReason: "paused" });
    await report("org_cap.reached");
    expect(await deliver()).toBe(0);
    expect(await sendTest(destinationId)).toBeUndefined();
    const same = await addWebhook();
    expect(await setEnabled(destinationId, true)).toBe("taken");
    await backend.alertStore.removeDestination(orgId, same.destinationId, testOperator);
    const enabled = await setEnabled(destinationId, true);
    expect(enabled).toMatchObject({ disabledReason: null, disabledAtMs: null });
    await report("balance.low");
    expect(await deliver()).toBe(1);
  });

  test("a failed delivery can be sent again with the same id, and a waiting delivery cannot", async () => {
    const { destinationId, secret } = await addWebhook();
    receiver.answer(path, (response) => response.writeHead(500).end());
    const eventId = String(await sendTest(destinationId));
    const again = (): Promise<unknown> =>
      backend.alertStore.sendAgain(orgId, destinationId, eventId);
    expect(await again()).toBe("busy");
    await backend.query("update alert_delivery set tries = 9");
    await deliver();
    expect(await states()).toEqual([["alerts.test", "failed", 10, "status 500"]]);
    receiver.answer(path, (response) => response.writeHead(204).end());
    expect(await again()).toBe(true);
    await deliver();
    const ids = receiver.at(path).map(({ headers }) => headers["webhook-id"]);
    expect(ids).toEqual([eventId, eventId]);
    verified(receiver.at(path)[1] as ReceivedWebhook, secret);
    expect(await states()).toEqual([["alerts.test", "delivered", 1, "status 204"]]);
    const stranger = await newOrg();
    expect(await backend.alertStore.sendAgain(stranger, destinationId, eventId)).toBeUndefined();
  });

  test("a delivery that is being sent is not queued again", async () => {
    const { destinationId } = await addWebhook();
    const eventId = String(await sendTest(destinationId));
    const [taken] = await backend.alertQueue.takeDue(10);
    await setEnabled(destinationId, false);
    await setEnabled(destinationId, true);
    expect(await backend.alertStore.sendAgain(orgId, destinationId, eventId)).toBe("busy");
    if (taken === undefined) throw new Error("nothing was due");
    await backend.alertQueue.end(taken, { end: "delivered", answer: "late" }, undefined);
    expect(await states()).toMatchObject([{ 1: "failed" }]);
    expect(await backend.alertStore.sendAgain(orgId, destinationId, eventId)).toBe(true);
  });

  test("a destination accepts at most 20 test events that wait for delivery", async () => {
    const { destinationId } = await addWebhook();
    for (let count = 0; count < 20; count += 1) {
      expect(await sendTest(destinationId)).toEqual(expect.any(String));
    }
    expect(await sendTest(destinationId)).toBe(false);
  });
});

describe("an event that happens once", () => {
  test("is stored once when it is reported twice", async () => {
    await addWebhook();
    expect(await report("balance.low", "topup 1")).toBe(true);
    expect(await report("balance.low", "topup 1")).toBe(false);
    expect(await states()).toHaveLength(1);
  });

  test("is made 7 days and 1 day before a key expires and at its expiry, but not for a short-lived key", async () => {
    await backend.alertStore.changeRules(orgId, { hasKeyExpiry: true }, testOperator);
    await backend.query(`update alert_rules set key_expiry_since = now() - interval '9 days'`);
    await addKey(backend, orgId);
    const [key] = await backend.accountStore.listKeys(orgId);
    const keyId = key?.keyId ?? "";
    const told: unknown[] = [];
    const expireIn = async (interval: string): Promise<void> => {
      const change = `update api_key set expires_at = now() + $2::interval,
        created_at = now() - interval '30 days' where key_id = $1`;
      await backend.query(change, [keyId, interval]);
      told.push(await backend.alertQueue.notice(), await backend.alertQueue.notice());
    };
    await expireIn("8 days");
    expect(told.splice(0)).toEqual([0, 0]);
    await expireIn("6 days");
    await expireIn("20 hours");
    await expireIn("-1 minute");
    expect(told.splice(0)).toEqual([1, 0, 1, 0, 1, 0]);
    for (const { kind, facts } of await backend.query("select kind, facts from alert_event")) {
      const { example } = ALERT_KINDS[kind as AlertKind];
      expect(Object.keys(facts as object).toSorted()).toEqual(Object.keys(example).toSorted());
    }
    const read = "select kind, facts->>'days' as days from alert_event order by at";
    expect((await backend.query(read)).map(({ kind, days }) => [kind, days])).toEqual([
      ["key.expiring", "7"],
      ["key.expiring", "1"],
      ["key.expired", null],
    ]);
    // A key whose whole life is shorter than the warning time is not reported.
    const short = `update api_key set created_at = now(), expires_at = now() + interval '1 hour'
      where key_id = $1`;
    await backend.query(short, [keyId]);
    expect(await backend.alertQueue.notice()).toBe(0);
  });
});
