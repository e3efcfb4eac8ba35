import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { SMALL_BODY_BYTES_MAX } from "../../src/kernel/core/constants.ts";

import { brokenBooks, debitOf, ended, nothingHeld } from "../support/books.ts";
import { bodyOfSize } from "../support/chat-bodies.ts";
import {
  decide,
  decisionBody,
  decisionManifest,
  decisionModel,
  glinerBody,
  URGENT,
} from "../support/decisions.ts";
import { simulatorManifest, textModel, withAccount, withGateway } from "../support/gateway.ts";
import { at, bearer, httpCall, type HttpAnswer } from "../support/http-call.ts";
import { expectCleanRefusal, expectRefusal } from "../support/refusals.ts";
import { newFolder } from "../support/run-folder.ts";

const gliner = { decisions_wire: "gliner" };
const cachedAtATenth = {
  pricing: [
    { type: "prompt", unit: "token", cost_usd_per_million: "1" },
    { type: "cached_prompt", unit: "token", cost_usd_per_million: "0.1" },
    { type: "completion", unit: "token", cost_usd_per_million: "2" },
  ],
};

/** Two models of one provider share a pool. */
const POOLS = `
- id: decisions-shared
  listings: [sys/judge/twin-one, sys/judge/twin-two]
  requests_per_minute: 11400
  concurrent: 59
`;
const poolsFile = join(newFolder("pools"), "pools.yaml");
writeFileSync(poolsFile, POOLS);

const gateway = withGateway({
  settings: {
    poolsFile,
    decisionsPublicForm: "public-sys,public-gli",
    orgRequestsPerMinute: 10_000,
    keyRequestsPerMinute: 10_000,
    concurrentRequests: 100,
  },
  manifests: [
    simulatorManifest({ provider: "talker", dialect: "wire_a", models: [textModel("test/a")] }),
    decisionManifest({
      provider: "sys",
      host: "sys",
      models: [
        decisionModel("judge/plain"),
        decisionModel("judge/cached", cachedAtATenth),
        decisionModel("judge/twin-one"),
        decisionModel("judge/twin-two"),
        decisionModel("judge/renamed", { upstream_id: "house-judge-7" }),
        decisionModel("judge/own-path", { decisions_path: "/systemone", upstream_id: "j-8" }),
      ],
    }),
    decisionManifest({
      provider: "public-sys",
      host: "sys-public",
      path: "/systemone",
      models: [decisionModel("judge/public")],
    }),
    decisionManifest({
      provider: "per-question",
      host: "pplx",
      models: [
        decisionModel("judge/each", {
          decisions_state_per_question: true,
          decisions_image_parts: true,
        }),
      ],
    }),
    decisionManifest({
      provider: "gli",
      host: "gli",
      models: [decisionModel("tag/plain", gliner)],
    }),
    decisionManifest({
      provider: "public-gli",
      host: "gli-public",
      path: "/gliner-2",
      models: [decisionModel("tag/public", gliner)],
    }),
  ],
});
const account = withAccount(gateway, "100");

async function answersOf(body: unknown): Promise<Record<string, Record<string, unknown>>> {
  const answer = await decide(gateway, account, body);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
  return at(answer.json, "answers") as Record<string, Record<string, unknown>>;
}

/** The path and the body of the provider's last call. */
function lastSent(): { readonly path: string; readonly body: unknown } {
  const call = gateway.simulator.calls().at(-1);
  if (call === undefined) throw new Error("the provider was asked nothing");
  return { path: call.path, body: call.body };
}

async function recordOf(answer: HttpAnswer): ReturnType<typeof ended> {
  return await ended(gateway, account, String(answer.headers["x-request-id"]));
}

