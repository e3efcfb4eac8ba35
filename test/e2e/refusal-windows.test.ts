import { afterAll, describe, expect, test, vi } from "vitest";

import type { OrgId } from "../../src/kernel/core/ids.ts";
import { chatBody } from "../support/chat-bodies.ts";
import { withAccount, withGateway, type TestAccount } from "../support/gateway.ts";
import { bearer, httpCall, type HttpAnswer } from "../support/http-call.ts";
import { Listeners } from "../support/http-listener.ts";
import { expectRefusal } from "../support/refusals.ts";

const LIMIT = 3;
const PATIENCE = { timeout: 5_000, interval: 10 };
const gateway = withGateway({ settings: { refusalsPerMinute: LIMIT } });

const clients = new Listeners();
afterAll(() => clients.close());

async function send(account: TestAccount, body: unknown): Promise<HttpAnswer> {
  return await httpCall(`${gateway.url}/v1/chat/completions`, {
    body,
    headers: bearer(account.key),
  });
}

async function countRefused(orgId: OrgId): Promise<number> {
  const range = { orgId, fromMs: Date.now() - 3_600_000, toMs: Date.now() + 1 };
  const { totals } = await gateway.backend.usageReports.report(
    { ...range, statuses: ["rejected_by_gateway"] },
    "status",
  );
  return totals.requests;
}

describe("refused requests have a separate window", () => {
  const account = withAccount(gateway, "5.00");

  test("that refuses a key before its body is read", async () => {
    for (let n = 0; n < LIMIT; n += 1) {
      expect((await send(account, chatBody("test/a"))).status).toBe(200);
      expectRefusal(await send(account, "no JSON"), { status: 400, code: "invalid_request" });
    }
    // The announced body is never sent.
    const head =
      "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n" +
      `Authorization: Bearer ${account.key}\r\nContent-Length: 10\r\n\r\n`;
    const before = gateway.simulator.counts().total;
    const client = await clients.client(Number(new URL(gateway.url).port), head);
    await vi.waitFor(() => expect(client.text()).toMatch(/^HTTP\/1\.1 429 /), PATIENCE);
    const refused = await send(account, chatBody("test/a"));
    expectRefusal(refused, { status: 429, code: "rate_limit", message: "3 refused requests" });
    expect(refused.headers).toMatchObject({
      "retry-after": expect.stringMatching(/^\d+$/),
      "x-tm-limit-scope": "key",
      "x-tm-limit-kind": "rpm",
      "x-tm-limit-id": `refusals:${account.keyId}`,
    });
    expect(gateway.simulator.counts().total).toBe(before);
    await expect.poll(() => countRefused(account.orgId), PATIENCE).toBe(LIMIT + 2);
  });
});
