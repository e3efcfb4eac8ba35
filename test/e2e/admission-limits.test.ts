import { setTimeout as sleep } from "node:timers/promises";

import { describe, expect, test } from "vitest";
import {
  MODEL_LIMITS_PER_ORG_MAX,
  SETTINGS_REQUESTS_PER_MINUTE as changesMax,
} from "../../src/kernel/core/constants.ts";
import type { KeyId } from "../../src/kernel/core/ids.ts";
import type { StoredLimit } from "../../src/gateway/limits/limit-ceilings.ts";
import { addKey } from "../support/add-key.ts";
import { callUntil, until } from "../support/books.ts";
import { chatBody } from "../support/chat-bodies.ts";
import { withGateway, type TestAccount } from "../support/gateway.ts";
import { at, bearer, httpCall, listAt, type HttpAnswer } from "../support/http-call.ts";
import { expectCleanRefusal, expectRefusal } from "../support/refusals.ts";
import { openTransaction, readSql, runSql } from "../support/sql.ts";
import { testOperator } from "../support/test-operator.ts";

const PATH = "/api/admission-limits";

const gateway = withGateway();

async function setLimit(account: TestAccount, body: unknown): Promise<HttpAnswer> {
  return await httpCall(gateway.url + PATH, { body, headers: bearer(account.key) });
}

async function limitsOf(account: TestAccount, query = ""): Promise<unknown> {
  const url = `${gateway.url}/v1/limits${query}`;
  return (await httpCall(url, { headers: bearer(account.key) })).json;
}

async function chat(
  account: TestAccount,
  model = "test/a",
  key = account.key,
): Promise<HttpAnswer> {
  const url = `${gateway.url}/v1/chat/completions`;
  return await httpCall(url, { body: chatBody(model), headers: bearer(key) });
}

async function stored(account: TestAccount): Promise<readonly StoredLimit[]> {
  return await gateway.backend.rulesStore.listLimits(account.orgId);
}

/** Repeats the call until it is refused, because a cached key still has its old limits. */
async function refusedCall(call: () => Promise<HttpAnswer>): Promise<HttpAnswer> {
  return await callUntil("the limit refuses", call, ({ status }) => status === 429);
}

