import { request as httpRequest } from "node:http";

import { expect, test } from "vitest";

import { ask, at, get, post, type Ask, type HttpAnswer, type Wire } from "../support/ask.ts";
import { until } from "../support/books.ts";
import { withGateway, type TestAccount, grantCredit } from "../support/gateway.ts";
import { jsonCommand } from "../support/operator.ts";
import { runSql } from "../support/sql.ts";

const REFUSED_LINE = 6;
const TRUSTED_PROXY = "127.0.0.9";
const LIMITED_SECONDS = 600;
const BOTH: readonly Wire[] = ["wire_a", "wire_b"];

const gateway = withGateway({
  settings: {
    unusualUseRefusedRequests: REFUSED_LINE,
    unusualUseLimitedSeconds: LIMITED_SECONDS,
    unusualUseClientAddresses: 3,
    unusualUseRequestsMin: 4,
    unusualUseSpendUsd: "0.01",
    trustedProxies: TRUSTED_PROXY,
  },
});

/** An organization with trial credit only. */
async function trialAccount(): Promise<TestAccount> {
  const account = await gateway.account("0");
  await grantCredit(gateway.backend, account.orgId, "1.00", { isTrial: true });
  return account;
}

function askWell({ key }: TestAccount, more: Partial<Ask> = {}): Promise<HttpAnswer> {
  return ask(gateway.url, { key, wire: "wire_a", model: "test/both", text: "hello", ...more });
}

/** Sends as many invalid requests as count as unusual use. */
async function misbehave({ key }: TestAccount, times = REFUSED_LINE): Promise<void> {
  for (let n = 0; n < times; n += 1) {
    const path = n % 2 === 0 ? "/v1/chat/completions" : "/v1/messages";
    const answer = await post(gateway.url, { key, path, body: "{}" });
    expect(answer.status).toBe(400);
  }
}

function codeOf(answer: HttpAnswer): string | undefined {
  return answer.headers["x-tm-error-code"];
}

function expectLimited(answer: HttpAnswer): void {
  expect(answer.status).toBe(429);
  expect(answer.headers).toMatchObject({
    "x-tm-error-code": "usage_limited",
    "x-tm-error-origin": "gateway_admission",
    "retry-after": "60",
  });
  expect(answer.headers["x-tm-attempts"]).toBeUndefined();
  expect(at(answer.json, "error", "metadata")).toMatchObject({
    origin: "gateway_admission",
    retryable: true,
    retry_at: expect.stringMatching(/^20.*Z$/),
  });
}

function expectRestricted(answer: HttpAnswer): void {
  expect(answer.status).toBe(403);
  expect(codeOf(answer)).toBe("usage_restricted");
  expect(answer.headers["retry-after"]).toBeUndefined();
  expect(at(answer.json, "error", "metadata", "retryable")).toBe(false);
  expect(at(answer.json, "error", "message")).toMatch(/contact support/);
}

/** Moves the organization's limit into the past, and waits until the gateway notices. */
async function afterItsLimit(account: TestAccount): Promise<void> {
  await runSql(
    gateway,
    `update usage_hold set created_at = created_at - $2 * interval '1 second',
      until_at = until_at - $2 * interval '1 second'
    where org_id = $1`,
    [account.orgId, LIMITED_SECONDS + 1],
  );
  await until("the limit has ended", async () => (await askWell(account)).status === 200);
}

