import { beforeEach, describe, expect, test } from "vitest";

import { addConnection, ENCRYPTION_KEY, OWN_KEY } from "../support/add-connection.ts";
import { ask, at, costOf, get, type Ask } from "../support/ask.ts";
import { brokenBooks, debitOf, ended, nothingHeld } from "../support/books.ts";
import {
  PROVIDER_KEY,
  simulatorManifest,
  STANDARD_MANIFESTS,
  textModel,
  tokenPrices,
  withGateway,
  type TestAccount,
} from "../support/gateway.ts";

const BAD_KEY = "customer-invalid-key-0123456789";
/** Requests per minute of an organization without credit; the default of 20 would take longer. */
const UNFUNDED = 2;
/** The first characters of each key, which are all that the simulator shows. */
const KEYS = { own: OWN_KEY.slice(0, 8), marketplace: PROVIDER_KEY.slice(0, 8) };

/** All answers that clients got. */
const reported: string[] = [];

const gateway = withGateway({
  settings: { encryptionKey: ENCRYPTION_KEY, unfundedRequestsPerMinute: UNFUNDED },
  manifests: [
    ...STANDARD_MANIFESTS,
    simulatorManifest({
      provider: "free-ai",
      dialect: "wire_a",
      models: [textModel("test/free", { pricing: tokenPrices({ prompt: "0", completion: "0" }) })],
    }),
  ],
});
beforeEach(async () => {
  await fetch(`${gateway.simulator.url}/calls/reset`, { method: "POST" });
});

type Connecting = Partial<Parameters<typeof addConnection>[1]>;

async function connect({ orgId }: TestAccount, change: Connecting = {}): Promise<string> {
  return await addConnection(gateway.backend, { orgId, provider: "prov-a", ...change });
}

async function asking(account: Pick<TestAccount, "key">, change: Partial<Ask> = {}) {
  const { key } = account;
  const answer = await ask(gateway.url, {
    key,
    wire: "wire_a",
    model: "test/a",
    text: "Hello",
    ...change,
  });
  reported.push(JSON.stringify(answer));
  return answer;
}

function connections(value: string): Pick<Ask, "more"> {
  return { more: { provider: { connections: value } } };
}

/** Tells whose key each call since the last reset had. */
function keysSent(): readonly string[] {
  return gateway.simulator.calls().map(({ headers }) => {
    const sent = `${String(headers["authorization"])} ${String(headers["x-api-key"])}`;
    const names = Object.entries(KEYS).filter(([, start]) => sent.includes(start));
    return names.map(([name]) => name).join(" and ");
  });
}

async function settledMicroUsd(account: TestAccount): Promise<bigint> {
  await nothingHeld(gateway, account);
  return (await gateway.backend.recordStore.balance(account.orgId)).settledMicroUsd;
}

describe("a request with the customer's own provider key", () => {
  test.each([
    ["wire_a", "wire_a", false],
    ["wire_b", "wire_a", true],
    ["wire_a", "wire_b", false],
  ] as const)(
    "costs an empty wallet nothing and is recorded in full: client %s, provider %s, stream %s",
    async (wire, providerWire, stream) => {
      const account = await gateway.account("0");
      const letter = providerWire === "wire_a" ? "a" : "b";
      await connect(account, { provider: `prov-${letter}` });
      const answer = await asking(account, { wire, model: `test/${letter}`, stream });
      expect(answer.status).toBe(200);
      expect(answer.headers["x-tm-provider"]).toBe(`prov-${letter}`);
      expect(answer.headers["x-tm-attempts"]).toBe("1");
      expect(costOf(answer)).toBe(0n);
      expect(keysSent()).toEqual(["own"]);
      const record = await ended(gateway, account, answer.requestId);
      expect(record.attempts).toMatchObject([
        { outcome: "completed", basis: "reported", debitMicroUsd: 0n, reserveMicroUsd: 0n },
      ]);
      expect(record.attempts[0]?.usage?.prompt).toBeGreaterThan(0);
      expect(record.attempts[0]?.usage?.completion).toBeGreaterThan(0);
      expect(await settledMicroUsd(account)).toBe(0n);
      const usage = await get(gateway.url, { key: account.key, path: "/v1/usage" });
      expect(at(usage.json, "data", 0)).toMatchObject({
        request_id: answer.requestId,
        provider: `prov-${letter}`,
        cost_micro_usd: 0,
      });
    },
  );

  test("keeps fields that change the price, which are dropped with the marketplace's key", async () => {
    const account = await gateway.account("1.00");
    await connect(account, { provider: "prov-b" });
    const tier = { wire: "wire_b", model: "test/b" } as const;
    const more = { service_tier: "auto", cache_control: { type: "ephemeral", ttl: "1h" } };
    const own = await asking(account, { ...tier, more });
    expect(own.headers).not.toHaveProperty("x-tm-dropped-params");
    const provider = { connections: "never" };
    const shared = await asking(account, { ...tier, more: { ...more, provider } });
    expect(shared.headers["x-tm-dropped-params"]).toBe("service_tier,cache_control.ttl");
    expect([own.status, shared.status]).toEqual([200, 200]);
    const bodies = gateway.simulator.calls().map(({ bodyText }) => bodyText);
    expect(bodies.map((body) => /service_tier/.test(body))).toEqual([true, false]);
    expect(bodies.map((body) => /"ttl":"1h"/.test(body))).toEqual([true, false]);
  });
});