describe("a key that lowers its own limits", () => {
  test("gets the stored and the effective limits, and GET /v1/limits shows them at once", async () => {
    const account = await gateway.account("5.00");
    const answer = await setLimit(account, { scope: "key", rpm: 50, tpm: 2_000 });
    expect(answer.status).toBe(200);
    const key = `key:${account.keyId}`;
    expect(answer.json).toEqual({
      scope: "key",
      key_id: account.keyId,
      stored: { rpm: 50, tpm: 2_000, concurrency: null },
      effective: {
        rpm: { limit: 50, remaining: 50, bound_by: key },
        tpm: { limit: 2_000, remaining: 2_000, bound_by: key },
        concurrency: { limit: 8, in_use: 0, departed: 0, bound_by: key },
      },
    });
    expect(listAt(await limitsOf(account), "scopes")[0]).toMatchObject({
      rpm: 50,
      tpm: 2_000,
      concurrency: 8,
      ceiling: { rpm: 300 },
      source: { rpm: "self", tpm: "self", concurrency: "default" },
    });
  });

  test("is refused above its limit, unlike its sibling key, and is served once the limit is removed", async () => {
    const account = await gateway.account("5.00");
    const sibling = await addKey(gateway.backend, account.orgId);
    expect((await chat(account)).status).toBe(200);
    expect((await setLimit(account, { scope: "key", rpm: 3 })).status).toBe(200);
    const refused = await refusedCall(() => chat(account));
    expectRefusal(refused, { status: 429, code: "rate_limit", message: "3 requests per minute" });
    expect(refused.headers).toMatchObject({
      "x-tm-limit-scope": "key",
      "x-tm-limit-kind": "rpm",
      "x-tm-limit-id": `key:${account.keyId}`,
    });
    expect((await chat(account, "test/a", sibling.key)).status).toBe(200);
    expect((await setLimit(account, { scope: "key", rpm: null })).status).toBe(200);
    expect((await chat(account)).status).toBe(200);
  });

  test("cannot set a limit below 1, or above its ceiling or its contract, for itself or for a model, and the refusal names the ceiling", async () => {
    const account = await gateway.account("5.00", { requestsPerMinute: 60 });
    const route = { gateway, account, path: PATH };
    for (const [body, message] of [
      [{ scope: "key", rpm: 61 }, /^rpm 61 is above the ceiling of 60;/],
      [{ scope: "key", rpm: 60, concurrency: 9 }, /^concurrency 9 is above the ceiling of 8;/],
      [{ scope: "model", model: "test/a", rpm: 61 }, /^rpm 61 is above the ceiling of 60;/],
      [{ scope: "key", rpm: 0 }, /^rpm 0 is below 1; choose a limit from 1 to the ceiling of 60,/],
      [{ scope: "key", concurrency: -1 }, /^concurrency -1 is below 1; .* the ceiling of 8,/],
    ] as const) {
      await expectCleanRefusal(route, { body }, { status: 400, code: "invalid_request", message });
    }
    expect(await stored(account)).toEqual([]);
    expect((await setLimit(account, { scope: "key", rpm: 60 })).status).toBe(200);

    const { rulesStore } = gateway.backend;
    const contract = { source: "contract", scope: "key" } as const;
    const limits = { requestsPerMinute: 1_000 };
    await rulesStore.changeLimit(account.orgId, contract, limits, testOperator);
    const above = await setLimit(account, { scope: "key", rpm: 1_001 });
    expectRefusal(above, { status: 400, code: "invalid_request", message: "ceiling of 1000;" });
    expect((await setLimit(account, { scope: "key", rpm: 900 })).status).toBe(200);
    expect(listAt(await limitsOf(account), "scopes")[0]).toMatchObject({ rpm: 900 });
  });

  test(`can change limits ${changesMax} times a minute, and so can all keys together, as the refusal says; refused changes do not count`, async () => {
    const account = await gateway.account("5.00");
    await setLimit(account, { scope: "key", rpm: 0 });
    for (let n = 1; n <= changesMax; n += 1) await setLimit(account, { scope: "key", tpm: n });
    const refused = await setLimit(account, { scope: "key", tpm: 400_000 });
    const most = `limited to ${changesMax} changes of limits per minute; retry in `;
    expectRefusal(refused, { status: 429, code: "rate_limit", message: `this key is ${most}` });
    expect(refused.headers["x-tm-limit-id"]).toBe(`settings:${account.keyId}`);
    expect(await stored(account)).toMatchObject([{ tokensPerMinute: changesMax }]);
    // The changes of all keys of an organization count together.
    const sibling = { ...account, ...(await addKey(gateway.backend, account.orgId)) };
    const shared = await setLimit(sibling, { scope: "key", tpm: 400_000 });
    const message = `the organization's keys together are ${most}`;
    expectRefusal(shared, { status: 429, code: "rate_limit", message });
    expect(shared.headers["x-tm-limit-id"]).toBe(`settings-by-keys:${account.orgId}`);
  });
});

test("changes of limits by keys of an organization whose row is locked keep at most two connections", async () => {
  const account = await gateway.account("5.00");
  const { databaseUrl: connectionString } = gateway.config;
  const row = "select from org where org_id = $1 for update";
  const holder = await openTransaction({ connectionString }, row, [account.orgId]);
  const changes = Array.from({ length: 6 }, (_, n) =>
    setLimit(account, { scope: "key", tpm: n + 1 }),
  );
  const countWaiting = async (): Promise<number> =>
    Number((await readSql(gateway, WAITING_SQL, []))[0]?.["waiting"]);
  await until("two wait for the row", async () => (await countWaiting()) >= 2);
  await sleep(300);
  expect(await countWaiting()).toBeLessThanOrEqual(2);
  await holder.end();
  await Promise.all(changes);
});

const WAITING_SQL = `select count(*)::integer as waiting from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock' and query like '%from org %'`;

