import { beforeAll, describe, expect, test } from "vitest";
import { BODY_BYTES_MAX } from "../../src/kernel/core/constants.ts";
import { chatBody } from "../support/chat-bodies.ts";
import { PROVIDER_KEY, withAccount, withGateway, type TestAccount } from "../support/gateway.ts";
import {
  bearer,
  httpCall,
  withoutIds,
  type HttpAnswer,
  type HttpCall,
} from "../support/http-call.ts";
import { REQUEST_ID } from "../support/refusals.ts";
import { runSql } from "../support/sql.ts";
import { testOperator } from "../support/test-operator.ts";

const UNKNOWN_KEY = `tm_vk_${"0".repeat(48)}`;

const gateway = withGateway();
const account = withAccount(gateway, "25.00");
const disabled = withAccount(gateway, "25.00");

beforeAll(async () => {
  await gateway.backend.accountStore.editKeys(
    "anyone",
    [disabled.keyId],
    { disable: true },
    testOperator,
  );
});

const chat: HttpCall = { body: chatBody("test/a") };
const routes: readonly (readonly [string, HttpCall])[] = [
  ["/v1/chat/completions", chat],
  ["/v1/messages", chat],
  ["/v1/models", {}],
  ["/v1/models/test%2Fa", {}],
  ["/v1/usage", {}],
];

type Headers = NonNullable<HttpCall["headers"]>;

async function ask(path: string, call: HttpCall, headers: Headers = {}): Promise<HttpAnswer> {
  return await httpCall(gateway.url + path, { ...call, headers: { ...call.headers, ...headers } });
}

describe.each(routes)("%s", (path, call) => {
  test("takes the key in either header", async () => {
    const { key } = account;
    expect((await ask(path, call, bearer(key))).status).toBe(200);
    expect((await ask(path, call, { "x-api-key": key })).status).toBe(200);
    expect((await ask(path, call, { authorization: `bearer ${key}` })).status).toBe(200);
  });

  test("uses the Bearer key when both headers have one", async () => {
    const { key } = account;
    const rightFirst = { ...bearer(key), "x-api-key": UNKNOWN_KEY };
    expect((await ask(path, call, rightFirst)).status).toBe(200);
    const wrongFirst = { ...bearer(UNKNOWN_KEY), "x-api-key": key };
    expect((await ask(path, call, wrongFirst)).status).toBe(401);
  });

  test("answers every wrong key with the same 401, except for the request id", async () => {
    const calls = gateway.simulator.counts().total;
    const answers: unknown[] = [];
    for (const [cause, headers] of wrongCredentials()) {
      const answer = await ask(path, call, headers);
      expect({ cause, status: answer.status }).toEqual({ cause, status: 401 });
      answers.push(withoutIds(answer));
    }
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(gateway.simulator.counts().total).toBe(calls);
  });

  test("ignores a key in the URL, in a cookie or in the body", async () => {
    const { key } = account;
    const names = ["api_key", "apikey", "key", "access_token", "authorization", "x-api-key"];
    const query = names.map((name) => `${name}=${key}`).join("&");
    expect((await ask(`${path}?${query}`, call)).status).toBe(401);
    expect((await ask(path, call, { cookie: `x-api-key=${key}` })).status).toBe(401);
    if (call.body === undefined) return;
    const body = { ...chatBody("test/a"), api_key: key, "x-api-key": key };
    expect((await ask(path, { body })).status).toBe(401);
  });
});

describe("the 401 of a request without a key", () => {
  test("has exactly this body and these headers on wire_a routes", async () => {
    for (const path of ["/v1/chat/completions", "/v1/models", "/v1/usage", "/v1/no/such/route"]) {
      const answer = await ask(path, {});
      const id = expectAuthHeaders(answer);
      expect(answer.json).toEqual({
        error: {
          code: "auth",
          message: expect.stringContaining("x-api-key"),
          type: "invalid_request_error",
          metadata: { error_type: "auth", origin: "authorization", retryable: false },
        },
        request_id: id,
      });
    }
  });

  test("has exactly this body and these headers on the messages routes", async () => {
    for (const path of ["/v1/messages", "/v1/messages/count_tokens", "/v1/messages?beta=true"]) {
      const answer = await ask(path, chat);
      const id = expectAuthHeaders(answer);
      expect(answer.json).toEqual({
        type: "error",
        error: {
          type: "authentication_error",
          message: expect.stringContaining("x-api-key"),
          error_type: "auth",
          metadata: { origin: "authorization", retryable: false },
        },
        request_id: id,
      });
    }
  });

  test("comes before any check of the route, the size and the shape", async () => {
    const tooLarge = { body: Buffer.alloc(BODY_BYTES_MAX + 1, "x") };
    expect((await ask("/v1/chat/completions", tooLarge)).status).toBe(401);
    expect((await ask("/v1/chat/completions", { body: "no JSON" })).status).toBe(401);
    expect((await ask("/v1/no/such/route", {})).status).toBe(401);
  });

  test("does not lock out the right key after a flood of wrong ones", async () => {
    const wrong = Array.from({ length: 200 }, (_item, n) =>
      ask("/v1/models", {}, bearer(`tm_vk_${n.toString(16).padStart(48, "0")}`)),
    );
    const statuses = (await Promise.all(wrong)).map((answer) => answer.status);
    expect(new Set(statuses)).toEqual(new Set([401]));
    expect((await ask("/v1/models", {}, bearer(account.key))).status).toBe(200);
  });
});

