import { beforeAll, describe, expect, test } from "vitest";

import { ROUTES } from "../../../src/account/console-api/contract.ts";
import { FOLD_HOUR_SQL } from "../../../src/gateway/records/listing-sums-sql.ts";
import type { RouteContract } from "../../../src/account/console-api/contract/shared.ts";
import { microUsd } from "../../../src/kernel/core/money.ts";
import { at, listAt, textAt, withoutIds, type HttpAnswer } from "../../support/http-call.ts";
import { runSql } from "../../support/sql.ts";
import { testOperator } from "../../support/test-operator.ts";
import {
  newcomer,
  newKey,
  withProviderConsole,
  type Person,
  withPerson,
} from "./provider-fixture.ts";

const fixture = withProviderConsole({
  settings: { operators: "boss@example.com, Other@Example.com" },
});

/** Every kind of caller that is not an operator. */
const people: Record<string, Person> = {};
const boss = withPerson(fixture, "boss");
const customer = withPerson(fixture, "customer");
/** A customer with a key that made one call. */
const caller = withPerson(fixture, "caller");
let secret = "";
let callId = "";

beforeAll(async () => {
  await fixture.grant(caller, "10");
  secret = (await newKey(caller)).secret;
  callId = String((await fixture.chat(secret)).headers["x-request-id"]);
  await runSql(fixture.gateway, FOLD_HOUR_SQL, [0, "9000000000000000000"]);
  people["a customer"] = customer;
  people["a stranger"] = fixture.stranger();
  people["somebody with an operator's e-mail that nobody verified"] = await fixture.signIn({
    ...newcomer("other"),
    emailVerified: false,
  });
});

const operatorRoutes = Object.entries(ROUTES as Readonly<Record<string, RouteContract>>)
  .filter(([, { access }]) => access === "operator")
  .map(([name]) => name);

const BODIES: Readonly<Record<string, object>> = {
  "POST /api/operator/organizations/:org_id/grants": { amount_usd: "5.00", ref: "matrix" },
  "POST /api/operator/organizations/:org_id/contract": { scope: "org", rpm: 999 },
  "POST /api/operator/organizations/:org_id/lift": { reason: "looked at it" },
  "POST /api/operator/settlement/:provider_id/:period_start/payment": { ref: "wire-1" },
  "POST /api/operator/settlement/close": {},
  "POST /api/operator/settlement/:provider_id/deposits": { amount_usd: "5.00", ref: "wire-2" },
  "POST /api/operator/settlement/:provider_id/:period_start/reconcile": {
    statement: '{"total_usd":"1.5"}',
  },
};

function filled(route: string): string {
  const ids: Readonly<Record<string, string>> = {
    org_id: route.includes(":request_id") ? caller.orgId : customer.orgId,
    request_id: callId,
    provider_id: "prov-a",
    period_start: "2026-09-01T00:00:00.000Z",
  };
  const path = route.replaceAll(/:(\w+)/g, (_, name: string) => ids[name] ?? `no ${name}`);
  return route.endsWith("/look-up") ? `${path}?q=${callId}` : path;
}

function ask(person: Person, route: string): Promise<HttpAnswer> {
  return person.ask(filled(route), { body: BODIES[route] ?? {} });
}

