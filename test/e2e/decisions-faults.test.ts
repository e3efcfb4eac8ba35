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

interface Expected {
  readonly status: number;
  readonly code: string;
  readonly upstreamStatus?: number;
  readonly retryable?: boolean;
  readonly retryAfter?: string;
}

const unavailable = { status: 503, code: "model_unavailable", retryable: false } as const;
const timedOut = { status: 504, code: "upstream_error", retryable: true } as const;
const unreadable = { status: 502, code: "gateway_error", upstreamStatus: 200 } as const;
/** One field of this answer makes it longer than the gateway reads. */
const LARGE = { urgent: { type: "noul", noul: 1, note: "x".repeat(4 * 1024 * 1024) } };

/** What fails, its listing, the simulator's fault, and what the client is told. */
const FAILURES: readonly (readonly [string, string, string, Expected])[] = [
  [
    "F54: a free allowance that is used up",
    "f54",
    'envelope:{"code":3036}',
    { ...unavailable, upstreamStatus: 429 },
  ],
  [
    "F55: a 429 with code 3040, whose retry-after is cut to a minute,",
    "f55",
    'envelope:{"code":3040};retry_after:300',
    { status: 429, code: "rate_limit", upstreamStatus: 429, retryable: true, retryAfter: "60" },
  ],
  [
    "F57: a 402 on the marketplace's key",
    "f57",
    "status:402",
    { ...unavailable, upstreamStatus: 402 },
  ],
  ["F58: a 408", "f58-408", "status:408", { ...timedOut, upstreamStatus: 408 }],
  ["F58: a 504", "f58-504", "status:504;body:html", { ...timedOut, upstreamStatus: 504 }],
  ["F58: no answer in time", "f58-hang", "hang:headers", timedOut],
  [
    "F59: success false in a 200",
    "f59",
    'envelope:{"success":false}',
    { status: 502, code: "upstream_error", upstreamStatus: 200 },
  ],
  ["an answer without its envelope", "bare", 'envelope:{"bare":true}', unreadable],
  ["a missing answer", "missing", "missing_answer", unreadable],
  ["an answer that is not JSON", "broken", "bad_json", unreadable],
  [
    "an answer of more than 4 MiB",
    "large",
    `answers:${JSON.stringify(LARGE)}`,
    { status: 502, code: "gateway_error" },
  ],
  [
    "a 422, which does not fail over",
    "rejected-over",
    "status:422;message:secret-provider-words",
    { status: 422, code: "upstream_error", upstreamStatus: 422, retryable: false },
  ],
];

/**
 * Every test has a listing of its own, so that no failure puts another's provider into cooldown.
 */
const NAMES = [
  ...FAILURES.map(([, model]) => model),
  "f54-over",
  "f56-over",
  "f59-over",
  "extra",
  "own",
];
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
  whose: TestAccount = account,
): Promise<HttpAnswer> {
  gateway.simulator.script({ model, fault, times: 1 });
  return await decide(gateway, whose, decisionBody(model));
}

/** Checks that the refusal reports a provider's failure without the provider's own message. */
async function expectFailure(answer: HttpAnswer, expected: Expected): Promise<void> {
  const { status, headers, json, text } = answer;
  const reported = {
    status,
    code: headers["x-tm-error-code"],
    upstreamStatus: Number(headers["x-tm-upstream-status"]),
    retryable: at(json, "error.metadata.retryable"),
    retryAfter: headers["retry-after"],
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

async function next(model: string): Promise<HttpAnswer> {
  return await decide(gateway, account, decisionBody(model));
}

test.each(FAILURES)(
  "%s becomes an error of the gateway that bills nothing",
  async (_what, model, fault, expected) => {
    const answer = await asking(model, fault);
    await expectFailure(answer, expected);
  },
);

test.each([
  ["a free allowance that is used up", "f54-over", 'envelope:{"code":3036}'],
  ["success false in a 200", "f59-over", 'envelope:{"success":false}'],
])("after %s the next provider is asked", async (_what, model, fault) => {
  const answer = await asking(model, fault);
  expect(answer.status).toBe(200);
  expect(answer.headers).toMatchObject({ "x-tm-attempts": "2", "x-tm-provider": "second" });
  const record = await ended(gateway, account, String(answer.headers["x-request-id"]));
  expect(record.attempts).toMatchObject([{ debitMicroUsd: 0n }, { outcome: "completed" }]);
  expect(debitOf(record)).toBeGreaterThan(0n);
});

test("F56: a 413 with code 5021 becomes a context_overflow with the provider's message, without failover", async () => {
  const answer = await asking("f56-over", 'envelope:{"code":5021}');
  expect(answer.status).toBe(413);
  expect(answer.headers).toMatchObject({
    "x-tm-error-code": "context_overflow",
    "x-tm-upstream-status": "413",
    "x-tm-attempts": "1",
  });
  expect(textAt(answer.json, "error.message")).toContain("exceeded this model context window");
  await expectUnbilled(answer);
  expect((await next("f56-over")).headers["x-tm-provider"]).toBe("wrapped");
});

test("an answer in an envelope is served without it, and without answers that no question asked for", async () => {
  const answer = await asking("extra", "extra_answer");
  expect(answer.status).toBe(200);
  expect(at(answer.json, "answers")).toEqual({
    urgent: expect.objectContaining({ value: expect.any(Boolean) }),
  });
  expect(answer.text).not.toContain("success");
  const record = await ended(gateway, account, String(answer.headers["x-request-id"]));
  expect(debitOf(record)).toBeGreaterThan(0n);
});

describe("a request with the caller's own provider key", () => {
  async function owner(usd: string): Promise<TestAccount> {
    const made = await gateway.account(usd);
    await addConnection(gateway.backend, { orgId: made.orgId, provider: "wrapped" });
    return made;
  }

  test("keeps the provider's 401 and does not fail over", async () => {
    const own = await owner("1.00");
    const answer = await asking("own", "status:401", own);
    expect(answer.status).toBe(401);
    expect(answer.headers).toMatchObject({
      "x-tm-error-code": "auth",
      "x-tm-error-origin": "upstream",
      "x-tm-upstream-status": "401",
      "x-tm-attempts": "1",
    });
    expect(textAt(answer.json, "error.message")).toContain("your organization's own key");
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
    const answer = await asking("own", "status:500", own);
    expect(answer.status).toBe(200);
    expect(answer.headers["x-tm-attempts"]).toBe("2");
  });
});

test("the books balance and nothing is held after all of these failures", async () => {
  await nothingHeld(gateway, account);
  expect(await brokenBooks(gateway)).toEqual([]);
});