describe("limits of a model", () => {
  test("apply to that model under that key only, and refusals name the model", async () => {
    const account = await gateway.account("5.00");
    const sibling = await addKey(gateway.backend, account.orgId);
    const answer = await setLimit(account, { scope: "model", model: "test/a", rpm: 1 });
    expect(answer.json).toMatchObject({
      scope: "model",
      key_id: account.keyId,
      model: "test/a",
      stored: { rpm: 1, tpm: null, concurrency: null },
      effective: { rpm: { limit: 1, remaining: 1, bound_by: "model:test/a" } },
    });
    const refused = await refusedCall(() => chat(account));
    expectRefusal(refused, { status: 429, code: "rate_limit", message: "this model" });
    expect(refused.headers).toMatchObject({
      "x-tm-limit-scope": "model",
      "x-tm-limit-kind": "rpm",
      "x-tm-limit-id": "model:test/a",
    });
    expect((await chat(account, "test/b")).status).toBe(200);
    expect((await chat(account, "test/a", sibling.key)).status).toBe(200);
    expect(await stored(account)).toMatchObject([{ scope: "model", keyId: account.keyId }]);
  });

  test("can be changed and removed when the model is no longer listed", async () => {
    const account = await gateway.account("5.00");
    const keyId = account.keyId as KeyId;
    const target = { source: "self", scope: "model", modelId: "test/gone", keyId } as const;
    await gateway.backend.rulesStore.changeLimit(
      account.orgId,
      target,
      { concurrent: 2 },
      testOperator,
    );
    const answer = await setLimit(account, {
      scope: "model",
      model: "test/gone",
      concurrency: null,
    });
    expect(answer.status).toBe(200);
    expect(await stored(account)).toEqual([]);
  });

  test(`are at most ${MODEL_LIMITS_PER_ORG_MAX} in an organization`, async () => {
    const account = await gateway.account("5.00");
    await runSql(
      gateway,
      `insert into limit_override (org_id, scope, model_id, rpm, source)
        select $1, 'model', 'full/' || n, 1, 'self' from generate_series(1, $2::integer) n`,
      [account.orgId, MODEL_LIMITS_PER_ORG_MAX],
    );
    const add = { scope: "model", model: "test/a", rpm: 1 };
    const refused = await setLimit(account, add);
    const message = `limits of ${MODEL_LIMITS_PER_ORG_MAX} models`;
    expectRefusal(refused, { status: 400, code: "invalid_request", message });
    expect(await stored(account)).toHaveLength(MODEL_LIMITS_PER_ORG_MAX);
    const drop = "delete from limit_override where org_id = $1 and model_id = 'full/1'";
    await runSql(gateway, drop, [account.orgId]);
    expect((await setLimit(account, add)).status).toBe(200);
    // A stored limit can be changed although no other can be added.
    expect((await setLimit(account, { ...add, rpm: 2 })).status).toBe(200);
  });
});

describe("limits that are not the calling key's own", () => {
  test("cannot be set for another key, and the answer does not reveal whether that key exists", async () => {
    const account = await gateway.account("5.00");
    const stranger = await gateway.account("5.00");
    const sibling = await addKey(gateway.backend, account.orgId);
    const made = "key_000000000000000000000000";
    const errors: unknown[] = [];
    for (const key_id of [sibling.keyId, stranger.keyId, made]) {
      const answer = await setLimit(account, { scope: "key", key_id, rpm: 1 });
      expectRefusal(answer, { status: 400, code: "invalid_request", message: /^key_id must be/ });
      errors.push(at(answer.json, "error"));
    }
    for (const error of errors) expect(error).toEqual(errors[0]);
    expect([...(await stored(account)), ...(await stored(stranger))]).toEqual([]);
    expect((await chat(account, "test/a", sibling.key)).status).toBe(200);
  });

  test("cannot be set for the organization until the organization allows its keys to do so", async () => {
    const account = await gateway.account("5.00");
    const { orgId } = account;
    const body = { scope: "org", rpm: 2 };
    const route = { gateway, account, path: PATH };
    const message = /^scope "org" may not be set by the keys of this organization/;
    await expectCleanRefusal(route, { body }, { status: 400, code: "invalid_request", message });
    expect(await stored(account)).toEqual([]);
    await gateway.backend.rulesStore.setKeysMaySetOrgLimits(orgId, true, testOperator);
    const opened = await setLimit(account, body);
    expect(opened.json).toMatchObject({
      scope: "org",
      stored: { rpm: 2, tpm: null, concurrency: null },
      effective: { rpm: { limit: 2, bound_by: `org:${orgId}` } },
    });
    expect(opened.json).not.toHaveProperty("key_id");
    const sibling = await addKey(gateway.backend, orgId);
    const refused = await refusedCall(() => chat(account, "test/a", sibling.key));
    expect(refused.headers).toMatchObject({
      "x-tm-limit-scope": "org",
      "x-tm-limit-kind": "rpm",
      "x-tm-limit-id": `org:${orgId}`,
    });
  });
});

test("a refused limit change gets a 400 that names the problem, is recorded, and stores and costs nothing", async () => {
  const account = await gateway.account("5.00");
  const route = { gateway, account, path: PATH };
  for (const [body, message] of [
    ['{"scope":"key","rpm":5,"__proto__":{"scope":"org"}}', "__proto__"],
    [{ scope: "model", model: "test/none", rpm: 1.5 }, /^rpm must be a whole number of at least 1/],
    [{ scope: "org", key_id: "key_1", rpm: 5 }, /^key_id does not go with scope "org"/],
  ] as const) {
    await expectCleanRefusal(route, { body }, { status: 400, code: "invalid_request", message });
  }
  expect(await stored(account)).toEqual([]);
  expect((await chat(account)).headers["x-tm-remaining-rpm"]).toBe("299");
});
