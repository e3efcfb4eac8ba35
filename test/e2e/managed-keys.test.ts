import { afterAll, describe, expect, test, vi } from "vitest";

import type { KeyId, OrgId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import { addKey } from "../support/add-key.ts";
import { ask } from "../support/ask.ts";
import { nothingHeld } from "../support/books.ts";
import { chatBody } from "../support/chat-bodies.ts";
import { withGateway, type TestAccount } from "../support/gateway.ts";
import { at, bearer, httpCall, type HttpAnswer } from "../support/http-call.ts";
import { Listeners } from "../support/http-listener.ts";
import { expectRefusal } from "../support/refusals.ts";

const REFUSALS = 3;
const PATIENCE = { timeout: 30_000, interval: 10 };
const gateway = withGateway({ settings: { refusalsPerMinute: REFUSALS } });

const clients = new Listeners();
afterAll(() => clients.close());

/** Ids of managed keys, and all answers to clients. */
const ids: string[] = [];
const answered: string[] = [];

interface ManagedKey {
  readonly account: TestAccount;
  readonly raw: string;
  readonly keyId: KeyId;
}

type Origin = "playground" | "optimize";

async function managedKey(
  origin: Origin,
  { rpm = 60, capMicroUsd }: { readonly rpm?: number; readonly capMicroUsd?: bigint } = {},
): Promise<ManagedKey> {
  const account = await gateway.account("1.00");
  const { keyId, key: raw } = await addKey(gateway.backend, account.orgId, {
    origin,
    requestsPerMinuteCeiling: rpm,
    caps: { month: capMicroUsd === undefined ? null : microUsd(capMicroUsd) },
  });
  ids.push(keyId);
  return { account, raw, keyId };
}

async function get(key: string, path: string): Promise<HttpAnswer> {
  return noted(await httpCall(`${gateway.url}${path}`, { headers: bearer(key) }));
}

async function post({ raw }: ManagedKey, path: string, body: unknown): Promise<HttpAnswer> {
  return noted(await httpCall(`${gateway.url}${path}`, { body, headers: bearer(raw) }));
}

function noted(answer: HttpAnswer): HttpAnswer {
  answered.push(JSON.stringify(answer.headers), answer.text);
  return answer;
}

const chat = (key: ManagedKey): Promise<HttpAnswer> =>
  post(key, "/v1/chat/completions", chatBody("test/a"));

describe("a managed key", () => {
  test.each<[Origin]>([["playground"], ["optimize"]])(
    "of %s is shown by that name in its organization's usage, as JSON and as CSV",
    async (origin) => {
      const { account, raw } = await managedKey(origin);
      await ask(gateway.url, { key: raw, wire: "wire_a", model: "test/a", text: "Hi" });
      await ask(gateway.url, { key: account.key, wire: "wire_a", model: "test/a", text: "Hi" });
      await nothingHeld(gateway, account);
      const rows = await get(account.key, "/v1/usage");
      expect([at(rows.json, "data.0.key_id"), at(rows.json, "data.1.key_id")]).toEqual([
        account.keyId,
        origin,
      ]);
      const groups = await get(account.key, "/v1/usage?group_by=key");
      const names = [at(groups.json, "data.0.group"), at(groups.json, "data.1.group")];
      expect(names).toHaveLength(2);
      expect(names).toEqual(expect.arrayContaining([account.keyId, origin]));
      const file = await get(account.key, "/v1/usage?format=csv");
      expect(file.text.split("\r\n").map((line) => line.split(",")[2])).toEqual([
        "key_id",
        account.keyId,
        origin,
        undefined,
      ]);
      const sums = await get(account.key, "/v1/usage?format=csv&group_by=key");
      expect(sums.text).toContain(`\r\n${origin},1,`);
    },
  );

  test("is shown by its name in its limits and in those that it sets", async () => {
    const key = await managedKey("playground");
    const change = { scope: "model", model: "test/a", rpm: 7 };
    const changed = await post(key, "/api/admission-limits", change);
    expect(at(changed.json, "key_id")).toBe("playground");
    expect(at(changed.json, "effective.tpm.bound_by")).toBe("key:playground");
    const limits = await get(key.raw, "/v1/limits?model=test/a");
    expect(at(limits.json, "scopes.0")).toMatchObject({ scope: "key", id: "key:playground" });
    expect(at(limits.json, "scopes.1")).toMatchObject({ scope: "model", key_id: "playground" });
  });

  test("is shown by its name in refusals by its limits, its cap and its refused requests", async () => {
    const limited = await managedKey("playground", { rpm: 1 });
    await chat(limited);
    expect((await chat(limited)).headers["x-tm-limit-id"]).toBe("key:playground");
    const capped = await managedKey("playground", { capMicroUsd: 1n });
    const refused = await chat(capped);
    expect(refused.headers["x-tm-error-code"]).toBe("insufficient_quota");
    expect(refused.headers["x-tm-limit-id"]).toBe("key:playground");
    for (let n = 1; n < REFUSALS; n += 1) await post(capped, "/v1/messages", "no JSON");
    await expect
      .poll(async () => (await post(capped, "/v1/messages", "no JSON")).headers["x-tm-limit-id"])
      .toBe("refusals:playground");
  });
});

test("no answer and no log line of these calls has the id of a managed key", () => {
  const shown = [...answered, gateway.log()].join("\n");
  expect(ids.length).toBeGreaterThan(0);
  expect(answered.length).toBeGreaterThan(0);
  expect(ids.filter((id) => shown.includes(id))).toEqual([]);
});

async function countRefused(orgId: OrgId): Promise<number> {
  const range = { orgId, fromMs: Date.now() - 3_600_000, toMs: Date.now() + 1 };
  const { totals } = await gateway.backend.usageReports.report(
    { ...range, statuses: ["rejected_by_gateway"] },
    "status",
  );
  return totals.requests;
}

test("a key with too many refused requests in a minute is refused before its body is read", async () => {
  const account = await gateway.account("5.00");
  const send = (body: unknown): Promise<HttpAnswer> =>
    httpCall(`${gateway.url}/v1/chat/completions`, { body, headers: bearer(account.key) });
  for (let n = 0; n < REFUSALS; n += 1) {
    expect((await send(chatBody("test/a"))).status).toBe(200);
    expectRefusal(await send("no JSON"), { status: 400, code: "invalid_request" });
  }
  // The client announces a body and never sends it.
  const head =
    "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n" +
    `Authorization: Bearer ${account.key}\r\nContent-Length: 10\r\n\r\n`;
  const before = gateway.simulator.counts().total;
  const client = await clients.client(Number(new URL(gateway.url).port), head);
  await vi.waitFor(() => expect(client.text()).toMatch(/^HTTP\/1\.1 429 /), PATIENCE);
  const refused = await send(chatBody("test/a"));
  expectRefusal(refused, { status: 429, code: "rate_limit", message: "3 refused requests" });
  expect(refused.headers).toMatchObject({
    "retry-after": expect.stringMatching(/^\d+$/),
    "x-tm-limit-scope": "key",
    "x-tm-limit-kind": "rpm",
    "x-tm-limit-id": `refusals:${account.keyId}`,
  });
  expect(gateway.simulator.counts().total).toBe(before);
  await expect.poll(() => countRefused(account.orgId), PATIENCE).toBe(REFUSALS + 2);
});
