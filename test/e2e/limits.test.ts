import { describe, expect, test } from "vitest";
import {
  CONCURRENT_REQUESTS_MAX,
  TOKENS_PER_MINUTE,
  UNFUNDED_REQUESTS_PER_MINUTE,
} from "../../src/kernel/core/constants.ts";
import { addKey } from "../support/add-key.ts";
import { until, untilTaken } from "../support/books.ts";
import { chatBody } from "../support/chat-bodies.ts";
import {
  simulatorManifest,
  STANDARD_MANIFESTS,
  textModel,
  withGateway,
  type TestAccount,
} from "../support/gateway.ts";
import { at, bearer, httpCall, listAt, textAt, type HttpAnswer } from "../support/http-call.ts";
import { PublishedApi } from "../support/openapi.ts";
import {
  accountState,
  expectCleanRefusal,
  expectRefusal,
  expectRefusedRecord,
} from "../support/refusals.ts";
import { settledRecord } from "../support/settled.ts";
import { runSql } from "../support/sql.ts";
import { testOperator } from "../support/test-operator.ts";

const HOUSE = simulatorManifest({
  provider: "house",
  dialect: "wire_a",
  isPrivate: true,
  models: [textModel("house/own")],
});
const perMinute = (value: number): object => ({
  capacity: [{ type: "request", per: "minute", value }],
});

const dailyTokens = (value: number): object => ({
  capacity: [{ type: "completion", unit: "token", per: "day", value }],
});

const POOLS = [
  simulatorManifest({
    provider: "small",
    dialect: "wire_a",
    models: [
      textModel("pool/alone", perMinute(4)),
      textModel("pool/shared", perMinute(4)),
      textModel("pool/cooled", perMinute(100)),
      textModel("pool/plain"),
      textModel("pool/daily", dailyTokens(400)),
      textModel("pool/tight", dailyTokens(400)),
      textModel("pool/hourly", { capacity: [{ type: "request", per: "hour", value: 2 }] }),
    ],
  }),
  simulatorManifest({
    provider: "large",
    dialect: "wire_a",
    priority: 1,
    models: [
      textModel("pool/shared"),
      textModel("pool/cooled"),
      textModel("pool/tight", perMinute(4)),
    ],
  }),
];
const gateway = withGateway({ manifests: [...STANDARD_MANIFESTS, HOUSE, ...POOLS] });

const hello = chatBody("test/a");

async function chat({ key }: Pick<TestAccount, "key">, body: object = hello): Promise<HttpAnswer> {
  const url = `${gateway.url}/v1/chat/completions`;
  return await httpCall(url, { body, headers: bearer(key) });
}

/** A greeting to the model. If `fault` is given, the provider answers with that fault. */
function greeting(model: string, fault = ""): object {
  const content = fault === "" ? "Hello" : `[[fault:${fault}]] Hello`;
  return chatBody(model, { messages: [{ role: "user", content }] });
}

async function limitsOf(account: TestAccount, query = ""): Promise<HttpAnswer> {
  return await httpCall(`${gateway.url}/v1/limits${query}`, { headers: bearer(account.key) });
}

const remaining = (answer: HttpAnswer, kind: "rpm" | "tpm"): number =>
  Number(answer.headers[`x-tm-remaining-${kind}`]);

