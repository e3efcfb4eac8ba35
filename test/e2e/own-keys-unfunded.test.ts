import { expect, test } from "vitest";

import { addConnection, ENCRYPTION_KEY, OWN_KEY } from "../support/add-connection.ts";
import { ask, type HttpAnswer } from "../support/ask.ts";
import { simulatorManifest, textModel, withGateway, type TestAccount } from "../support/gateway.ts";
import { at, bearer, httpCall } from "../support/http-call.ts";

/*
 * Without credit an organization has 20 requests a minute, here two. What its own provider keys
 * serve does not count among them, whether the request asks for nothing else or prefers them.
 */

const UNFUNDED = 2;
const BAD_KEY = "customer-invalid-key-0123456789";

const FREE = ["prompt", "completion"].map((type) => ({
  type,
  unit: "token",
  cost_usd_per_million: "0",
}));

const gateway = withGateway(() => ({
  settings: { encryptionKey: ENCRYPTION_KEY, unfundedRequestsPerMinute: UNFUNDED },
  manifests: [
    simulatorManifest({
      provider: "free-ai",
      dialect: "wire_a",
      models: [{ ...textModel("test/free"), pricing: FREE }],
    }),
  ],
}));

async function connect({ orgId }: TestAccount, providerKey: string): Promise<void> {
  await addConnection(gateway.backend, { orgId, provider: "free-ai", providerKey });
}

async function asking({ key }: TestAccount, connections?: string): Promise<HttpAnswer> {
  const more = connections === undefined ? {} : { more: { provider: { connections } } };
  return await ask(gateway.url, { key, wire: "wire_a", model: "test/free", text: "Hi", ...more });
}

function codeOf({ status, headers }: HttpAnswer): string {
  return `${status} ${headers["x-tm-error-code"] ?? ""}`.trim();
}

test.each([["prefer"], ["only"]])(
  "requests on customers' keys do not count towards the unfunded limit: connections %s",
  async (connections) => {
    const account = await gateway.account("0");
    await connect(account, OWN_KEY);
    for (let n = 0; n < UNFUNDED + 2; n += 1) {
      expect(codeOf(await asking(account, connections))).toBe("200");
    }
    // The window is as it was, and what counts in it is refused when it is full.
    for (let n = 0; n < UNFUNDED; n += 1) {
      expect(codeOf(await asking(account, "never"))).toBe("200");
    }
    const refused = await asking(account, "never");
    expect(codeOf(refused)).toBe("429 rate_limit");
    expect(refused.headers["x-tm-limit-id"]).toBe(`key:${account.keyId}`);
    expect(codeOf(await asking(account, connections))).toBe("200");
  },
);

test("a request that falls back to the marketplace's key counts towards the unfunded limit", async () => {
  const account = await gateway.account("0");
  await connect(account, BAD_KEY);
  for (let n = 0; n < UNFUNDED; n += 1) {
    const answer = await asking(account);
    expect(codeOf(answer)).toBe("200");
    expect(answer.headers["x-tm-attempts"]).toBe("2");
  }
  const refused = await asking(account);
  expect(codeOf(refused)).toBe("401 auth");
  expect(refused.headers["x-tm-attempts"]).toBe("1");
});

test("a dry run admits what customers' keys would serve", async () => {
  const account = await gateway.account("0");
  await connect(account, OWN_KEY);
  for (let n = 0; n < UNFUNDED - 1; n += 1) await asking(account, "never");
  const dryRun = async (connections: string): Promise<unknown> => {
    const body = {
      model: "test/free",
      messages: [{ role: "user", content: "Hi" }],
      provider: { connections },
    };
    const url = `${gateway.url}/v1/route?for=chat`;
    const answer = await httpCall(url, { body, headers: bearer(account.key) });
    return at(answer.json, "would_admit");
  };
  // A dry run counts as a request, so the first one fills the window.
  expect(await dryRun("prefer")).toBe(true);
});