test("a trial organization that sends many bad requests is limited at once on both wires, restricted on repetition, and freed by the command", async () => {
  const account = await trialAccount();
  expect((await askWell(account)).status).toBe(200);
  await misbehave(account);

  const [onA, onB] = await Promise.all(BOTH.map((wire) => askWell(account, { wire })));
  for (const answer of [onA, onB]) expectLimited(answer as HttpAnswer);
  expect(onA?.json).toMatchObject({
    error: { code: "usage_limited", type: "rate_limit_error", metadata: {} },
    request_id: onA?.requestId,
  });
  expect(onB?.json).toMatchObject({
    type: "error",
    error: { type: "rate_limit_error", error_type: "usage_limited" },
    request_id: onB?.requestId,
  });
  expect((await get(gateway.url, { key: account.key, path: "/v1/usage" })).status).toBe(200);

  await afterItsLimit(account);
  await misbehave(account);
  const restricted = await until("the repetition is known", async () => {
    const answer = await askWell(account);
    return codeOf(answer) === "usage_restricted" ? answer : undefined;
  });
  expectRestricted(restricted);
  expect(restricted.json).toMatchObject({
    error: { code: "usage_restricted", type: "permission_error" },
  });
  const again = await askWell(account, { wire: "wire_b", stream: true });
  expectRestricted(again);
  expect(again.json).toMatchObject({
    type: "error",
    error: { type: "permission_error", error_type: "usage_restricted" },
  });

  const env = { DATABASE_URL: gateway.config.databaseUrl };
  const lifted = await jsonCommand(
    ["unusual-use", "lift", account.orgId, "--family", "chat", "--reason", "known"],
    env,
  );
  expect(lifted.json["lifted"]).toEqual([
    expect.objectContaining({ state: "restricted", reason: "refused_requests 6 in 300 s" }),
    expect.objectContaining({ state: "limited" }),
  ]);
  await until("requests are let through", async () => (await askWell(account)).status === 200);
});

test("bought credit lifts an organization's limit for unusual use and prevents further ones", async () => {
  const account = await trialAccount();
  await misbehave(account);
  expectLimited(await askWell(account));
  await grantCredit(gateway.backend, account.orgId, "1.00");
  await until("the purchase is known", async () => (await askWell(account)).status === 200);
  await misbehave(account, 2 * REFUSED_LINE);
  for (const wire of BOTH) expect((await askWell(account, { wire })).status).toBe(200);
});

test("a trial organization is limited for spending its trial credit too fast", async () => {
  const account = await trialAccount();
  const dear = { text: "word ".repeat(3_000), maxTokens: 1_024 };
  const refused = await until("the line is reached", async () => {
    const answer = await askWell(account, dear);
    return answer.status === 200 ? undefined : answer;
  });
  expectLimited(refused);
  const [hold] = await recordedHoldsOf(account);
  expect(hold?.reason).toMatch(/^spend_usd 0\.01\d{4} in 300 s$/);
});

test.skipIf(process.platform !== "linux")(
  "a key used from many networks is limited, and only a trusted proxy's header names the networks",
  async () => {
    const proxied = await trialAccount();
    const direct = await trialAccount();
    const [atProxy, elsewhere]: [number[], number[]] = [[], []];
    for (const client of ["198.51.100.1", "198.51.100.2", "198.51.100.3", "198.51.100.1"]) {
      // The forged part of the header comes first.
      atProxy.push(await askFrom(TRUSTED_PROXY, proxied, `${atProxy.length}.1.1.1, ${client}`));
      elsewhere.push(await askFrom("127.0.0.1", direct, client));
    }
    expect(atProxy).toEqual([200, 200, 200, 429]);
    const [hold] = await recordedHoldsOf(proxied);
    expect(hold?.reason).toBe("client_addresses 3 in 300 s");
    expect(gateway.log()).not.toContain("198.51.100.3");
    expect(elsewhere).toEqual([200, 200, 200, 200]);
  },
);

/** Returns the recorded holds; a finding refuses at once and is recorded a moment later. */
async function recordedHoldsOf({ orgId }: TestAccount) {
  return await until("the finding is recorded", async () => {
    const holds = await gateway.backend.usageHoldStore.list({ orgId, isWithPast: false });
    return holds.length > 0 ? holds : undefined;
  });
}

/** The status of a valid request from this local address, on behalf of a client. */
function askFrom(
  localAddress: string,
  { key }: TestAccount,
  forwardedFor?: string,
): Promise<number> {
  const sent = httpRequest(`${gateway.url}/v1/chat/completions`, {
    agent: false,
    method: "POST",
    localAddress,
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      ...(forwardedFor === undefined ? {} : { "x-forwarded-for": forwardedFor }),
    },
  });
  const messages = [{ role: "user", content: "hi" }];
  sent.end(JSON.stringify({ model: "test/both", max_tokens: 8, messages }));
  return new Promise((resolve, reject) => {
    sent.once("error", reject);
    sent.once("response", (response) => {
      response.resume();
      response.once("end", () => resolve(response.statusCode ?? 0));
    });
  });
}