describe("provider.connections", () => {
  test("set to prefer falls back to the marketplace's key, which is charged as usual", async () => {
    const account = await gateway.account("1.00");
    await connect(account, { providerKey: BAD_KEY });
    const answer = await asking(account, connections("prefer"));
    expect(answer.status).toBe(200);
    expect(answer.headers["x-tm-attempts"]).toBe("2");
    expect(keysSent()).toHaveLength(2);
    expect(keysSent()[1]).toBe("marketplace");
    const record = await ended(gateway, account, answer.requestId);
    expect(record.attempts).toMatchObject([
      { upstreamStatus: 401, errorClass: "auth", debitMicroUsd: 0n, usage: null },
      { outcome: "completed" },
    ]);
    expect(debitOf(record)).toBeGreaterThan(0n);
    expect(costOf(answer)).toBe(debitOf(record));
    expect(await settledMicroUsd(account)).toBe(1_000_000n - debitOf(record));
  });

  test("set to only uses no other key than the customer's, even when the provider fails", async () => {
    const account = await gateway.account("1.00");
    await connect(account, { provider: "prov-b2" });
    const both = { model: "test/both", ...connections("only") };
    const served = await asking(account, both);
    expect(served.status).toBe(200);
    expect(served.headers["x-tm-provider"]).toBe("prov-b2");
    const failed = await asking(account, { ...both, text: "[[fault:status:500]] Hello" });
    expect(failed.status).toBe(500);
    expect(failed.headers["x-tm-attempts"]).toBe("1");
    expect(keysSent()).toEqual(["own", "own"]);
    expect(await settledMicroUsd(account)).toBe(1_000_000n);
  });
});

describe("a provider's refusal of a customer's key", () => {
  test.each([402, 403])("keeps its status: %i", async (status) => {
    const account = await gateway.account("1.00");
    await connect(account);
    const text = `[[fault:status:${status}]] Hello`;
    const answer = await asking(account, { text, ...connections("only") });
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject({
      "x-tm-error-code": "auth",
      "x-tm-error-origin": "upstream",
      "x-tm-upstream-status": String(status),
    });
    expect(at(answer.json, "error", "message")).toContain("your organization's own key");
    expect(await settledMicroUsd(account)).toBe(1_000_000n);
  });

  test.each([true, false])(
    "inside a 200 is not blamed on the marketplace: stream %s",
    async (stream) => {
      const account = await gateway.account("1.00");
      await connect(account, { providerKey: BAD_KEY });
      const text = "[[fault:error_in_200]] Hello";
      const answer = await asking(account, { text, stream, ...connections("only") });
      expect(answer.headers).toMatchObject({
        "x-tm-error-code": "auth",
        "x-tm-upstream-status": "200",
      });
      expect(at(answer.json, "error", "message")).toContain("your organization's own key");
    },
  );

  test("with a 429 pauses that connection only", async () => {
    const account = await gateway.account("1.00");
    const id = await connect(account);
    const text = "[[fault:status:429;retry_after:30]] Hello";
    expect((await asking(account, { text, ...connections("only") })).status).toBe(429);
    const cooling = await asking(account, connections("only"));
    expect(cooling.status).toBe(429);
    expect(cooling.headers["x-tm-limit-id"]).toBe(`pool:connection:${id}`);
    expect(keysSent()).toEqual(["own"]);
    // The cooldown affects neither the marketplace's capacity nor another customer's connection.
    expect((await asking(account, connections("never"))).status).toBe(200);
    const other = await gateway.account("0");
    await connect(other);
    expect((await asking(other, connections("only"))).status).toBe(200);
  });

  test("opens the circuit of that connection, not the marketplace's", async () => {
    const account = await gateway.account("1.00");
    await connect(account, { providerKey: BAD_KEY });
    for (let failures = 0; failures < 8; failures += 1) {
      await asking(account, { ...connections("only"), text: `Hello ${failures}` });
    }
    const cooling = await asking(account, connections("only"));
    expect(cooling.status).toBe(503);
    expect(cooling.headers["x-tm-limit-kind"]).toBe("health");
    const other = await gateway.account("1.00");
    const served = await asking(other);
    expect(served.status).toBe(200);
    expect(served.headers["x-tm-attempts"]).toBe("1");
  });
});

