import { describe, expect, test } from "vitest";
import { ANTHROPIC_CLIENTS, say } from "../support/anthropic-clients.ts";
import { PatientClock } from "../support/clocks.ts";
import {
  simulatorManifest,
  STANDARD_MANIFESTS,
  textModel,
  withAccount,
  withGateway,
} from "../support/gateway.ts";
import { at, bearer, httpCall, type HttpAnswer } from "../support/http-call.ts";
import { expectCleanRefusal, expectRefusal, accountState } from "../support/refusals.ts";

/**
 * The clock does not advance while the machine is busy, so only a silent provider reaches the short
 * limit.
 */
const clock = new PatientClock();
const PATH = "/v1/messages/count_tokens";
const COUNTING = "/b/v1/messages/count_tokens";

const gateway = withGateway(() => {
  // The simulator serves no model whose id begins with "unknown": it answers 404.
  const uncounted = simulatorManifest({
    provider: "prov-uncounted",
    dialect: "wire_b",
    models: [textModel("test/uncounted", { upstream_id: "unknown-1" })],
  });
  return {
    clock,
    settings: { streamHeadersTimeoutMs: 300 },
    manifests: [...STANDARD_MANIFESTS, uncounted],
  };
});
const account = withAccount(gateway, "25.00");

function question(model: string, more: object = {}): object {
  return { model, messages: [{ role: "user", content: "Hello there" }], ...more };
}

async function count(body: object, who = account, path = PATH): Promise<HttpAnswer> {
  return await httpCall(gateway.url + path, { body, headers: bearer(who.key) });
}

function expectCount(answer: HttpAnswer): void {
  expect(answer.text).toMatch(/^\{"input_tokens":[1-9]\d*\}$/);
  expect(answer.status).toBe(200);
}

describe("the provider's own count", () => {
  test("is returned unchanged, and only the count", async () => {
    const before = await accountState(gateway, account);
    const answer = await count(question("test/b"));
    expectCount(answer);
    expect(answer.headers).toMatchObject({ "x-tm-provider": "prov-b", "x-tm-attempts": "1" });
    expect(answer.headers["x-tm-estimate"]).toBeUndefined();
    const direct = await httpCall(gateway.simulator.url + COUNTING, {
      body: question("test/b"),
      headers: { "anthropic-version": "2023-06-01", "x-api-key": "any" },
    });
    expect(at(answer.json, "input_tokens")).toBe(at(direct.json, "input_tokens"));
    expect(await accountState(gateway, account)).toEqual(before);
  });

  test.each(ANTHROPIC_CLIENTS)(
    "is readable by the official client %s",
    async (_version, Client) => {
      const client = new Client({ baseURL: gateway.url, apiKey: account.key, maxRetries: 0 });
      const params = { model: "test/b", messages: [say("Hello there")] };
      const own = await client.messages.countTokens(params);
      const beta = await client.beta.messages.countTokens(params);
      expect(own.input_tokens).toBeGreaterThan(0);
      expect(beta.input_tokens).toBe(own.input_tokens);
    },
  );

  test("works with ?beta=true, thinking and any output bound", async () => {
    expectCount(await count(question("test/b"), account, `${PATH}?beta=true`));
    expectCount(await count(question("test/b", { thinking: { type: "adaptive" } })));
    expectCount(await count(question("test/b", { max_tokens: 64_000 })));
  });

  test.each(["reset:headers", "hang:headers", "gzip_bomb"])(
    "is replaced by an estimate when it fails (%s), and the provider gets no strike",
    async (fault) => {
      gateway.simulator.script({ path: COUNTING, fault, times: 1 });
      const answer = await count(question("test/b"));
      expectCount(answer);
      expect(answer.headers).toMatchObject({ "x-tm-estimate": "local", "x-tm-attempts": "1" });
      expect(answer.headers["x-tm-provider"]).toBeUndefined();
      const after = await count(question("test/b"));
      expect(after.headers["x-tm-estimate"]).toBeUndefined();
    },
  );

  test("is replaced by an estimate when the provider refuses to count", async () => {
    const answer = await count(question("test/uncounted"));
    expectCount(answer);
    expect(answer.headers).toMatchObject({ "x-tm-estimate": "local", "x-tm-attempts": "1" });
  });
});

describe("the local estimate", () => {
  test("answers for a model of the other wire, and is marked as an estimate", async () => {
    const before = await accountState(gateway, account);
    const answer = await count(question("test/a"));
    expectCount(answer);
    expect(answer.headers["x-tm-estimate"]).toBe("local");
    expect(answer.headers["access-control-expose-headers"]).not.toContain("x-tm-estimate");
    expect(answer.headers["x-tm-attempts"]).toBeUndefined();
    const longer = await count(question("test/a", { system: "Be brief and be kind." }));
    expect(Number(at(longer.json, "input_tokens"))).toBeGreaterThan(
      Number(at(answer.json, "input_tokens")),
    );
    expect(await accountState(gateway, account)).toEqual(before);
  });

  test("accepts thinking, although a call to that model could not", async () => {
    expectCount(await count(question("test/a", { thinking: { type: "adaptive" } })));
  });

  test("the first candidate of a call decides who counts", async () => {
    expect((await count(question("test/both"))).headers["x-tm-estimate"]).toBe("local");
    expect((await count(question("test/ba"))).headers["x-tm-provider"]).toBe("prov-b");
    const thinking = question("test/both", { thinking: { type: "adaptive" } });
    expect((await count(thinking)).headers["x-tm-provider"]).toBe("prov-b2");
    const only = question("test/ba", { provider: { only: ["prov-a2"] } });
    expect((await count(only)).headers["x-tm-estimate"]).toBe("local");
  });
});

test("a count takes one request of the minute, and no tokens or money", async () => {
  const poor = await gateway.account("0.00", { requestsPerMinute: 2 });
  for (const [model, left] of [
    ["test/b", "1"],
    ["test/a", "0"],
  ] as const) {
    const answer = await count(question(model), poor);
    expectCount(answer);
    expect(answer.headers["x-tm-remaining-rpm"]).toBe(left);
  }
  const refused = await count(question("test/b"), poor);
  expectRefusal(refused, { status: 429, code: "rate_limit", message: "2 requests per minute" });
  expect(refused.json).toMatchObject({ type: "error", error: { type: "rate_limit_error" } });
});

test.each<[string, object | string, number, string, string]>([
  ["an unknown model", question("nope"), 404, "model_unavailable", '"nope"'],
  ["no messages", { model: "test/b" }, 400, "invalid_request", "messages"],
  ["no JSON", "hello", 400, "invalid_request", "not valid JSON"],
])(
  "a refused count (%s) is in the wire_b shape and costs nothing",
  async (_name, body, status, code, message) => {
    const route = { gateway, account, path: PATH };
    const answer = await expectCleanRefusal(route, { body }, { status, code, message });
    expect(at(answer.json, "type")).toBe("error");
  },
);
