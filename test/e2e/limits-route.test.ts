import { describe, expect, test } from "vitest";
import type { KeyId } from "../../src/kernel/core/ids.ts";
import { until } from "../support/books.ts";
import { chatBody } from "../support/chat-bodies.ts";
import {
  simulatorManifest,
  STANDARD_MANIFESTS,
  textModel,
  withGateway,
  type TestAccount,
} from "../support/gateway.ts";
import { at, bearer, httpCall, listAt, type HttpAnswer } from "../support/http-call.ts";
import { expectRefusal, accountState } from "../support/refusals.ts";
import { settledRecord } from "../support/settled.ts";
import { runSql } from "../support/sql.ts";
import { testOperator } from "../support/test-operator.ts";

const gateway = withGateway(() => {
  const fixture = simulatorManifest({
    provider: "house",
    dialect: "wire_a",
    models: [textModel("house/own")],
  }) as { provider: object };
  const isPrivate = { ...fixture, provider: { ...fixture.provider, listing: "private" } };
  return { manifests: [...STANDARD_MANIFESTS, isPrivate] };
});

async function limitsOf(account: TestAccount, query = ""): Promise<HttpAnswer> {
  return await httpCall(`${gateway.url}/v1/limits${query}`, { headers: bearer(account.key) });
}

async function chat(account: TestAccount, body = chatBody("test/a")): Promise<HttpAnswer> {
  const url = `${gateway.url}/v1/chat/completions`;
  return await httpCall(url, { body, headers: bearer(account.key) });
}

const DEFAULTS = { tpm: 1_000_000, concurrency: 8 };
const BY_DEFAULT = { rpm: "default", tpm: "default", concurrency: "default" };

describe("GET /v1/limits", () => {
  test("shows a fresh key all its limits, unused", async () => {
    const account = await gateway.account("5.00", { orgCapUsd: "40.00", keyCapUsd: "7.50" });
    const { json, status, headers } = await limitsOf(account);
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("application/json");
    const key = `key:${account.keyId}`;
    const reset = expect.stringMatching(/^\d{4}-\d\d-01T00:00:00\.000Z$/);
    expect(json).toEqual({
      model: null,
      effective: {
        rpm: { limit: 300, remaining: 300, bound_by: key },
        tpm: { limit: 1_000_000, remaining: 1_000_000, bound_by: key },
        concurrency: { limit: 8, in_use: 0, departed: 0, bound_by: key },
      },
      scopes: [
        {
          scope: "key",
          id: key,
          rpm: 300,
          ...DEFAULTS,
          ceiling: { rpm: 300, ...DEFAULTS },
          source: BY_DEFAULT,
        },
        {
          scope: "org",
          id: `org:${account.orgId}`,
          rpm: 300,
          ...DEFAULTS,
          ceiling: { rpm: 300, ...DEFAULTS },
          source: BY_DEFAULT,
        },
      ],
      output_bound: { min: 1, max: 32_768, default: 4_096 },
      spend: {
        org: { cap_usd: 40, settled_usd: 0, in_flight_usd: 0, reset_at: reset },
        key: { cap_usd: 7.5, settled_usd: 0, in_flight_usd: 0, reset_at: reset },
      },
    });
  });

  test("shows what a call used: one request, the observed tokens and the money", async () => {
    const account = await gateway.account("5.00");
    const called = await chat(account);
    await settledRecord(gateway, account, String(called.headers["x-request-id"]));
    const { json } = await limitsOf(account, "?model=test%2Fa");
    expect(at(json, "model")).toBe("test/a");
    expect(at(json, "effective.rpm.remaining")).toBe(299);
    const tokens = Number(at(called.json, "usage.total_tokens"));
    expect(tokens).toBeGreaterThan(0);
    expect(at(json, "effective.tpm.remaining")).toBe(1_000_000 - tokens);
    const cost = at(called.json, "usage.cost");
    expect(at(json, "spend.org")).toMatchObject({ cap_usd: null, settled_usd: cost });
    expect(at(json, "spend.key")).toMatchObject({ cap_usd: null, settled_usd: cost });
  });

  test("shows the requests in flight and what they hold", async () => {
    const account = await gateway.account("5.00");
    const held = { messages: [{ role: "user", content: "[[fault:hold]] Hello" }] };
    const running = [1, 2].map(() => chat(account, chatBody("test/a", held)));
    await until("both are at the provider", () => gateway.simulator.counts().open === 2);
    const { json } = await limitsOf(account);
    expect(at(json, "effective.concurrency.in_use")).toBe(2);
    expect(Number(at(json, "spend.org.in_flight_usd"))).toBeGreaterThan(0);
    gateway.simulator.release();
    await Promise.all(running);
    const after = await limitsOf(account);
    expect(at(after.json, "effective.concurrency.in_use")).toBe(0);
  });

  test("uses up nothing", async () => {
    const account = await gateway.account("5.00", { requestsPerMinute: 1 });
    const before = await accountState(gateway, account);
    for (let n = 0; n < 3; n += 1) expect((await limitsOf(account)).status).toBe(200);
    expect(await accountState(gateway, account)).toEqual(before);
    expect((await chat(account)).status).toBe(200);
    // The route answers also when no request is left.
    const spent = await limitsOf(account);
    expect(at(spent.json, "effective.rpm")).toMatchObject({ limit: 1, remaining: 0 });
  });

  test("answers an unlisted model with the same 404 as a call", async () => {
    const account = await gateway.account("5.00");
    const reported = await limitsOf(account, "?model=test%2Fnone");
    const called = await chat(account, chatBody("test/none"));
    expectRefusal(reported, { status: 404, code: "model_unavailable", message: '"test/none"' });
    expect(at(reported.json, "error")).toEqual(at(called.json, "error"));
    const foreign = await limitsOf(account, "?model=house%2Fown");
    expectRefusal(foreign, { status: 404, code: "model_unavailable" });
  });
});