describe("POST /v1/decisions", () => {
  test("gives typed answers to questions about a state, with their cost", async () => {
    const answer = await decide(
      gateway,
      account,
      decisionBody("judge/plain", {
        questions: {
          urgent: URGENT,
          team: {
            schema: { type: "enum", values: ["billing", "shop"] },
            instructions: "Which team?",
          },
          stars: { schema: { type: "integer", min: 1, max: 5 }, instructions: "How bad?" },
          share: { schema: { type: "number", min: 1, max: 5 }, instructions: "How bad?" },
        },
      }),
    );
    expect(answer.status).toBe(200);
    const id = answer.headers["x-request-id"];
    expect(answer.json).toMatchObject({
      id,
      object: "decision",
      model: "judge/plain",
      answers: {
        urgent: { type: "noul", noul: expect.any(Number), value: expect.any(Boolean) },
        team: { type: "choice", choice: "shop", value: "shop", probabilities: {} },
        stars: { type: "score", score: expect.any(Number), value: expect.any(Number) },
        share: { value: expect.any(Number) },
      },
      usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
    });
    const stars = Number(at(answer.json, "answers.stars.value"));
    expect([1, 2, 3, 4, 5]).toContain(stars);
    const share = at(answer.json, "answers.share") as { score: number; value: number };
    expect(share.value).toBeCloseTo(1 + share.score, 8);
    expect(Number(at(answer.json, "created"))).toBeGreaterThan(1_700_000_000);
    expect(answer.headers).toMatchObject({ "x-tm-provider": "sys", "x-tm-attempts": "1" });

    const record = await recordOf(answer);
    expect(record.attempts).toMatchObject([{ outcome: "completed", basis: "reported" }]);
    const costUsd = Number(at(answer.json, "usage.cost"));
    expect(BigInt(Math.round(costUsd * 1e6))).toBe(debitOf(record));
    // $1 per million input tokens is one micro-dollar per token.
    expect(debitOf(record)).toBe(BigInt(Number(at(answer.json, "usage.input_tokens"))));
  });

  test("serves GLiNER listings with results under the names of the questions", async () => {
    const questions = {
      people: { type: "entities", labels: ["person"] },
      mood: { type: "classification", labels: ["up", "down"] },
      calm: { type: "boolean" },
      order: { type: "structure", fields: [{ name: "item" }] },
      works: { type: "relations", labels: ["works_for"] },
    };
    const all = await answersOf(glinerBody("tag/plain", { questions }));
    expect(all).toMatchObject({
      people: { type: "entities", value: { person: expect.any(Array) } },
      mood: { type: "classification", value: "down" },
      calm: { type: "classification", value: expect.any(Boolean) },
      order: { type: "structure", value: [{ item: expect.any(String) }] },
      works: { type: "relations", value: { works_for: expect.any(Array) } },
    });
    expect(Object.keys(all)).toEqual(Object.keys(questions));
  });
});

describe("the call to the provider", () => {
  test("goes to the endpoint's or the model's path, and has upstream_id as the model", async () => {
    await answersOf(decisionBody("judge/plain"));
    expect(lastSent()).toMatchObject({ path: "/sys/v1/as_sent", body: { model: "judge/plain" } });
    await answersOf(decisionBody("judge/renamed"));
    expect(lastSent()).toMatchObject({ path: "/sys/v1/as_sent", body: { model: "house-judge-7" } });
    const flat = { urgent: { type: "noul", instructions: "Is it urgent?" } };
    await answersOf(decisionBody("judge/own-path", { questions: flat }));
    expect(lastSent()).toMatchObject({ path: "/sys/v1/systemone", body: { model: "j-8" } });
  });

  test("has the public form of the systemone wire for providers that the operator lists", async () => {
    const answers = await answersOf(
      decisionBody("judge/public", {
        state: { shop: "down" },
        user: "u-1",
        questions: {
          urgent: URGENT,
          team: { schema: { type: "string", enum: ["billing", "shop"] }, instructions: "Which?" },
          stars: { schema: { type: "integer", min: -1, max: 1 }, instructions: "How?" },
        },
      }),
    );
    expect(lastSent().body).toMatchObject({
      questions: { urgent: { type: "noul" }, team: { type: "choice" }, stars: { type: "score" } },
    });
    expect(answers["team"]?.["value"]).toBe("shop");
    expect([-1, 0, 1]).toContain(answers["stars"]?.["value"]);
  });

  test("has the public form of GLiNER, and the answers return under the client's question names", async () => {
    const questions = {
      people: { type: "entities", labels: ["person", "city"] },
      mood: { type: "classification", labels: ["up", "down"], threshold: 0.5 },
      calm: { type: "boolean" },
    };
    const answers = await answersOf(glinerBody("tag/public", { questions }));
    expect(lastSent().body).toMatchObject({
      text: "The shop is down.",
      schema: expect.any(Object),
    });
    expect(answers).toMatchObject({
      people: { value: { person: expect.any(Array), city: expect.any(Array) } },
      mood: { value: "down" },
      calm: { value: expect.any(Boolean) },
    });
  });
});