describe("the limit of an organization without credit", () => {
  const free = { model: "test/free" };
  const never = { ...free, ...connections("never") };

  test.each(["prefer", "only"])(
    "does not count requests served with the customer's own key: connections %s",
    async (value) => {
      const account = await gateway.account("0");
      await connect(account, { provider: "free-ai" });
      const own = { ...free, ...connections(value) };
      for (let n = 0; n < UNFUNDED + 2; n += 1) {
        expect((await asking(account, own)).status).toBe(200);
      }
      // Nothing was counted so far; calls that do count are refused once the window is full.
      for (let n = 0; n < UNFUNDED; n += 1) {
        expect((await asking(account, never)).status).toBe(200);
      }
      const refused = await asking(account, never);
      expect(refused.status).toBe(429);
      expect(refused.headers).toMatchObject({
        "x-tm-error-code": "rate_limit",
        "x-tm-limit-id": `key:${account.keyId}`,
      });
      expect((await asking(account, own)).status).toBe(200);
    },
  );

  test("counts a request that falls back to the marketplace's key", async () => {
    const account = await gateway.account("0");
    await connect(account, { provider: "free-ai", providerKey: BAD_KEY });
    for (let n = 0; n < UNFUNDED; n += 1) {
      const answer = await asking(account, free);
      expect([answer.status, answer.headers["x-tm-attempts"]]).toEqual([200, "2"]);
    }
    const refused = await asking(account, free);
    expect([refused.status, refused.headers["x-tm-attempts"]]).toEqual([401, "1"]);
    expect(refused.headers["x-tm-error-code"]).toBe("auth");
  });
});

test("an organization's connection is not used for another organization", async () => {
  const owner = await gateway.account("0");
  await connect(owner);
  const stranger = await gateway.account("1.00");
  const answer = await asking(stranger);
  expect(answer.status).toBe(200);
  expect(keysSent()).toEqual(["marketplace"]);
  expect(costOf(answer)).toBeGreaterThan(0n);
});

test("a provider key that cannot be decrypted is not sent; the marketplace's key is used if allowed", async () => {
  const account = await gateway.account("1.00");
  const encryptionKey = Buffer.alloc(32, 6).toString("base64");
  await connect(account, { encryptionKey });
  const alone = await asking(account, connections("only"));
  expect(alone.status).toBe(502);
  expect(alone.headers["x-tm-error-code"]).toBe("model_unavailable");
  expect(keysSent()).toEqual([]);
  expect((await asking(account)).status).toBe(200);
  expect(keysSent()).toEqual(["marketplace"]);
});

test("the books balance after all tests, and no key has reached a log or a client", async () => {
  expect(await brokenBooks(gateway)).toEqual([]);
  const everything = reported.join("\n") + gateway.log();
  expect(reported.length).toBeGreaterThan(20);
  for (const secret of [OWN_KEY, BAD_KEY, PROVIDER_KEY, ENCRYPTION_KEY]) {
    expect(everything).not.toContain(secret);
    expect(everything).not.toContain(secret.slice(4, 16));
  }
});