describe("the operator routes", () => {
  test("are all tested in this file, with a request body for each route that writes", () => {
    const writing = operatorRoutes.filter((name) => !name.startsWith("GET "));
    expect(operatorRoutes.length).toBeGreaterThan(10);
    expect(writing.sort()).toEqual(Object.keys(BODIES).sort());
    const elsewhere = Object.keys(ROUTES).filter((name) => name.includes("/api/operator/"));
    expect(elsewhere.sort()).toEqual([...operatorRoutes].sort());
  });

  test.each(operatorRoutes)("%s is a 404 for everybody but operators", async (route) => {
    for (const [who, person] of Object.entries(people)) {
      const [method] = route.split(" ");
      const refused = await ask(person, route);
      const unknown = await person.ask(`${method} /api/operator-no-such/x`);
      expect({ who, ...withoutIds(refused) }).toEqual({ who, ...withoutIds(unknown) });
      expect(refused.status).toBe(404);
    }
  });

  test("refuse a request that another site sends with the operator's cookie", async () => {
    const foreign: readonly (readonly [Readonly<Record<string, string>>, number])[] = [
      [{ origin: "https://evil.example" }, 403],
      [{ "sec-fetch-site": "cross-site" }, 403],
      [{ "content-type": "text/plain" }, 415],
    ];
    for (const route of Object.keys(BODIES)) {
      for (const [headers, status] of foreign) {
        const answer = await boss.ask(filled(route), { headers, body: BODIES[route] ?? {} });
        expect({ route, headers, status: answer.status }).toEqual({ route, headers, status });
      }
    }
  });

  test("leave the balance, the limits and settlement unchanged after refused requests", async () => {
    const { accountStore, rulesStore, changeStore } = fixture.gateway.backend;
    expect((await accountStore.findOrg(customer.orgId))?.balanceMicroUsd).toBe(0n);
    expect(await rulesStore.listLimits(customer.orgId)).toEqual([]);
    expect(await changeStore.list({ actionPrefix: "settlement", limit: 1 })).toEqual([]);
  });

  test.each(operatorRoutes.filter((name) => name.startsWith("GET ")))(
    "%s answers an operator as its contract says",
    async (route) => {
      const { status } = await ask(boss, route);
      // No period was closed here.
      expect(status).toBe(route.includes(":period_start") ? 404 : 200);
    },
  );

  test("are not in the public OpenAPI document, and the operator page is a 404 for everybody else", async () => {
    const document = await customer.ask("GET /api/openapi.json");
    expect(document.status).toBe(200);
    expect(document.text).not.toContain("/api/operator");
    const html = { headers: { accept: "text/html" } };
    for (const person of Object.values(people)) {
      expect((await person.ask("GET /operator", html)).status).toBe(404);
    }
    expect((await boss.ask("GET /operator", html)).status).not.toBe(404);
    const session = (await boss.ask("GET /api/console/session")).json;
    expect(at(session, "is_operator")).toBe(true);
    const other = (await customer.ask("GET /api/console/session")).json;
    expect(at(other, "is_operator")).toBe(false);
  });
});

