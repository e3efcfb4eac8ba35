import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { SMALL_BODY_BYTES_MAX } from "../../src/kernel/core/constants.ts";
import { brokenBooks, nothingHeld } from "../support/books.ts";
import {
  decide,
  decisionBody,
  decisionManifest,
  decisionModel,
  glinerBody,
  URGENT,
} from "../support/decisions.ts";
import { STANDARD_MANIFESTS, withGateway, withAccount } from "../support/gateway.ts";
import { at, bearer, httpCall, textAt } from "../support/http-call.ts";
import {
  expectCleanRefusal,
  expectRefusal,
  expectRefusedRecord,
  accountState,
  type ExpectedRefusal,
} from "../support/refusals.ts";
import { newFolder } from "../support/run-folder.ts";

const folder = newFolder("pools");

/** Two models of one provider share a pool. */
const POOLS = `
- id: decisions-shared
  listings: [sys/judge/twin-one, sys/judge/twin-two]
  requests_per_minute: 11400
  concurrent: 59
`;

const perMinute = (value: number): object => ({
  capacity: [{ type: "request", per: "minute", value }],
});

const gateway = withGateway(() => {
  const poolsFile = join(folder, "pools.yaml");
  writeFileSync(poolsFile, POOLS);
  return {
    settings: {
      poolsFile,
      orgRequestsPerMinute: 10_000,
      keyRequestsPerMinute: 10_000,
      decisionsPublicForm: "public-gli",
    },
    manifests: [
      ...STANDARD_MANIFESTS,
      decisionManifest({
        provider: "sys",
        host: "sys",
        models: [
          decisionModel("judge/plain"),
          decisionModel("judge/small-pool", perMinute(4)),
          decisionModel("judge/twin-one"),
          decisionModel("judge/twin-two"),
          decisionModel("judge/per-question", { decisions_state_per_question: true }),
        ],
      }),
      decisionManifest({
        provider: "public-gli",
        host: "gli-public",
        path: "/gliner-2",
        models: [decisionModel("tag/public", { decisions_wire: "gliner" })],
      }),
    ],
  };
});
const account = withAccount(gateway, "100");

async function expectRefused(body: unknown, expected: ExpectedRefusal): Promise<void> {
  const path = "/v1/decisions";
  await expectCleanRefusal({ gateway, account, path }, { body }, expected);
}

function invalid(message: string | RegExp): ExpectedRefusal {
  return { status: 400, code: "invalid_request", message };
}

const FLAT = { type: "classification", labels: ["a", "b"] };
const IMAGE = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };

describe("a request is refused with a 400 that names the place, before any money is held, for", () => {
  test.each<[string, unknown, string]>([
    [
      "a GLiNER question on a systemone listing",
      decisionBody("judge/plain", { questions: { a: FLAT } }),
      'questions: this model reads systemone questions; question "a" has GLiNER fields (labels)',
    ],
    [
      "an image on a listing that reads none",
      decisionBody("judge/plain", { state: { items: ["a", "b", { deep: [IMAGE] }] } }),
      "state.items[2].deep[0]: an image_url object, and no deployment of this model reads images",
    ],
    [
      "two questions of one kind where the host has one place for them",
      glinerBody("tag/public", {
        questions: {
          people: { type: "entities", labels: ["person"] },
          places: { type: "entities", labels: ["city"] },
        },
      }),
      'questions: this model accepts one question of kind "entities"',
    ],
    ["no state", { model: "judge/plain", questions: { urgent: URGENT } }, "state: required"],
  ])("%s", async (_, body, message) => {
    await expectRefused(body, invalid(message));
  });
});

describe("a model on the wrong route", () => {
  test("of decisions on the chat route is a 400 that names the right route", async () => {
    const body = { model: "judge/plain", messages: [{ role: "user", content: "Hello" }] };
    const before = await accountState(gateway, account);
    const url = `${gateway.url}/v1/chat/completions`;
    const answer = await httpCall(url, { body, headers: bearer(account.key) });
    expect(answer.status).toBe(400);
    expect(textAt(answer.json, "error.message")).toContain("POST /v1/decisions");
    expect(await accountState(gateway, account)).toEqual(before);
  });

  test("of chat on the decisions route is a 400 that names the right route", async () => {
    await expectRefused(decisionBody("test/a"), invalid("POST /v1/chat/completions"));
  });
});

