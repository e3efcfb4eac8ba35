import { describe, expect, test } from "vitest";

import { addConnection, ENCRYPTION_KEY } from "../support/add-connection.ts";
import { brokenBooks, debitOf, ended, nothingHeld } from "../support/books.ts";
import { PatientClock } from "../support/clocks.ts";
import { decide, decisionBody, decisionManifest, decisionModel } from "../support/decisions.ts";
import { PROVIDER_KEY, withAccount, withGateway, type TestAccount } from "../support/gateway.ts";
import { at, textAt, type HttpAnswer } from "../support/http-call.ts";

const DECISIONS_TIMEOUT_MS = 500;
/** On this clock only a silent provider reaches the time limit, however busy the machine is. */
const clock = new PatientClock();

/**
 * Every test has a listing of its own, so that no failure puts another's provider into cooldown.
 */
const NAMES = [
  "f54",
  "f54-over",
  "f55",
  "f56",
  "f56-over",
  "f57-402",
  "f57-circuit",
  "f58-408",
  "f58-504",
  "f58-hang",
  "f58-lone",
  "f59",
  "f59-over",
  "bare",
  "missing",
  "extra",
  "rejected-over",
  "broken",
  "large",
  "own",
] as const;
const SECOND = NAMES.filter((name) => name.endsWith("-over") || name === "own");

const listings = (names: readonly string[]): object[] => names.map((name) => decisionModel(name));

const gateway = withGateway({
  clock,
  settings: {
    encryptionKey: ENCRYPTION_KEY,
    decisionsTimeoutMs: DECISIONS_TIMEOUT_MS,
    orgRequestsPerMinute: 10_000,
    keyRequestsPerMinute: 10_000,
    concurrentRequests: 100,
  },
  manifests: [
    decisionManifest({
      provider: "wrapped",
      host: "wai",
      envelope: true,
      models: listings(NAMES),
    }),
    decisionManifest({
      provider: "second",
      host: "sys-second",
      priority: 1,
      models: listings(SECOND),
    }),
  ],
});
const account = withAccount(gateway, "100");

/** Sends one request, to which the simulator responds with this fault. */
async function asking(
  model: string,
  fault: string,
  change: { readonly account?: TestAccount; readonly more?: object } = {},
): Promise<HttpAnswer> {
  gateway.simulator.script({ model, fault, times: 1 });
  const body = decisionBody(model, { state: "The shop is down.", ...change.more });
  return await decide(gateway, change.account ?? account, body);
}

interface Expected {
  readonly status: number;
  readonly code: string;
  readonly upstreamStatus?: number;
  readonly retryable?: boolean;
}

/** Checks that the refusal reports a provider's failure without the provider's own message. */
async function expectFailure(answer: HttpAnswer, expected: Expected): Promise<void> {
  const { status, headers, json, text } = answer;
  const reported = {
    status,
    code: headers["x-tm-error-code"],
    upstreamStatus: Number(headers["x-tm-upstream-status"]),
    retryable: at(json, "error.metadata.retryable"),
    text,
  };
  expect(reported).toMatchObject(expected);
  expect(headers).toMatchObject({ "x-tm-error-origin": "upstream", "x-tm-attempts": "1" });
  expect("retry-after" in headers).toBe(status === 503 || status === 429);
  expect(text).not.toMatch(/secret-provider|neurons|<html|127\.0\.0\.1/);
  expect(text + JSON.stringify(headers)).not.toContain(PROVIDER_KEY);
  await expectUnbilled(answer);
}

async function expectUnbilled(answer: HttpAnswer, whose: TestAccount = account): Promise<void> {
  const record = await ended(gateway, whose, String(answer.headers["x-request-id"]));
  expect(debitOf(record)).toBe(0n);
  await nothingHeld(gateway, whose);
}