describe("an account whose e-mail is not verified", () => {
  let unverified: TestAccount;
  beforeAll(async () => {
    unverified = await gateway.account("25.00");
    const sql = "update org set email_verified = false where org_id = $1";
    await runSql(gateway, sql, [unverified.orgId]);
  });

  test.each(routes)("is refused on %s", async (path, call) => {
    const calls = gateway.simulator.counts().total;
    const answer = await ask(path, call, bearer(unverified.key));
    expect(answer.status).toBe(403);
    expect(answer.headers["x-tm-error-code"]).toBe("email_not_verified");
    expect(gateway.simulator.counts().total).toBe(calls);
    const error = { message: expect.stringContaining("verif"), type: "permission_error" };
    const code = "email_not_verified";
    expect(answer.json).toMatchObject(
      path === "/v1/messages"
        ? { type: "error", error: { ...error, error_type: code } }
        : { error: { ...error, code } },
    );
  });
});

test("no customer's key and no provider's key is in the log", async () => {
  await ask("/v1/chat/completions", chat, bearer(account.key));
  await ask("/v1/chat/completions", { body: "no JSON" }, bearer(account.key));
  const log = gateway.log();
  expect(log).toContain("request_id");
  for (const secret of [account.key, disabled.key, UNKNOWN_KEY, PROVIDER_KEY]) {
    expect(log).not.toContain(secret);
  }
});

test("a provider gets its own key and never the customer's", async () => {
  await ask("/v1/chat/completions", chat, bearer(account.key));
  await ask("/v1/messages", { body: chatBody("test/b") }, { "x-api-key": account.key });
  const sent = JSON.stringify(gateway.simulator.calls());
  expect(sent).not.toContain("tm_vk_");
  const [toA, toB] = gateway.simulator.calls().slice(-2);
  expect(toA?.headers.authorization).toMatch(/^Bearer sk-test-/);
  expect(toB?.headers["x-api-key"]).toMatch(/^sk-test-/);
});

function wrongCredentials(): readonly (readonly [string, Headers])[] {
  const { key } = account;
  return [
    ["missing", {}],
    ["empty bearer", { authorization: "Bearer " }],
    ["empty x-api-key", { "x-api-key": "" }],
    ["scheme only", { authorization: "Bearer" }],
    ["another scheme", { authorization: `Basic ${key}` }],
    ["no scheme", { authorization: key }],
    ["malformed", bearer("hello")],
    ["a foreign key", bearer("sk-ant-api03-abcdef")],
    ["one character short", bearer(key.slice(0, -1))],
    ["one character more", bearer(`${key}0`)],
    ["upper case", bearer(key.toUpperCase())],
    ["two keys", { "x-api-key": `${key}, ${key}` }],
    ["quoted", bearer(`"${key}"`)],
    ["very long", bearer("a".repeat(8_000))],
    ["unknown", bearer(UNKNOWN_KEY)],
    ["unknown in x-api-key", { "x-api-key": UNKNOWN_KEY }],
    ["disabled", bearer(disabled.key)],
    ["disabled in x-api-key", { "x-api-key": disabled.key }],
  ];
}

function expectAuthHeaders(answer: HttpAnswer): string {
  const { headers } = answer;
  expect(answer.status).toBe(401);
  expect(headers["x-tm-error-code"]).toBe("auth");
  expect(headers["x-tm-error-origin"]).toBe("authorization");
  const id = String(headers["x-request-id"]);
  expect(id).toMatch(REQUEST_ID);
  expect(headers["request-id"]).toBe(id);
  return id;
}