describe("the source of a limit", () => {
  test("is the contract in place of the default, or a lower limit of the customer", async () => {
    const account = await gateway.account("5.00");
    const { orgId } = account;
    const keyId = account.keyId as KeyId;
    const { rulesStore } = gateway.backend;
    const contract = { requestsPerMinute: 5_000, concurrent: 64 };
    await rulesStore.changeLimit(
      orgId,
      { source: "contract", scope: "key" },
      contract,
      testOperator,
    );
    const self = { tokensPerMinute: 700, concurrent: 9 };
    await rulesStore.changeLimit(
      orgId,
      { source: "self", scope: "key", keyId },
      self,
      testOperator,
    );
    const { json } = await limitsOf(account);
    expect(listAt(json, "scopes")[0]).toEqual({
      scope: "key",
      id: `key:${keyId}`,
      rpm: 5_000,
      tpm: 700,
      concurrency: 9,
      ceiling: { rpm: 5_000, tpm: 1_000_000, concurrency: 64 },
      source: { rpm: "contract", tpm: "self", concurrency: "self" },
    });
    expect(at(json, "effective.rpm.bound_by")).toBe(`org:${orgId}`);
    expect(at(json, "effective.tpm.limit")).toBe(700);
  });

  test("is shown per model, of the key and of the organization, when a limit names that model", async () => {
    const account = await gateway.account("5.00");
    const { orgId } = account;
    const keyId = account.keyId as KeyId;
    const { rulesStore } = gateway.backend;
    const model = { source: "self", scope: "model", modelId: "test/a" } as const;
    await rulesStore.changeLimit(
      orgId,
      { ...model, keyId },
      { requestsPerMinute: 2 },
      testOperator,
    );
    await rulesStore.changeLimit(orgId, model, { tokensPerMinute: 900 }, testOperator);
    const { json } = await limitsOf(account, "?model=test/a");
    const none = { rpm: null, tpm: null, concurrency: null };
    const ceiling = { rpm: 300, ...DEFAULTS };
    expect(listAt(json, "scopes").slice(1, 3)).toEqual([
      {
        scope: "model",
        id: "model:test/a",
        key_id: keyId,
        ...none,
        rpm: 2,
        ceiling,
        source: { ...none, rpm: "self" },
      },
      {
        scope: "model",
        id: "model:test/a",
        ...none,
        tpm: 900,
        ceiling,
        source: { ...none, tpm: "self" },
      },
    ]);
    expect(at(json, "effective")).toMatchObject({
      rpm: { limit: 2, bound_by: "model:test/a" },
      tpm: { limit: 900, bound_by: "model:test/a" },
    });
    const other = await limitsOf(account, "?model=test/b");
    expect(listAt(other.json, "scopes")).toHaveLength(2);
  });

  test("is the dedicated endpoint for its models", async () => {
    const account = await gateway.account("5.00");
    const { orgId } = account;
    const { rulesStore } = gateway.backend;
    const paced = { perSecond: 2, waitMsMax: 500 };
    const limits = { requestsPerMinute: 90, requestsPerSecond: 4, paced };
    const made = await rulesStore.createEndpoint(
      { orgId, providerId: "house", limits },
      testOperator,
    );
    if (made === undefined || made === "taken") throw new Error("the endpoint was not made");
    const { json } = await limitsOf(account, "?model=house/own");
    const id = `endpoint:${made.endpointId}`;
    const none = { rpm: null, tpm: null, concurrency: null };
    expect(listAt(json, "scopes")).toEqual([
      {
        scope: "endpoint",
        id,
        ...none,
        rpm: 90,
        rps: 4,
        paced: { per_second: 2, wait_ms_max: 500 },
        ceiling: { ...none, rpm: 90 },
        source: { ...none, rpm: "contract" },
      },
    ]);
    expect(at(json, "effective")).toEqual({
      rpm: { limit: 90, remaining: 90, bound_by: id },
      tpm: { limit: null, remaining: null, bound_by: null },
      concurrency: { limit: null, in_use: null, departed: null, bound_by: null },
    });
    const general = await limitsOf(account);
    expect(at(general.json, "effective.rpm.limit")).toBe(300);
  });
});

test("the unfunded limit is shown as such, and the first credit lifts it at once", async () => {
  const account = await gateway.account("0.00");
  const { json } = await limitsOf(account);
  const unfunded = { rpm: 20, ceiling: { rpm: 300 }, source: { rpm: "unfunded", tpm: "default" } };
  expect(listAt(json, "scopes")).toMatchObject([
    { scope: "key", ...unfunded },
    { scope: "org", ...unfunded },
  ]);
  await runSql(gateway, "update org set funded_at = now() where org_id = $1", [account.orgId]);
  expect(at((await limitsOf(account)).json, "effective.rpm.limit")).toBe(300);
});