describe("requests per minute of a key", () => {
  test("are refused beyond the limit with the exact headers and body of the specification", async () => {
    const account = await gateway.account("1.00", { requestsPerMinute: 2 });
    expect((await chat(account)).status).toBe(200);
    expect((await chat(account)).status).toBe(200);
    const before = await accountState(gateway, account);
    const askedAtMs = Date.now();
    const answer = await chat(account);
    expectRefusal(answer, { status: 429, code: "rate_limit", message: "2 requests per minute" });
    const { headers } = answer;
    expect(headers).toMatchObject({
      "x-tm-error-code": "rate_limit",
      "x-tm-error-origin": "gateway_admission",
      "x-tm-limit-scope": "key",
      "x-tm-limit-kind": "rpm",
      "x-tm-limit-id": `key:${account.keyId}`,
    });
    expect(headers).not.toHaveProperty("x-tm-attempts");
    expect(headers).not.toHaveProperty("x-tm-cap-reset");
    expect(headers).not.toHaveProperty("x-should-retry");
    const waitSeconds = Number(headers["retry-after"]);
    expect(headers["retry-after"]).toMatch(/^\d+$/);
    expect(waitSeconds).toBeGreaterThan(0);
    expect(waitSeconds).toBeLessThanOrEqual(61);
    expect(at(answer.json, "error")).toEqual({
      code: "rate_limit",
      type: "rate_limit_error",
      message: expect.any(String),
      metadata: {
        error_type: "rate_limit",
        origin: "gateway_admission",
        limit_scope: "key",
        limit_kind: "rpm",
        limit_id: `key:${account.keyId}`,
        retryable: true,
        retry_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      },
    });
    const retryAtMs = Date.parse(textAt(answer.json, "error.metadata.retry_at"));
    expect(retryAtMs).toBeGreaterThanOrEqual(askedAtMs + waitSeconds * 1000);
    expect(retryAtMs).toBeLessThanOrEqual(Date.now() + waitSeconds * 1000);
    expect(await accountState(gateway, account)).toEqual(before);
    await expectRefusedRecord(gateway, account, answer);
  });

  test("are counted over both wires and both key headers", async () => {
    const account = await gateway.account("1.00", { requestsPerMinute: 2 });
    expect((await chat(account)).status).toBe(200);
    const url = `${gateway.url}/v1/messages`;
    const call = { body: chatBody("test/b"), headers: { "x-api-key": account.key } };
    expect((await httpCall(url, call)).status).toBe(200);
    expect((await chat(account)).status).toBe(429);
    const refused = await httpCall(url, call);
    expectRefusal(refused, { status: 429, code: "rate_limit" });
    const metadata = { limit_scope: "key", limit_kind: "rpm", retryable: true };
    const error = { type: "rate_limit_error", error_type: "rate_limit", metadata };
    expect(refused.json).toMatchObject({ type: "error", error });
  });

  test("are not used up by the reading routes", async () => {
    const account = await gateway.account("1.00", { requestsPerMinute: 1 });
    const headers = bearer(account.key);
    for (const path of ["/v1/models", "/v1/models/test%2Fa", "/v1/usage", "/v1/generation?id=x"]) {
      for (let n = 0; n < 3; n += 1) await httpCall(gateway.url + path, { headers });
    }
    const answer = await chat(account);
    expect(answer.status).toBe(200);
    expect(remaining(answer, "rpm")).toBe(0);
  });
});

test(`an organization without credit of its own has ${UNFUNDED_REQUESTS_PER_MINUTE} requests a minute, whatever its key allows, until it is funded`, async () => {
  const account = await gateway.account("1.00");
  // Makes the organization unfunded: the limit does not depend on the balance.
  await runSql(gateway, "update org set funded_at = null where org_id = $1", [account.orgId]);
  const limits = {
    rpm: 20,
    ceiling: { rpm: 300 },
    source: { rpm: "unfunded", tpm: "default" },
  };
  expect(listAt((await limitsOf(account)).json, "scopes")).toMatchObject([
    { scope: "key", ...limits },
    { scope: "org", ...limits },
  ]);
  const first = await chat(account);
  expect(remaining(first, "rpm")).toBe(UNFUNDED_REQUESTS_PER_MINUTE - 1);
  for (let n = 1; n < UNFUNDED_REQUESTS_PER_MINUTE; n += 1) {
    expect((await chat(account)).status).toBe(200);
  }
  const refused = await chat(account);
  expectRefusal(refused, { status: 429, code: "rate_limit" });
  expect(refused.headers["x-tm-limit-scope"]).toBe("key");
  // A fresh key does not help: the whole organization is limited to 20 requests per minute.
  const sibling = await chat(await addKey(gateway.backend, account.orgId));
  expectRefusal(sibling, { status: 429, code: "rate_limit" });
  expect(sibling.headers).toMatchObject({
    "x-tm-limit-scope": "org",
    "x-tm-limit-kind": "rpm",
    "x-tm-limit-id": `org:${account.orgId}`,
  });
  await runSql(gateway, "update org set funded_at = now() where org_id = $1", [account.orgId]);
  expect(at((await limitsOf(account)).json, "effective.rpm.limit")).toBe(300);
});

