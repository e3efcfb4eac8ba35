import { describe, expect, test } from "vitest";
import { chatBody } from "../support/chat-bodies.ts";
import { withAccount, withGateway } from "../support/gateway.ts";
import { at, bearer, httpCall, type HttpAnswer } from "../support/http-call.ts";
import { accountState, expectCleanRefusal, expectRefusal } from "../support/refusals.ts";

const gateway = withGateway();
const account = withAccount(gateway, "25.00");

type Asked = "chat" | "messages";
const REAL: Readonly<Record<Asked, string>> = {
  chat: "/v1/chat/completions",
  messages: "/v1/messages",
};

async function dryRun(asked: Asked, body: unknown, who = account): Promise<HttpAnswer> {
  const url = `${gateway.url}/v1/route?for=${asked}`;
  return await httpCall(url, { body, headers: bearer(who.key) });
}

async function realRun(asked: Asked, body: unknown, who = account): Promise<HttpAnswer> {
  return await httpCall(gateway.url + REAL[asked], { body, headers: bearer(who.key) });
}

/** The dry run reports the refusal that the real route then answers. */
async function expectSameRefusal(asked: Asked, body: unknown, who = account): Promise<HttpAnswer> {
  const reported = await dryRun(asked, body, who);
  const answer = await realRun(asked, body, who);
  expect(reported.status).toBe(200);
  expect(at(reported.json, "would_admit")).toBe(false);
  expect(at(reported.json, "refusal")).toMatchObject({
    status: answer.status,
    code: answer.headers["x-tm-error-code"],
    message: at(answer.json, "error.message"),
    retryable: at(answer.json, "error.metadata.retryable"),
  });
  return reported;
}

describe("a request that would be admitted", () => {
  test("is reported in full, and nothing is held, sent or charged", async () => {
    const before = await accountState(gateway, account);
    const body = chatBody("test/both", { models: ["x"], seed: 7 });
    const answer = await dryRun("chat", body);
    expect(await accountState(gateway, account)).toEqual(before);
    const input = Buffer.byteLength(JSON.stringify(body));
    expect(answer.json).toEqual({
      candidates: [
        {
          rank: 1,
          provider: "prov-a",
          upstream_id: "test/both",
          dialect: "wire_a",
          translated: false,
          priority: 0,
          health: "healthy",
          pool: { id: "pool:prov-a/test/both", has_capacity: true },
          own_key: false,
          reasons: ["its priority is 0", "it drops models"],
        },
        {
          rank: 2,
          provider: "prov-b2",
          upstream_id: "test/both",
          dialect: "wire_b",
          translated: true,
          priority: 1,
          health: "healthy",
          pool: { id: "pool:prov-b2/test/both", has_capacity: true },
          own_key: false,
          reasons: ["its priority is 1", "it drops models, seed"],
        },
      ],
      excluded: [],
      // $1 per million input tokens, $10 per million output tokens.
      estimate: { input_tokens: input, output_tokens: 64, reserve_micro_usd: input + 640 },
      would_admit: true,
      refusal: null,
      dropped_params: ["models"],
    });
  });

  test("has on the messages wire the result of the real route", async () => {
    const body = chatBody("test/a", { top_k: 5 });
    const reported = await dryRun("messages", body);
    expect(at(reported.json, "candidates.0")).toMatchObject({
      provider: "prov-a",
      translated: true,
    });
    const answer = await realRun("messages", body);
    expect(answer.headers["x-tm-provider"]).toBe("prov-a");
    const dropped = at(reported.json, "dropped_params");
    expect(dropped).toEqual(["top_k"]);
    expect(answer.headers["x-tm-dropped-params"]).toBe("top_k");
  });
});

describe("a dry run reports the refusal of", () => {
  test.each<[string, Asked, object]>([
    ["an unknown model", "chat", chatBody("nope")],
    ["controls that leave no provider", "chat", chatBody("test/a", { provider: { only: ["no"] } })],
    ["a field no provider can serve", "messages", chatBody("test/b", { temperature: 1.5 })],
  ])("%s", async (_name, asked, body) => {
    const reported = await expectSameRefusal(asked, body);
    expect(at(reported.json, "candidates")).toEqual([]);
    expect(at(reported.json, "estimate.reserve_micro_usd")).toBeNull();
  });

  test("a spend cap, with its scope and reset", async () => {
    const capped = await gateway.account("5.00", { keyCapUsd: "0.000100" });
    const reported = await expectSameRefusal("chat", chatBody("test/a"), capped);
    expect(at(reported.json, "refusal")).toMatchObject({
      origin: "gateway_admission",
      limit_scope: "key",
      limit_kind: "spend",
      reset_at: expect.stringMatching(/-01T00:00:00\.000Z$/),
    });
  });
});

describe("a dry run uses up one request of the minute and nothing else", () => {
  test("the next request has all tokens and one request less", async () => {
    const fresh = await gateway.account("1.00", { requestsPerMinute: 5 });
    const reported = await dryRun("chat", chatBody("test/a"), fresh);
    expect(reported.headers["x-tm-remaining-rpm"]).toBe("4");
    const answer = await realRun("chat", chatBody("test/a"), fresh);
    const estimate = Number(at(reported.json, "estimate.input_tokens")) + 64;
    expect(answer.headers["x-tm-remaining-rpm"]).toBe("3");
    expect(Number(answer.headers["x-tm-remaining-tpm"])).toBe(1_000_000 - estimate);
  });

  test("a dry run without a request left is refused", async () => {
    const fresh = await gateway.account("1.00", { requestsPerMinute: 1 });
    const reported = await dryRun("chat", chatBody("test/a"), fresh);
    expect(reported.json).toMatchObject({
      would_admit: false,
      refusal: { code: "rate_limit", limit_scope: "key", limit_kind: "rpm" },
    });
    const refused = await dryRun("chat", chatBody("test/a"), fresh);
    expectRefusal(refused, { status: 429, code: "rate_limit" });
  });
});

describe("a body or a target that cannot be read is the same 400 as on the real route:", () => {
  test.each<[string, unknown]>([
    ["no JSON", "hello"],
    ["an output bound out of range", chatBody("test/a", { max_tokens: 0 })],
  ])("%s", async (_what, body) => {
    const reported = await dryRun("chat", body);
    expect(reported.status).toBe(400);
    expect(at(reported.json, "error")).toEqual(at((await realRun("chat", body)).json, "error"));
  });

  test.each(["", "?for=__proto__"])(
    "%j is a 400 that names the routes of this version",
    async (query) => {
      const route = { gateway, account, path: `/v1/route${query}` };
      const message = "chat, messages, images, videos or decisions";
      const expected = { status: 400, code: "invalid_request", message };
      await expectCleanRefusal(route, { body: chatBody("test/a") }, expected);
    },
  );
});