test("an image in the state reserves 65,536 tokens at a listing that accepts images, and is answered with a box", async () => {
  const pixel =
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const state = { photo: { type: "image_url", image_url: { url: pixel } } };
  const questions = { mug: { schema: { type: "box" }, instructions: "the mug" } };
  const answer = await decide(gateway, account, decisionBody("judge/each", { state, questions }));
  const sides = at(answer.json, "answers.mug.value") as object;
  expect(Object.keys(sides).toSorted()).toEqual(["bottom", "left", "right", "top"]);
  for (const side of Object.values(sides)) expect(side).toEqual(expect.any(Number));
  const held = Number((await recordOf(answer)).attempts[0]?.reserveMicroUsd);
  expect(held).toBeGreaterThanOrEqual(65_536);
  expect(held).toBeLessThan(66_536);
});

describe("a decision", () => {
  const state = "s".repeat(10_000);
  const questions = { a: URGENT, b: URGENT, c: URGENT };

  test("is charged the cached price for tokens from the provider's cache", async () => {
    const usage = { input_tokens: 1_000, output_tokens: 10 };
    const details = { input_tokens_details: { cached_tokens: 600 } };
    const fault = `[[fault:usage:${JSON.stringify({ ...usage, ...details })}]]`;
    const body = decisionBody("judge/cached", { state: `${fault} ${"s".repeat(2_000)}` });
    const answer = await decide(gateway, account, body);
    // 400 tokens at $1, 600 cached ones at $0.10 and 10 of output at $2 per million.
    expect(at(answer.json, "usage")).toEqual({
      ...usage,
      total_tokens: 1_010,
      ...details,
      cost: 0.00048,
    });
    expect(debitOf(await recordOf(answer))).toBe(480n);
  });

  test("costs nothing if its answer has no usage", async () => {
    const body = decisionBody("judge/plain", { state: "[[fault:no_usage]] The shop is down." });
    const answer = await decide(gateway, account, body);
    expect(answer.status).toBe(200);
    expect(at(answer.json, "usage.cost")).toBe(0);
    expect((await recordOf(answer)).attempts).toMatchObject([{ basis: "none", debitMicroUsd: 0n }]);
  });

  test("shows its reserve in a dry run, which sends nothing to the provider", async () => {
    const before = gateway.simulator.counts().total;
    const url = `${gateway.url}/v1/route?for=decisions`;
    const body = decisionBody("judge/each", { state, questions });
    const { status, json } = await httpCall(url, { body, headers: bearer(account.key) });
    expect(status).toBe(200);
    expect(at(json, "would_admit")).toBe(true);
    expect(at(json, "candidates.0.provider")).toBe("per-question");
    const held = Number(at(json, "estimate.reserve_micro_usd"));
    expect(held).toBeGreaterThan(30_000);
    expect(held).toBeLessThan(31_500);
    expect(gateway.simulator.counts().total).toBe(before);
  });
});

