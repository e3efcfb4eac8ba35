import { beforeAll, describe, expect, test } from "vitest";
import { BODY_BYTES_MAX } from "../../src/kernel/core/constants.ts";
import { chatBody } from "../support/chat-bodies.ts";
import { withAccount, withGateway } from "../support/gateway.ts";
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

const unverified = withAccount(gateway, "25.00");

beforeAll(async () => {
  const sql = "update org set email_verified = false where org_id = $1";
  await runSql(gateway, sql, [unverified.orgId]);
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

const isWireB = (path: string): boolean => path.startsWith("/v1/messages");

test.each(routes)("%s takes a key of a verified account in either header", async (path, call) => {
  const { key } = account;
  expect((await ask(path, call, bearer(key))).status).toBe(200);
  expect((await ask(path, call, { "x-api-key": key })).status).toBe(200);
  const calls = gateway.simulator.counts().total;
  expect((await ask(path, call)).status).toBe(401);
  const answer = await ask(path, call, bearer(unverified.key));
  expect(answer.status).toBe(403);
  const code = "email_not_verified";
  expect(answer.headers["x-tm-error-code"]).toBe(code);
  const error = { message: expect.stringContaining("verif"), type: "permission_error" };
  expect(answer.json).toMatchObject(
    isWireB(path)
      ? { type: "error", error: { ...error, error_type: code } }
      : { error: { ...error, code } },
  );
  expect(gateway.simulator.counts().total).toBe(calls);
});

test("the Bearer key wins over x-api-key, and a key in a URL, a cookie or the body does not count", async () => {
  const { key } = account;
  const path = "/v1/chat/completions";
  const rightFirst = { ...bearer(key), "x-api-key": UNKNOWN_KEY };
  expect((await ask(path, chat, rightFirst)).status).toBe(200);
  const wrongFirst = { ...bearer(UNKNOWN_KEY), "x-api-key": key };
  expect((await ask(path, chat, wrongFirst)).status).toBe(401);
  const names = ["api_key", "apikey", "key", "access_token", "authorization", "x-api-key"];
  const query = names.map((name) => `${name}=${key}`).join("&");
  expect((await ask(`${path}?${query}`, chat)).status).toBe(401);
  expect((await ask(path, chat, { cookie: `x-api-key=${key}` })).status).toBe(401);
  const body = { ...chatBody("test/a"), api_key: key, "x-api-key": key };
  expect((await ask(path, { body })).status).toBe(401);
});

test("every wrong key gets the same 401, except for the request id", async () => {
  const calls = gateway.simulator.counts().total;
  const answers: unknown[] = [];
  for (const [cause, headers] of wrongCredentials()) {
    const answer = await ask("/v1/chat/completions", chat, headers);
    expect({ cause, status: answer.status }).toEqual({ cause, status: 401 });
    answers.push(withoutIds(answer));
  }
  for (const answer of answers) expect(answer).toEqual(answers[0]);
  expect(gateway.simulator.counts().total).toBe(calls);
});

describe("the 401 of a request without a key", () => {
  test("has exactly the wire_a error body and headers on wire_a routes and unknown routes", async () => {
    for (const path of ["/v1/chat/completions", "/v1/no/such/route"]) {
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

  test("has exactly the wire_b error body and headers on the messages routes", async () => {
    for (const path of ["/v1/messages", "/v1/messages/count_tokens?beta=true"]) {
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

  test("comes before any check of the size and the JSON of the body", async () => {
    const tooLarge = { body: Buffer.alloc(BODY_BYTES_MAX + 1, "x") };
    expect((await ask("/v1/chat/completions", tooLarge)).status).toBe(401);
    expect((await ask("/v1/chat/completions", { body: "no JSON" })).status).toBe(401);
  });
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
    ["scheme only", { authorization: "Bearer" }],
    ["another scheme", { authorization: `Basic ${key}` }],
    ["one character more", bearer(`${key}0`)],
    ["two keys", { "x-api-key": `${key}, ${key}` }],
    ["very long", bearer("a".repeat(8_000))],
    ["unknown", bearer(UNKNOWN_KEY)],
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