describe("an operator", () => {
  test("grants credit once per reference, and the change log names the account, but not to the customer", async () => {
    const route = "POST /api/operator/organizations/:org_id/grants";
    const first = await ask(boss, route);
    expect(first.json).toEqual({ is_new: true, balance_usd: "5.000000" });
    expect((await ask(boss, route)).json).toEqual({ is_new: false, balance_usd: "5.000000" });
    const other = `POST /api/operator/organizations/${boss.orgId}/grants`;
    const taken = await boss.ask(other, { body: { amount_usd: "5.00", ref: "matrix" } });
    expect([taken.status, textAt(taken.json, "error.field")]).toEqual([409, "ref"]);
    const [change] = await fixture.gateway.backend.changeStore.list({
      orgId: customer.orgId,
      actionPrefix: "credit.grant",
      limit: 5,
    });
    const [own] = await fixture.gateway.backend.changeStore.list({
      orgId: boss.orgId,
      actionPrefix: "account.create",
      limit: 1,
    });
    expect(change?.by).toMatchObject({
      id: own?.target,
      kind: "operator",
      requestId: first.headers["x-request-id"],
      clientNetwork: "127.0.0.0/24",
    });
    const log = await customer.do("GET /api/console/changes?kind=credit");
    expect(listAt(log.json, "data")[0]).toMatchObject({
      actor: "The operator",
      actor_id: null,
      request_id: null,
      client_network: null,
    });
  });

  test("grants nothing with a reference that the books will give to a purchase", async () => {
    const route = `POST /api/operator/organizations/${customer.orgId}/grants`;
    const body = { amount_usd: "5.00", ref: "purchase:pur_unpaid" };
    const refused = await boss.ask(route, { body });
    expect([refused.status, textAt(refused.json, "error.field")]).toEqual([400, "ref"]);
    expect(textAt(refused.json, "error.message")).toContain("for a purchase its ID alone");
  });

  test("replaces the default limits by a contract, and restores them with null", async () => {
    const route = `POST /api/operator/organizations/${customer.orgId}/contract`;
    const limits = async (): Promise<unknown> =>
      at((await boss.do(`GET /api/operator/organizations/${customer.orgId}`)).json, "limits");
    await boss.do(route, { body: { scope: "org", rpm: 900 } });
    expect(await limits()).toMatchObject([{ source: "contract", scope: "org", rpm: 900 }]);
    await boss.do(route, { body: { scope: "org", rpm: null } });
    expect(await limits()).toEqual([]);
    const key = await boss.ask(route, { body: { scope: "key", key_id: "key_other", rpm: 1 } });
    expect(key.status).toBe(404);
  });

  test("shows which keys of an organization have expired", async () => {
    await customer.do("POST /api/console/keys", { body: { name: "long gone" } });
    const sql = "update api_key set expires_at = now() - interval '1 hour' where name = $1";
    await runSql(fixture.gateway, sql, ["long gone"]);
    const page = await boss.do(`GET /api/operator/organizations/${customer.orgId}`);
    const gone = { name: "long gone", disabled_at: null, is_expired: true };
    expect(at(page.json, "keys")).toContainEqual(expect.objectContaining(gone));
  });

  test("lifts a restriction with a reason that the customer never sees", async () => {
    const trial = await fixture.signIn(newcomer("trial"));
    const { usageHoldStore, creditStore } = fixture.gateway.backend;
    const { orgId } = trial;
    const grant = {
      orgId,
      amountMicroUsd: 1_000_000n as never,
      ref: `try-${orgId}`,
      isTrial: true,
    };
    await creditStore.grant(grant, testOperator);
    const span = { ageMs: 1_000, limitedMs: 600_000, repeatMs: 600_000 };
    await usageHoldStore.record({ orgId, family: "chat", reason: "900 of 900 refused", ...span });
    const found = await boss.do("GET /api/operator/restrictions");
    expect(listAt(found.json, "data")).toEqual([
      expect.objectContaining({ org_id: orgId, reason: "900 of 900 refused", in_effect: true }),
    ]);
    const lift = `POST /api/operator/organizations/${orgId}/lift`;
    const done = await boss.do(lift, {
      body: { family: "chat", reason: "a load test they announced" },
    });
    expect(listAt(done.json, "lifted")).toHaveLength(1);
    expect(listAt((await boss.do("GET /api/operator/restrictions")).json, "data")).toEqual([]);
    const filter = { orgId, actionPrefix: "hold.lift", limit: 1 };
    const [change] = await fixture.gateway.backend.changeStore.list(filter);
    expect(change?.after).toEqual({ lifted_because: "a load test they announced" });
    const own = await trial.do("GET /api/console/changes?kind=hold");
    expect(own.text).toContain("lifted the restriction of chat requests");
    for (const hidden of ["900 of 900", "load test"]) expect(own.text).not.toContain(hidden);
  });

  test.each([
    ["a request", () => callId, "request"],
    ["an e-mail address", () => "caller@example.com", "person"],
    ["a key", () => secret, "key"],
    ["an organization", () => caller.orgId, "organization"],
  ])("finds %s with its organization, and logs no address and no key", async (_, q, kind) => {
    const { json } = await boss.do(`GET /api/operator/look-up?q=${encodeURIComponent(q())}`);
    expect(listAt(json, "data")).toEqual([expect.objectContaining({ kind, org_id: caller.orgId })]);
    expect(JSON.stringify(json)).not.toContain(secret);
    const [record] = await fixture.gateway.backend.changeStore.list({ limit: 1 });
    expect(record).toMatchObject({
      action: "customer.look-up",
      orgId: caller.orgId,
      by: { kind: "operator" },
    });
    // The record has neither the address nor more of the key than the list of keys shows.
    expect(JSON.stringify(record)).not.toContain("caller@example.com");
    expect(JSON.stringify(record)).not.toContain(secret.slice(0, 13));
    const own = await caller.do("GET /api/console/changes");
    expect(own.text).not.toContain("customer.look-up");
  });

  test("has a look-up logged with its id or masked key, and with no other text", async () => {
    for (const [q, asked] of [
      [callId, callId],
      [`Bearer ${secret}`, secret.slice(0, 12)],
      ["r-000012", "r-000012"],
      ["sk-proj-0123456789abcdefghij", undefined],
    ] as const) {
      await boss.do(`GET /api/operator/look-up?q=${encodeURIComponent(q)}`);
      const [record] = await fixture.gateway.backend.changeStore.list({ limit: 1 });
      expect(record?.after?.["asked"]).toBe(asked);
    }
  });

  test("sees that a parked purchase was refunded, and its customer sees it too", async () => {
    const { purchaseStore } = fixture.gateway.backend;
    const { orgId } = customer;
    const purchaseId = "pur_parked";
    const [amountMicroUsd, nowMs] = [microUsd(20_000_000n), Date.now()];
    const times = { nowMs, expiresAtMs: nowMs + 60_000, countedFromMs: nowMs, purchasesMax: 1 };
    const made = { purchaseId, orgId, amountMicroUsd, isTestMoney: false, ...times };
    await purchaseStore.create(made, testOperator);
    await purchaseStore.decide(purchaseId, "parked");
    const refund = { claimId: "re_parked", purchaseId, kind: "refund", isReversed: false } as const;
    await purchaseStore.claim({ ...refund, amountMicroUsd: microUsd(10_000n), isOver: true });
    const waiting = await boss.do("GET /api/operator/purchases");
    const facts = { purchase_id: purchaseId, status: "parked", refunded_usd: "0.010000" };
    expect(listAt(waiting.json, "data")).toMatchObject([{ ...facts, is_granted: false }]);
    const grant = { orgId, amountMicroUsd: microUsd(5_000n), ref: purchaseId, isTrial: true };
    await fixture.gateway.backend.creditStore.grant(grant, testOperator);
    const own = await customer.do("GET /api/console/billing");
    expect(listAt(own.json, "purchases")).toMatchObject([{ ...facts, is_granted_by_hand: true }]);
  });

  test("sees a request as its customer sees it, and under no other organization", async () => {
    const path = `/api/operator/organizations/${caller.orgId}/requests/${callId}`;
    const own = await caller.do(`GET /api/console/requests/${callId}`);
    expect((await boss.do(`GET ${path}`)).json).toEqual(own.json);
    const other = path.replace(caller.orgId, boss.orgId);
    expect((await boss.ask(`GET ${other}`)).status).toBe(404);
  });

  test("sees requests and spend on the desk once their hour is summed up", async () => {
    const { json } = await boss.do("GET /api/operator/desk");
    expect(listAt(json, "organizations")).toContainEqual(
      expect.objectContaining({ org_id: caller.orgId, requests: 1, failed_requests: 0 }),
    );
    expect(Number(textAt(json, "days.0.spend_usd"))).toBeGreaterThan(0);
  });

  test("finds organizations by a part of their e-mail or id, and takes % literally", async () => {
    for (const q of ["CUSTOMER@example", customer.orgId.slice(4, 14)]) {
      const found = await boss.do(`GET /api/operator/organizations?q=${encodeURIComponent(q)}`);
      expect(listAt(found.json, "data").map((each) => textAt(each, "org_id"))).toEqual([
        customer.orgId,
      ]);
    }
    const none = await boss.do("GET /api/operator/organizations?q=%25");
    expect(listAt(none.json, "data")).toEqual([]);
  });
});

test("an operator who signed in 13 hours ago can read, but must sign in again to change anything", async () => {
  const old = "update console_session set started_at = started_at - interval '13 hours'";
  await runSql(fixture.gateway, old, []);
  for (const route of operatorRoutes) {
    const { status } = await ask(boss, route);
    const expected = route.includes(":period_start") && route.startsWith("GET ") ? 404 : 200;
    expect({ route, status }).toEqual({ route, status: route.startsWith("GET ") ? expected : 403 });
  }
  const again = await fixture.signIn(newcomer("boss"));
  const lift = "POST /api/operator/organizations/:org_id/lift";
  expect((await ask(again, lift)).status).toBe(200);
});