describe("a request is refused with a 400 before any money is held, for", () => {
  const messages = [{ role: "user", content: "Hello" }];
  const questions = { a: { type: "classification", labels: ["a", "b"] } };

  test.each<[string, string, unknown, string]>([
    [
      "a GLiNER question on a systemone listing",
      "/v1/decisions",
      decisionBody("judge/plain", { questions }),
      'questions: this model reads systemone questions; question "a" has GLiNER fields (labels)',
    ],
    [
      "a decisions model on the chat route",
      "/v1/chat/completions",
      { model: "judge/plain", messages },
      "POST /v1/decisions",
    ],
    [
      "a chat model on the decisions route",
      "/v1/decisions",
      decisionBody("test/a"),
      "POST /v1/chat/completions",
    ],
  ])("%s", async (_what, path, body, message) => {
    const expected = { status: 400, code: "invalid_request", message };
    await expectCleanRefusal({ gateway, account, path }, { body }, expected);
  });
});

test("a body of 1 MB is read, and one byte more is a 413", async () => {
  const bodyOf = (bytes: number): Buffer =>
    bodyOfSize(decisionBody("judge/plain", { state: "{filler}" }), bytes);
  const over = await decide(gateway, account, bodyOf(SMALL_BODY_BYTES_MAX + 1));
  expectRefusal(over, { status: 413, code: "request_too_large" });
  // The whole body is read, and then the limit of a million tokens refuses it.
  const read = await decide(gateway, account, bodyOf(SMALL_BODY_BYTES_MAX));
  expectRefusal(read, { status: 429, code: "rate_limit" });
});

describe("limits", () => {
  test("count a state once per question, and refuse a request over the tokens per minute", async () => {
    const other = await gateway.account("100");
    const state = "s".repeat(10_000);
    const questions = Object.fromEntries(Array.from({ length: 120 }, (_, n) => [`q${n}`, URGENT]));
    const body = decisionBody("judge/each", { state, questions });
    const route = { gateway, account: other, path: "/v1/decisions" };
    const tooMany = { status: 429, code: "rate_limit" };
    const refused = await expectCleanRefusal(route, { body }, tooMany);
    expect(refused.headers).toMatchObject({
      "x-tm-limit-kind": "tpm",
      "x-tm-limit-id": `key:${other.keyId}`,
    });
    // For comparison: the same body to a model that counts the state once, then fewer questions.
    expect((await decide(gateway, other, { ...body, model: "judge/plain" })).status).toBe(200);
    const few = decisionBody("judge/each", { state, questions: { a: URGENT, b: URGENT } });
    const answer = await decide(gateway, other, few);
    expect(answer.status).toBe(200);
    const { attempts } = await ended(gateway, other, String(answer.headers["x-request-id"]));
    const [attempt] = attempts;
    expect(attempt?.reserveMicroUsd).toBeGreaterThan(20_000n);
    expect(attempt?.reserveMicroUsd).toBeLessThan(21_500n);
    expect(attempt?.debitMicroUsd).toBe(BigInt(at(answer.json, "usage.input_tokens") as number));
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
    const route = { gateway, account, path: "/v1/decisions" };
    const full = { status: 429, code: "rate_limit" };
    for (const model of ["judge/twin-one", "judge/twin-two"]) {
      const paused = await expectCleanRefusal(route, { body: decisionBody(model) }, full);
      expect(paused.headers).toMatchObject({
        "x-tm-error-origin": "upstream_quota",
        "x-tm-limit-scope": "pool",
        "x-tm-limit-kind": "capacity",
        "x-tm-limit-id": "pool:decisions-shared",
      });
    }
  });
});

test("the books balance and nothing is held after all tests", async () => {
  await nothingHeld(gateway, account);
  expect(await brokenBooks(gateway)).toEqual([]);
});