async function expectServedBySecond(answer: HttpAnswer): Promise<void> {
  expect(answer.status).toBe(200);
  expect(answer.headers).toMatchObject({ "x-tm-attempts": "2", "x-tm-provider": "second" });
  const record = await ended(gateway, account, String(answer.headers["x-request-id"]));
  expect(record.attempts).toMatchObject([{ debitMicroUsd: 0n }, { outcome: "completed" }]);
  expect(debitOf(record)).toBeGreaterThan(0n);
}

async function next(model: string): Promise<HttpAnswer> {
  return await decide(gateway, account, decisionBody(model));
}

describe("a provider whose free allowance is used up", () => {
  test("F54: a 429 with code 3036 becomes a 503 model_unavailable that is not retryable", async () => {
    const answer = await asking("f54", 'envelope:{"code":3036}');
    await expectFailure(answer, {
      status: 503,
      code: "model_unavailable",
      upstreamStatus: 429,
      retryable: false,
    });
    // Like every 429 of a provider, this one does not count as a failure, but starts a cooldown of
    // the pool, which refuses the next request.
    const cooling = await next("f54");
    expect(cooling.status).toBe(429);
    expect(cooling.headers["x-tm-limit-scope"]).toBe("pool");
  });

  test("fails over to the next provider", async () => {
    await expectServedBySecond(await asking("f54-over", 'envelope:{"code":3036}'));
  });
});

test("F55: a 429 with code 3040 becomes a 429 rate_limit with retry-after", async () => {
  const answer = await asking("f55", 'envelope:{"code":3040};retry_after:300');
  await expectFailure(answer, {
    status: 429,
    code: "rate_limit",
    upstreamStatus: 429,
    retryable: true,
  });
  expect(answer.headers["retry-after"]).toBe("60");
});

describe("a prompt that is too long for the provider", () => {
  test("F56: a 413 with code 5021 becomes a 413 context_overflow with the provider's message", async () => {
    const answer = await asking("f56", 'envelope:{"code":5021}');
    expect(answer.status).toBe(413);
    expect(answer.headers).toMatchObject({
      "x-tm-error-code": "context_overflow",
      "x-tm-upstream-status": "413",
      "x-tm-attempts": "1",
    });
    expect(textAt(answer.json, "error.message")).toContain("exceeded this model context window");
    await expectUnbilled(answer);
    expect((await next("f56")).status).toBe(200);
  });

  test("does not fail over to the next provider", async () => {
    const before = gateway.simulator.counts().total;
    const answer = await asking("f56-over", 'envelope:{"code":5021}');
    expect(answer.status).toBe(413);
    expect(gateway.simulator.counts().total).toBe(before + 1);
  });
});

describe("a provider that refuses the account", () => {
  test("F57: a 402 on the marketplace's key becomes a 503 model_unavailable that is not retryable", async () => {
    const answer = await asking("f57-402", "status:402");
    await expectFailure(answer, {
      status: 503,
      code: "model_unavailable",
      upstreamStatus: 402,
      retryable: false,
    });
  });

  test("counts as a strike: after three refusals the model answers 503 of kind health", async () => {
    for (const state of ["It is down.", "It is slow.", "It is up."]) {
      await asking("f57-circuit", "status:402", { more: { state } });
    }
    const cooling = await next("f57-circuit");
    expect(cooling.status).toBe(503);
    expect(cooling.headers).toMatchObject({
      "x-tm-error-code": "gateway_error",
      "x-tm-limit-kind": "health",
      "retry-after": "5",
    });
  });
});

