import { describe, expect, test } from "vitest";

import { formatUsd, microUsd } from "../../../src/kernel/core/money.ts";
import { addKey } from "../../support/add-key.ts";
import { ask, at, bodyOf, type Ask, type HttpAnswer, type Wire } from "../../support/ask.ts";
import { nothingHeld } from "../../support/books.ts";
import { capOf, capsOf } from "../../support/cap-refusals.ts";
import { gatedManifest, sendToGate, withGatedProvider } from "../../support/gated-provider.ts";
import { withGateway, withSimulator, type TestAccount } from "../../support/gateway.ts";
import { testOperator } from "../../support/test-operator.ts";
import { storm } from "./storm.ts";

const REQUESTS = 200;
const AFFORDABLE = 10;
const MAX_TOKENS = 200;

const simulator = withSimulator();
const provider = withGatedProvider(simulator);
const gateway = withGateway(() => ({
  manifests: [gatedManifest(provider)],
  settings: {
    concurrentRequests: 1_000,
    orgRequestsPerMinute: 100_000,
    keyRequestsPerMinute: 100_000,
    tokensPerMinute: 100_000_000,
  },
}));

function asked(key: string, wire: Wire = "wire_a"): Ask {
  return { key, wire, model: "gated/model", text: "hold", maxTokens: MAX_TOKENS };
}

/** The most that a request can cost: a micro-dollar per byte, ten per output token. */
function worstCase(request: Ask): bigint {
  return BigInt(Buffer.byteLength(bodyOf(request))) + BigInt(MAX_TOKENS) * 10n;
}

const WORST = worstCase(asked("any"));
const STORM = { requests: REQUESTS, affordable: AFFORDABLE, worst: WORST };
const DOLLARS_FOR_TEN = formatUsd(microUsd(WORST * BigInt(AFFORDABLE)));

/** Sends all requests at once, with these keys in turn. Returns the refusals. */
function stormWith(account: TestAccount, keys: readonly string[]): Promise<readonly HttpAnswer[]> {
  return storm({
    backend: gateway.backend,
    provider,
    account,
    ...STORM,
    send: (n) => ask(gateway.url, asked(keys[n % keys.length] ?? "")),
  });
}

async function moreKeys(account: TestAccount, count: number): Promise<string[]> {
  const keys = [account.key];
  while (keys.length < count) {
    keys.push((await addKey(gateway.backend, account.orgId)).key);
  }
  return keys;
}

describe("200 parallel requests with money for exactly ten", () => {
  test("a balance admits exactly ten; the others get a retryable refusal with the amounts", async () => {
    const account = await gateway.account(DOLLARS_FOR_TEN);
    const refused = await stormWith(account, await moreKeys(account, 3));
    for (const { headers, json } of refused) {
      expect(headers).not.toHaveProperty("x-tm-cap-reset");
      expect(headers).toMatchObject({
        "x-tm-error-code": "insufficient_quota",
        "x-tm-error-origin": "gateway_admission",
        "x-tm-limit-scope": "org",
        "x-tm-limit-kind": "spend",
        "x-should-retry": "false",
      });
      expect(headers).not.toHaveProperty("x-tm-limit-id");
      expect(headers).not.toHaveProperty("x-tm-attempts");
      expect(at(json, "error", "code")).toBe("insufficient_quota");
      expect(at(json, "error", "type")).toBe("insufficient_quota");
      expect(at(json, "error", "metadata", "retryable")).toBe(true);
    }
    const last = refused.at(-1);
    const message = String(at(last?.json, "error", "message"));
    expect(message).toContain(`$${formatUsd(microUsd(WORST))}`);
    expect(message).toContain(`$${DOLLARS_FOR_TEN} is held`);
    expect(message).toContain("$0.000000 is available");
  });

  test("a key's monthly cap admits exactly ten; the others get a refusal with the cap and its reset", async () => {
    const account = await gateway.account("100", { keyCapUsd: DOLLARS_FOR_TEN });
    const refused = await stormWith(account, [account.key]);
    expect(capsOf(refused)).toEqual([capOf("key")]);
  });

  test.each(["day", "week"] as const)(
    "a key's cap per %s admits exactly ten; the others get a refusal with the end of that period",
    async (period) => {
      const account = await gateway.account("100", { keyCapUsd: "50" });
      const cap = microUsd(WORST * BigInt(AFFORDABLE));
      const edit = period === "day" ? { caps: { day: cap } } : { caps: { week: cap } };
      await gateway.backend.accountStore.editKeys("anyone", [account.keyId], edit, testOperator);
      const refused = await stormWith(account, [account.key]);
      expect(capsOf(refused)).toEqual([capOf("key", period)]);
    },
  );

  test("an organization's cap admits exactly ten over all its keys", async () => {
    const account = await gateway.account("100", { orgCapUsd: DOLLARS_FOR_TEN });
    const refused = await stormWith(account, await moreKeys(account, 4));
    expect(capsOf(refused)).toEqual([capOf("org")]);
  });
});

test("an organization's cap that is stricter than the key's refuses the request", async () => {
  const oneTooFew = formatUsd(microUsd(WORST - 1n));
  const account = await gateway.account("100", { keyCapUsd: "50", orgCapUsd: oneTooFew });
  expect(capsOf([await ask(gateway.url, asked(account.key))])).toEqual([capOf("org")]);
});

describe("a request with nothing else in flight", () => {
  test.each(["wire_a", "wire_b"] as const)(
    "is refused as not retryable if the wallet lacks one micro-dollar of its worst case, on %s",
    async (wire) => {
      const request = { ...asked("any", wire), text: "dear" };
      const account = await gateway.account(formatUsd(microUsd(worstCase(request) - 1n)));
      const refused = await ask(gateway.url, { ...request, key: account.key });
      expect(refused.status).toBe(429);
      expect(refused.headers).not.toHaveProperty("x-tm-cap-reset");
      expect(at(refused.json, "error", "metadata", "retryable")).toBe(false);
      const message = String(at(refused.json, "error", "message"));
      expect(message).toContain(`$${formatUsd(microUsd(worstCase(request)))}`);
      expect(message).toContain("$0.000000 is held");
      const type = wire === "wire_b" ? "billing_error" : "insufficient_quota";
      expect(at(refused.json, "error", "type")).toBe(type);
      await nothingHeld(gateway, account);
    },
  );

  test("is served if the wallet has exactly its worst case", async () => {
    const request = { ...asked("any"), text: "just enough" };
    const account = await gateway.account(formatUsd(microUsd(worstCase(request))));
    const send = () => ask(gateway.url, { ...request, key: account.key });
    const { call, answer } = await sendToGate(provider, send);
    call.release();
    expect((await answer).status).toBe(200);
    await nothingHeld(gateway, account);
  });
});