test(`requests in flight of a key are refused at the ${CONCURRENT_REQUESTS_MAX + 1}th, and admitted when one ended`, async () => {
  const account = await gateway.account("1.00");
  const running = Array.from({ length: CONCURRENT_REQUESTS_MAX }, () =>
    untilTaken(() => chat(account, greeting("test/a", "hold"))),
  );
  await until("all are at the provider", () => {
    return gateway.simulator.counts().open === CONCURRENT_REQUESTS_MAX;
  });
  const refused = await chat(account);
  expectRefusal(refused, { status: 429, code: "rate_limit", message: "8 requests in flight" });
  expect(refused.headers).toMatchObject({
    "retry-after": expect.stringMatching(/^\d+$/),
    "x-tm-error-origin": "gateway_admission",
    "x-tm-limit-scope": "key",
    "x-tm-limit-kind": "concurrency",
    "x-tm-limit-id": `key:${account.keyId}`,
  });
  expect(at(refused.json, "error.metadata.retryable")).toBe(true);
  gateway.simulator.release();
  await Promise.all(running);
  const after = await chat(account);
  expect(after.status).toBe(200);
  // The eight requests and this one are counted; the refused one is not.
  expect(remaining(after, "rpm")).toBe(300 - CONCURRENT_REQUESTS_MAX - 1);
});

describe("tokens per minute", () => {
  test("are claimed by an estimate and corrected by what was observed", async () => {
    const account = await gateway.account("5.00");
    const estimate = Buffer.byteLength(JSON.stringify(hello)) + 64;
    const first = await chat(account);
    expect(remaining(first, "tpm")).toBe(TOKENS_PER_MINUTE - estimate);
    const observed = Number(at(first.json, "usage.total_tokens"));
    expect(observed).toBeLessThan(estimate);
    const second = await chat(account);
    expect(remaining(second, "tpm")).toBe(TOKENS_PER_MINUTE - observed - estimate);
    expect(remaining(second, "rpm")).toBe(298);
  });

  test("refuse as not retryable a request whose estimate exceeds them, and name the size that fits", async () => {
    const account = await gateway.account("25.00");
    const messages = [{ role: "user", content: "x".repeat(TOKENS_PER_MINUTE) }];
    const answer = await chat(account, chatBody("test/a", { messages }));
    const message = `at most ${TOKENS_PER_MINUTE - 64} bytes with this max_tokens of 64`;
    expectRefusal(answer, { status: 429, code: "rate_limit", message });
    expect(at(answer.json, "error.metadata")).toMatchObject({ retryable: false });
    expect(at(answer.json, "error.metadata")).not.toHaveProperty("retry_at");
    expect(answer.headers).toMatchObject({
      "retry-after": "60",
      "x-should-retry": "false",
      "x-tm-limit-scope": "key",
      "x-tm-limit-kind": "tpm",
      "x-tm-limit-id": `key:${account.keyId}`,
    });
    const after = await chat(account);
    const estimate = Buffer.byteLength(JSON.stringify(hello)) + 64;
    expect(remaining(after, "tpm")).toBe(TOKENS_PER_MINUTE - estimate);
  });
});