describe("a body of 1 MB", () => {
  function bodyOf(bytes: number): string {
    const empty = JSON.stringify(decisionBody("judge/plain", { state: "" })).length;
    return JSON.stringify(decisionBody("judge/plain", { state: "s".repeat(bytes - empty) }));
  }

  test("is read, and one byte more is a 413", async () => {
    const over = await decide(gateway, account, bodyOf(SMALL_BODY_BYTES_MAX + 1));
    expectRefusal(over, { status: 413, code: "request_too_large" });
    // The body is read, and the token limit of a million refuses it.
    const read = await decide(gateway, account, bodyOf(SMALL_BODY_BYTES_MAX));
    expectRefusal(read, { status: 429, code: "rate_limit" });
  });
});

describe("limits", () => {
  test("count a state once per question, and refuse a request over the tokens per minute", async () => {
    const other = await gateway.account("100");
    const state = "s".repeat(10_000);
    const questions = Object.fromEntries(Array.from({ length: 120 }, (_, n) => [`q${n}`, URGENT]));
    const before = await accountState(gateway, other);
    const body = decisionBody("judge/per-question", { state, questions });
    const refused = await decide(gateway, other, body);
    expectRefusal(refused, { status: 429, code: "rate_limit" });
    expect(refused.headers).toMatchObject({
      "x-tm-limit-kind": "tpm",
      "x-tm-limit-scope": "key",
      "x-tm-limit-id": `key:${other.keyId}`,
      "x-tm-error-origin": "gateway_admission",
    });
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    expect(at(refused.json, "error.metadata.limit_kind")).toBe("tpm");
    expect(await accountState(gateway, other)).toEqual(before);
    await expectRefusedRecord(gateway, other, refused);
    // The control sends the same body where the state counts once, and fewer questions.
    expect((await decide(gateway, other, { ...body, model: "judge/plain" })).status).toBe(200);
    const few = decisionBody("judge/per-question", { state, questions: { a: URGENT, b: URGENT } });
    expect((await decide(gateway, other, few)).status).toBe(200);
  });

  test("give one organization at most three quarters of a decisions pool", async () => {
    const [greedy, other] = [await gateway.account("5.00"), await gateway.account("5.00")];
    const ask = decisionBody("judge/small-pool");
    for (let n = 0; n < 3; n += 1) expect((await decide(gateway, greedy, ask)).status).toBe(200);
    const refused = await decide(gateway, greedy, ask);
    expectRefusal(refused, { status: 429, code: "rate_limit" });
    expect(refused.headers).toMatchObject({
      "x-tm-error-origin": "upstream_quota",
      "x-tm-limit-scope": "pool",
      "x-tm-limit-kind": "rpm",
      "x-tm-limit-id": "pool-share:sys/judge/small-pool",
    });
    expect((await decide(gateway, other, ask)).status).toBe(200);
    const full = await decide(gateway, other, ask);
    expect(full.headers["x-tm-limit-id"]).toBe("pool:sys/judge/small-pool");
  });

  test("pause a pool for all its models after a provider's 429, and open no circuit", async () => {
    const fault = "status:429;retry_after:30";
    gateway.simulator.script({ model: "judge/twin-one", fault, times: 1 });
    const throttled = await decide(gateway, account, decisionBody("judge/twin-one"));
    expectRefusal(throttled, { status: 429, code: "rate_limit" });
    expect(throttled.headers).toMatchObject({
      "x-tm-error-origin": "upstream",
      "retry-after": "30",
    });
    for (const model of ["judge/twin-one", "judge/twin-two"]) {
      const before = await accountState(gateway, account);
      const paused = await decide(gateway, account, decisionBody(model));
      expectRefusal(paused, { status: 429, code: "rate_limit" });
      expect(paused.headers).toMatchObject({
        "x-tm-error-origin": "upstream_quota",
        "x-tm-limit-scope": "pool",
        "x-tm-limit-id": "pool:decisions-shared",
      });
      expect(await accountState(gateway, account)).toEqual(before);
    }
  });

  test("refuse a request whose worst case exceeds the balance before anything is sent", async () => {
    const poor = await gateway.account("0.001");
    const body = decisionBody("judge/plain", { state: "s".repeat(2_000) });
    const before = await accountState(gateway, poor);
    const refused = await decide(gateway, poor, body);
    expectRefusal(refused, { status: 429, code: "insufficient_quota" });
    expect(await accountState(gateway, poor)).toEqual(before);
    await expectRefusedRecord(gateway, poor, refused);
  });
});

test("the books balance and nothing is held after all tests", async () => {
  await nothingHeld(gateway, account);
  expect(await brokenBooks(gateway)).toEqual([]);
});