describe("a request with the caller's own provider key", () => {
  async function owner(usd: string): Promise<TestAccount> {
    const made = await gateway.account(usd);
    await addConnection(gateway.backend, { orgId: made.orgId, provider: "wrapped" });
    return made;
  }

  test("keeps the provider's 401 and does not fail over", async () => {
    const own = await owner("1.00");
    const before = gateway.simulator.counts().total;
    const answer = await asking("own", "status:401", { account: own });
    expect(answer.status).toBe(401);
    expect(answer.headers).toMatchObject({
      "x-tm-error-code": "auth",
      "x-tm-error-origin": "upstream",
      "x-tm-upstream-status": "401",
      "x-tm-attempts": "1",
    });
    expect(textAt(answer.json, "error.message")).toContain("your organization's own key");
    expect(gateway.simulator.counts().total).toBe(before + 1);
    await expectUnbilled(answer, own);
  });

  test("costs nothing and is served with an empty wallet", async () => {
    const own = await owner("0");
    const answer = await decide(gateway, own, decisionBody("own"));
    expect(answer.status).toBe(200);
    expect(at(answer.json, "usage.cost")).toBe(0);
    await expectUnbilled(answer, own);
  });

  test("fails over to the next provider after a 500", async () => {
    const own = await owner("1.00");
    const answer = await asking("own", "status:500", { account: own });
    expect(answer.status).toBe(200);
    expect(answer.headers["x-tm-attempts"]).toBe("2");
  });
});

describe("a provider that is slow or down", () => {
  test.each([
    ["f58-408", "status:408", 408],
    ["f58-504", "status:504;body:html", 504],
    ["f58-hang", "hang:headers", undefined],
  ])(
    "F58 (%s): becomes a 504 upstream_error that is retryable",
    async (model, fault, upstreamStatus) => {
      const answer = await asking(model, fault);
      await expectFailure(answer, {
        status: 504,
        code: "upstream_error",
        retryable: true,
        ...(upstreamStatus === undefined ? {} : { upstreamStatus }),
      });
    },
  );

  test("opens no circuit by timeouts alone", async () => {
    for (let n = 0; n < 4; n += 1) {
      const answer = await asking("f58-lone", "status:408");
      expect(answer.headers["x-tm-attempts"]).toBe("1");
    }
    expect((await next("f58-lone")).status).toBe(200);
  });
});

describe("a failure that the provider sends with status 200", () => {
  test("F59: success false becomes a 502 upstream_error and bills nothing", async () => {
    const answer = await asking("f59", 'envelope:{"success":false}');
    await expectFailure(answer, { status: 502, code: "upstream_error", upstreamStatus: 200 });
  });

  test("fails over to the next provider", async () => {
    await expectServedBySecond(await asking("f59-over", 'envelope:{"success":false}'));
  });
});

describe("an answer that cannot be represented", () => {
  test.each([
    ["bare", 'envelope:{"bare":true}'],
    ["missing", "missing_answer"],
    ["broken", "bad_json"],
  ])("%s: becomes a 502 gateway_error and bills nothing", async (model, fault) => {
    const answer = await asking(model, fault);
    await expectFailure(answer, { status: 502, code: "gateway_error", upstreamStatus: 200 });
  });

  test("is served without the answers that no question asked for", async () => {
    const answer = await asking("extra", "extra_answer");
    expect(answer.status).toBe(200);
    expect(Object.keys(at(answer.json, "answers") as object)).toEqual(["urgent"]);
  });

  test("becomes a 502 gateway_error when it exceeds 4 MiB", async () => {
    const note = "x".repeat(4 * 1024 * 1024);
    const fault = `answers:${JSON.stringify({ urgent: { type: "noul", noul: 1, note } })}`;
    await expectFailure(await asking("large", fault), { status: 502, code: "gateway_error" });
  });
});

test("a provider's 422 keeps its status, hides the provider's message, and does not fail over", async () => {
  const before = gateway.simulator.counts().total;
  const answer = await asking("rejected-over", "status:422;message:secret-provider-words");
  await expectFailure(answer, {
    status: 422,
    code: "upstream_error",
    upstreamStatus: 422,
    retryable: false,
  });
  expect(gateway.simulator.counts().total).toBe(before + 1);
});

test("the books balance and nothing is held after all of these failures", async () => {
  await nothingHeld(gateway, account);
  expect(await brokenBooks(gateway)).toEqual([]);
});
