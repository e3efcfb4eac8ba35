import { describe, expect, test } from "vitest";
import { SMALL_BODY_BYTES_MAX } from "../../src/kernel/core/constants.ts";
import { ANTHROPIC_CLIENTS, say } from "../support/anthropic-clients.ts";
import { bodyOfSize, chatBody } from "../support/chat-bodies.ts";
import { PatientClock } from "../support/clocks.ts";
import {
  simulatorManifest,
  STANDARD_MANIFESTS,
  textModel,
  withAccount,
  withGateway,
} from "../support/gateway.ts";
import { at, bearer, httpCall, type HttpAnswer } from "../support/http-call.ts";
import { accountState, expectCleanRefusal, expectRefusal } from "../support/refusals.ts";

/** On this clock only a silent provider reaches the time limit, however busy the machine is. */
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

describe("the provider's own token count", () => {
  test("is returned unchanged as the only field", async () => {
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
    for (const model of ["test/a", "test/b"]) {
      expectCount(await count(question(model, { thinking: { type: "adaptive" } })));
    }
    expectCount(await count(question("test/b", { max_tokens: 64_000 })));
  });

  test.each([
    ["test/b", "reset:headers"],
    ["test/b", "hang:headers"],
    ["test/b", "gzip_bomb"],
    ["test/uncounted", undefined],
  ])(
    "of %s is replaced by an estimate when it fails (%s), which is no strike",
    async (model, fault) => {
      if (fault !== undefined) gateway.simulator.script({ path: COUNTING, fault, times: 1 });
      const answer = await count(question(model));
      expectCount(answer);
      expect(answer.headers).toMatchObject({ "x-tm-estimate": "local", "x-tm-attempts": "1" });
      expect(answer.headers["x-tm-provider"]).toBeUndefined();
      const after = await count(question("test/b"));
      expect(after.headers["x-tm-estimate"]).toBeUndefined();
    },
  );
});

describe("the local estimate", () => {
  test("is the answer to one more count while 32 of its organization wait for the provider", async () => {
    gateway.simulator.script({ path: COUNTING, fault: "hang:headers", times: 32 });
    const all = Array.from({ length: 33 }, () => count(question("test/b")));
    const attempts: unknown[] = [];
    for (const answer of await Promise.all(all)) {
      expectCount(answer);
      expect(answer.headers["x-tm-estimate"]).toBe("local");
      attempts.push(answer.headers["x-tm-attempts"]);
    }
    expect(attempts.filter((asked) => asked === "1")).toHaveLength(32);
    expect(attempts).toContain(undefined);
  });

  test("is the count for a wire_a model, and is marked as an estimate", async () => {
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

  test("replaces the provider's count when the first candidate of the request is a wire_a provider", async () => {
    expect((await count(question("test/both"))).headers["x-tm-estimate"]).toBe("local");
    expect((await count(question("test/ba"))).headers["x-tm-provider"]).toBe("prov-b");
    const thinking = question("test/both", { thinking: { type: "adaptive" } });
    expect((await count(thinking)).headers["x-tm-provider"]).toBe("prov-b2");
    const only = question("test/ba", { provider: { only: ["prov-a2"] } });
    expect((await count(only)).headers["x-tm-estimate"]).toBe("local");
  });
});

test("a token count uses one request of the minute, and no tokens or money", async () => {
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

test.each<[string, object, number, string, string]>([
  ["an unknown model", question("nope"), 404, "model_unavailable", '"nope"'],
  ["no messages", { model: "test/b" }, 400, "invalid_request", "messages"],
])(
  "a refused count (%s) is in the wire_b shape and costs nothing",
  async (_name, body, status, code, message) => {
    const route = { gateway, account, path: PATH };
    const answer = await expectCleanRefusal(route, { body }, { status, code, message });
    expect(at(answer.json, "type")).toBe("error");
  },
);

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

/** Checks that the dry run reports the refusal that the real route then gives. */
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

  test("is reported on the messages wire as the real route then serves it", async () => {
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
  test("the next request has all tokens and one request fewer", async () => {
    const fresh = await gateway.account("1.00", { requestsPerMinute: 5 });
    const reported = await dryRun("chat", chatBody("test/a"), fresh);
    expect(reported.headers["x-tm-remaining-rpm"]).toBe("4");
    const answer = await realRun("chat", chatBody("test/a"), fresh);
    const estimate = Number(at(reported.json, "estimate.input_tokens")) + 64;
    expect(answer.headers["x-tm-remaining-rpm"]).toBe("3");
    expect(Number(answer.headers["x-tm-remaining-tpm"])).toBe(1_000_000 - estimate);
  });

  test("a dry run is refused when no request of the minute is left", async () => {
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
    "the query %j is a 400 that names the valid targets",
    async (query) => {
      const route = { gateway, account, path: `/v1/route${query}` };
      const message = "chat, messages, images, videos or decisions";
      const expected = { status: 400, code: "invalid_request", message };
      await expectCleanRefusal(route, { body: chatBody("test/a") }, expected);
    },
  );
});

test.each(["videos", "decisions"])(
  "a body of one byte more than the route of %s reads is the same 413 in a dry run",
  async (asked) => {
    const headers = bearer(account.key);
    const ask = async (path: string, bytes: number): Promise<HttpAnswer> => {
      const body = bodyOfSize({ model: "nope", prompt: "{filler}" }, bytes);
      return await httpCall(gateway.url + path, { body, headers });
    };
    const over = SMALL_BODY_BYTES_MAX + 1;
    const reported = await ask(`/v1/route?for=${asked}`, over);
    expectRefusal(reported, { status: 413, code: "request_too_large", message: "1048576 bytes" });
    const answer = await ask(`/v1/${asked}`, over);
    expect(at(reported.json, "error")).toEqual(at(answer.json, "error"));
    const read = await ask(`/v1/route?for=${asked}`, SMALL_BODY_BYTES_MAX);
    expect(read.status).not.toBe(413);
  },
);