describe("a refusal uses up no limit", () => {
  test("of the organization when its key is over its own limit", async () => {
    const account = await gateway.account("1.00", { requestsPerMinute: 1 });
    const sibling = await addKey(gateway.backend, account.orgId);
    expect((await chat(account)).status).toBe(200);
    for (let n = 0; n < 5; n += 1) expect((await chat(account)).status).toBe(429);
    expect(remaining(await chat(sibling), "rpm")).toBe(298);
  });

  const small = chatBody("test/a", { max_tokens: 1 });

  test.each<[string, string, object, number, string, object]>([
    ["no balance covers it", "0.000100", hello, 429, "insufficient_quota", small],
    ["it has the wrong shape", "1.00", { ...hello, n: 2 }, 400, "invalid_request", hello],
    ["its model is unknown", "1.00", chatBody("nope"), 404, "model_unavailable", hello],
  ])("when %s", async (_why, usd, body, status, code, served) => {
    const account = await gateway.account(usd);
    for (let n = 0; n <= CONCURRENT_REQUESTS_MAX; n += 1) {
      expectRefusal(await chat(account, body), { status, code });
    }
    const answer = await chat(account, served);
    expect(answer.status).toBe(200);
    expect(remaining(answer, "rpm")).toBe(299);
  });
});

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

  test("shows what a call used (one request, the observed tokens, the money) and what a running one holds", async () => {
    const account = await gateway.account("5.00");
    const called = await chat(account);
    await settledRecord(gateway, account, String(called.headers["x-request-id"]));
    const { json } = await limitsOf(account, "?model=test%2Fa");
    expect(at(json, "model")).toBe("test/a");
    expect(at(json, "effective.rpm.remaining")).toBe(299);
    const tokens = Number(at(called.json, "usage.total_tokens"));
    expect(tokens).toBeGreaterThan(0);
    expect(at(json, "effective.tpm.remaining")).toBe(1_000_000 - tokens);
    const spend = { cap_usd: null, settled_usd: at(called.json, "usage.cost") };
    expect(at(json, "spend")).toMatchObject({ org: spend, key: spend });

    const running = chat(account, greeting("test/a", "hold"));
    await until("it is at the provider", () => gateway.simulator.counts().open === 1);
    const { heldMicroUsd } = await gateway.backend.recordStore.balance(account.orgId);
    expect(heldMicroUsd).toBeGreaterThan(0n);
    const meanwhile = await limitsOf(account);
    expect(at(meanwhile.json, "effective.concurrency.in_use")).toBe(1);
    const held = { ...spend, in_flight_usd: Number(heldMicroUsd) / 1_000_000 };
    expect(at(meanwhile.json, "spend")).toMatchObject({ org: held, key: held });
    gateway.simulator.release();
    await running;
  });

  test("uses up no request of the minute and no money", async () => {
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

  test("shows the limits of the dedicated endpoint for its models", async () => {
    const account = await gateway.account("5.00");
    const { orgId } = account;
    const { rulesStore } = gateway.backend;
    const paced = { perSecond: 2.5, waitMsMax: 500 };
    const limits = { requestsPerMinute: 90, requestsPerSecond: 4, paced };
    const made = await rulesStore.createEndpoint(
      { orgId, providerId: "house", limits },
      testOperator,
    );
    if (made === undefined || made === "taken") throw new Error("the endpoint was not made");
    const shown = await limitsOf(account, "?model=house/own");
    expect(new PublishedApi().problemsOf("GET /v1/limits", shown)).toEqual([]);
    const { json } = shown;
    const id = `endpoint:${made.endpointId}`;
    const none = { rpm: null, tpm: null, concurrency: null };
    expect(listAt(json, "scopes")).toEqual([
      {
        scope: "endpoint",
        id,
        ...none,
        rpm: 90,
        rps: 4,
        paced: { per_second: 2.5, wait_ms_max: 500 },
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

describe("a provider's declared capacity", () => {
  test("gives one organization half of it, and keeps the other half for others", async () => {
    const [greedy, other] = [await gateway.account("5.00"), await gateway.account("5.00")];
    const first = await chat(greedy, greeting("pool/alone"));
    expect(first.status).toBe(200);
    // The organization's share of the pool leaves fewer requests than the key's own limit of 300.
    expect(first.headers["x-tm-remaining-rpm"]).toBe("1");
    expect((await chat(greedy, greeting("pool/alone"))).status).toBe(200);
    const route = { gateway, account: greedy, path: "/v1/chat/completions" };
    const share = { status: 429, code: "rate_limit" };
    const refused = await expectCleanRefusal(route, { body: greeting("pool/alone") }, share);
    expect(refused.headers).toMatchObject({
      "x-tm-error-origin": "upstream_quota",
      "x-tm-limit-scope": "pool",
      "x-tm-limit-kind": "rpm",
      "x-tm-limit-id": "pool-share:small/pool/alone",
    });
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    expect(Date.parse(textAt(refused.json, "error.metadata.retry_at"))).toBeGreaterThan(0);

    expect((await chat(other, greeting("pool/alone"))).status).toBe(200);
    expect((await chat(other, greeting("pool/alone"))).status).toBe(200);
    const third = await gateway.account("5.00");
    const full = await chat(third, greeting("pool/alone"));
    expect(full.headers).toMatchObject({
      "x-tm-limit-scope": "pool",
      "x-tm-limit-id": "pool:small/pool/alone",
    });
    // A refusal by the pool has used up none of the caller's own limits.
    expect((await chat(third, greeting("pool/plain"))).headers["x-tm-remaining-rpm"]).toBe("299");
  });

  test("that is used up sends the next request to another provider", async () => {
    const account = await gateway.account("5.00");
    const providers: (string | string[] | undefined)[] = [];
    for (let n = 0; n < 4; n += 1) {
      const answer = await chat(account, greeting("pool/shared"));
      expect(answer.status).toBe(200);
      expect(answer.headers["x-tm-attempts"]).toBe("1");
      providers.push(answer.headers["x-tm-provider"]);
    }
    expect(providers).toEqual(["small", "small", "large", "large"]);
  });

  test("per hour refuses with a retry-after of up to an hour, and tells official clients not to retry", async () => {
    const account = await gateway.account("5.00");
    expect((await chat(account, greeting("pool/hourly"))).status).toBe(200);
    const refused = await chat(account, greeting("pool/hourly"));
    expectRefusal(refused, { status: 429, code: "rate_limit" });
    expect(refused.headers).toMatchObject({ "x-should-retry": "false" });
    expect(at(refused.json, "error.metadata")).toMatchObject({ retryable: true });
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(3_500);
  });

  test("that is smaller than a request refuses it as not retryable, unless another pool has room", async () => {
    const account = await gateway.account("5.00");
    const ask = async (model: string, max_tokens: number): Promise<unknown> => {
      return (await chat(account, chatBody(model, { max_tokens }))).json;
    };
    const outOf = (retryable: boolean, limit_id: string): object => ({
      error: { metadata: { retryable, limit_id } },
    });
    const share = "pool-share:small/pool/daily";
    const never = outOf(false, share);
    expect(await ask("pool/daily", 201)).toMatchObject(never);
    expect(textAt(await ask("pool/daily", 201), "error.message")).toContain(
      "what fits is at most 200 output tokens with this input",
    );
    await chat(account, greeting("pool/daily", "status:429;retry_after:1"));
    expect(await ask("pool/daily", 201)).toMatchObject(never);
    // A request that would fit once the pool is no longer throttled may be repeated.
    expect(await ask("pool/daily", 190)).toMatchObject({
      error: { metadata: { retryable: true } },
    });

    for (let n = 0; n < 2; n += 1) {
      expect(await ask("pool/tight", 300)).toMatchObject({ object: "chat.completion" });
    }
    expect(await ask("pool/tight", 300)).toMatchObject(outOf(true, "pool-share:large/pool/tight"));
  });
});

test("a provider that answers 429 gets no requests for a while: the request fails over, and no circuit opens", async () => {
  const account = await gateway.account("5.00");
  const fault = "status:429;retry_after:30";
  gateway.simulator.script({ model: "pool/cooled", fault, times: 1 });
  const failedOver = await chat(account, greeting("pool/cooled"));
  expect(failedOver.status).toBe(200);
  expect(failedOver.headers).toMatchObject({ "x-tm-provider": "large", "x-tm-attempts": "2" });
  const next = await chat(account, greeting("pool/cooled"));
  expect(next.headers).toMatchObject({ "x-tm-provider": "large", "x-tm-attempts": "1" });
  const url = `${gateway.url}/v1/route?for=chat`;
  const route = await httpCall(url, {
    body: chatBody("pool/cooled"),
    headers: bearer(account.key),
  });
  expect(at(route.json, "candidates.0")).toMatchObject({
    provider: "small",
    health: "healthy",
    pool: { id: "pool:small/pool/cooled", has_capacity: false },
  });
});
