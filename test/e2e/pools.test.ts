import { describe, expect, test } from "vitest";
import { chatBody } from "../support/chat-bodies.ts";
import { simulatorManifest, textModel, withGateway, type TestAccount } from "../support/gateway.ts";
import { at, bearer, httpCall, textAt, type HttpAnswer } from "../support/http-call.ts";
import { expectRefusal, expectRefusedRecord, accountState } from "../support/refusals.ts";

const perMinute = (value: number): object => ({
  capacity: [{ type: "request", per: "minute", value }],
});

const dailyTokens = (value: number): object => ({
  capacity: [{ type: "completion", unit: "token", per: "day", value }],
});

const gateway = withGateway({
  manifests: [
    simulatorManifest({
      provider: "small",
      dialect: "wire_a",
      models: [
        textModel("pool/alone", perMinute(4)),
        textModel("pool/shared", perMinute(4)),
        textModel("pool/cooled", perMinute(100)),
        textModel("pool/plain"),
        textModel("pool/other", perMinute(4)),
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
  ],
});

async function chat(account: TestAccount, model: string, fault = ""): Promise<HttpAnswer> {
  const content = fault === "" ? "Hello" : `[[fault:${fault}]] Hello`;
  const body = chatBody(model, { messages: [{ role: "user", content }] });
  const url = `${gateway.url}/v1/chat/completions`;
  return await httpCall(url, { body, headers: bearer(account.key) });
}

describe("a provider's declared capacity", () => {
  test("gives one organization half of it, and keeps the other half for others", async () => {
    const [greedy, other] = [await gateway.account("5.00"), await gateway.account("5.00")];
    const first = await chat(greedy, "pool/alone");
    expect(first.status).toBe(200);
    // The share of the pool has less left than the key's own 300.
    expect(first.headers["x-tm-remaining-rpm"]).toBe("1");
    expect((await chat(greedy, "pool/alone")).status).toBe(200);
    const before = await accountState(gateway, greedy);
    const refused = await chat(greedy, "pool/alone");
    expectRefusal(refused, { status: 429, code: "rate_limit" });
    expect(refused.headers).toMatchObject({
      "x-tm-error-origin": "upstream_quota",
      "x-tm-limit-scope": "pool",
      "x-tm-limit-kind": "rpm",
      "x-tm-limit-id": "pool-share:small/pool/alone",
    });
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    expect(refused.headers).not.toHaveProperty("x-tm-attempts");
    expect(Date.parse(textAt(refused.json, "error.metadata.retry_at"))).toBeGreaterThan(0);
    expect(await accountState(gateway, greedy)).toEqual(before);
    await expectRefusedRecord(gateway, greedy, refused);

    expect((await chat(other, "pool/alone")).status).toBe(200);
    expect((await chat(other, "pool/alone")).status).toBe(200);
    const third = await gateway.account("5.00");
    const full = await chat(third, "pool/alone");
    expect(full.headers).toMatchObject({
      "x-tm-limit-scope": "pool",
      "x-tm-limit-id": "pool:small/pool/alone",
    });
    // A refusal by the pool has used up none of the caller's own limits.
    expect((await chat(third, "pool/plain")).headers["x-tm-remaining-rpm"]).toBe("299");
  });

  test("that is used up sends the next request to another provider", async () => {
    const account = await gateway.account("5.00");
    const providers: (string | string[] | undefined)[] = [];
    for (let n = 0; n < 4; n += 1) {
      const answer = await chat(account, "pool/shared");
      expect(answer.status).toBe(200);
      expect(answer.headers["x-tm-attempts"]).toBe("1");
      providers.push(answer.headers["x-tm-provider"]);
    }
    expect(providers).toEqual(["small", "small", "large", "large"]);
  });

  test("of an hour says when it has room again, and tells official clients not to retry", async () => {
    const account = await gateway.account("5.00");
    expect((await chat(account, "pool/hourly")).status).toBe(200);
    const refused = await chat(account, "pool/hourly");
    expectRefusal(refused, { status: 429, code: "rate_limit" });
    expect(refused.headers).toMatchObject({ "x-should-retry": "false" });
    expect(at(refused.json, "error.metadata")).toMatchObject({ retryable: true });
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(3_500);
  });

  test("that is smaller than a request refuses it for good, unless another pool has room", async () => {
    const account = await gateway.account("5.00");
    const ask = async (model: string, max_tokens: number): Promise<unknown> => {
      const url = `${gateway.url}/v1/chat/completions`;
      const body = chatBody(model, { max_tokens });
      return (await httpCall(url, { body, headers: bearer(account.key) })).json;
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
    await chat(account, "pool/daily", "status:429;retry_after:1");
    expect(await ask("pool/daily", 201)).toMatchObject(never);
    // A request that only a throttled pool is too small for may come again.
    expect(await ask("pool/daily", 190)).toMatchObject({
      error: { metadata: { retryable: true } },
    });

    for (let n = 0; n < 2; n += 1) {
      expect(await ask("pool/tight", 300)).toMatchObject({ object: "chat.completion" });
    }
    expect(await ask("pool/tight", 300)).toMatchObject(outOf(true, "pool-share:large/pool/tight"));
  });
});

describe("a provider that answers 429", () => {
  test("gets no requests for a while: the request fails over, and no circuit opens", async () => {
    const account = await gateway.account("5.00");
    const fault = "status:429;retry_after:30";
    gateway.simulator.script({ model: "pool/cooled", fault, times: 1 });
    const failedOver = await chat(account, "pool/cooled");
    expect(failedOver.status).toBe(200);
    expect(failedOver.headers).toMatchObject({ "x-tm-provider": "large", "x-tm-attempts": "2" });
    const next = await chat(account, "pool/cooled");
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

  test("refuses with its own message first, then with the pool's until the cooldown is over", async () => {
    const account = await gateway.account("5.00");
    const said = await chat(account, "pool/plain", "status:429;retry_after:300");
    expectRefusal(said, { status: 429, code: "rate_limit" });
    expect(said.headers).toMatchObject({
      "x-tm-error-origin": "upstream",
      "retry-after": "60",
      "x-tm-attempts": "1",
    });
    const sent = gateway.simulator.counts().total;
    const resting = await chat(account, "pool/plain");
    expectRefusal(resting, { status: 429, code: "rate_limit" });
    expect(resting.headers).toMatchObject({
      "x-tm-error-origin": "upstream_quota",
      "x-tm-limit-scope": "pool",
      "x-tm-limit-kind": "capacity",
      "x-tm-limit-id": "pool:small/pool/plain",
    });
    expect(Number(resting.headers["retry-after"])).toBeLessThanOrEqual(60);
    expect(resting.headers).not.toHaveProperty("x-tm-attempts");
    expect(gateway.simulator.counts().total).toBe(sent);
  });
});
