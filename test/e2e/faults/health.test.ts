import { expect, test } from "vitest";

import { ask, at, post, type Ask } from "../../support/ask.ts";
import { brokenBooks, nothingHeld, until } from "../../support/books.ts";
import { PatientClock } from "../../support/clocks.ts";
import {
  simulatorManifest,
  startTestGateway,
  textModel,
  withAccount,
  withGateway,
} from "../../support/gateway.ts";

/** On this clock only a silent provider reaches the time limit; moving it ends cooldowns. */
const clock = new PatientClock();
const gateway = withGateway({
  clock,
  settings: { streamHeadersTimeoutMs: 200, shutdownGraceMs: 10_000, concurrentRequests: 100 },
  manifests: [
    simulatorManifest({
      provider: "only",
      dialect: "wire_a",
      models: ["struck", "poisoned", "throttled", "slow", "rejecting"].map((id) => textModel(id)),
    }),
    simulatorManifest({ provider: "strict", dialect: "wire_b", models: [textModel("quoting")] }),
  ],
});
const account = withAccount(gateway, "10");

function asked(model: string, fault = ""): Ask {
  const text = fault === "" ? "well" : `ill [[fault:${fault}]]`;
  return { key: account.key, wire: "wire_a", model, text };
}

test("a model whose circuits are all open answers 503 health, and nothing is sent", async () => {
  for (const times of ["once", "twice", "thrice"]) {
    const { text, ...rest } = asked("struck", "status:500");
    await ask(gateway.url, { ...rest, text: `${text} ${times}` });
  }
  const before = gateway.simulator.counts().total;
  for (const wire of ["wire_a", "wire_b"] as const) {
    const refused = await ask(gateway.url, { ...asked("struck"), wire });
    expect(refused.status).toBe(503);
    expect(refused.headers).toMatchObject({
      "x-tm-error-code": "gateway_error",
      "x-tm-limit-kind": "health",
      "retry-after": "5",
    });
    expect(refused.headers).not.toHaveProperty("x-tm-attempts");
    expect(at(refused.json, "error", "metadata", "retryable")).toBe(true);
  }
  expect(gateway.simulator.counts().total).toBe(before);
  await nothingHeld(gateway, account);
});

test("one client that repeats a failing request does not open the circuit for other clients", async () => {
  for (let n = 0; n < 6; n += 1) {
    const failed = await ask(gateway.url, asked("poisoned", "status:500"));
    expect(failed.headers["x-tm-attempts"]).toBe("1");
  }
  const other = await gateway.account("1");
  const answer = await ask(gateway.url, { ...asked("poisoned"), key: other.key });
  expect(answer.status).toBe(200);
});

test("429s open no circuit: the pool cools down for as long as the provider asked", async () => {
  for (let n = 0; n < 4; n += 1) {
    const failed = await ask(gateway.url, asked("throttled", "status:429;retry_after:1"));
    expect(failed.headers["x-tm-attempts"]).toBe("1");
    const cooling = await ask(gateway.url, asked("throttled"));
    expect(cooling.status).toBe(429);
    expect(cooling.headers).toMatchObject({
      "x-tm-error-origin": "upstream_quota",
      "x-tm-limit-scope": "pool",
    });
    clock.moveOn(1_000);
    expect((await ask(gateway.url, asked("throttled"))).status).toBe(200);
  }
});

test("a provider's 400 that quotes a field named rate_limit pauses the model for nobody", async () => {
  const refused = await post(gateway.url, {
    key: account.key,
    path: "/v1/messages",
    body: JSON.stringify({
      model: "quoting",
      max_tokens: 5,
      messages: [{ role: "user", content: "well" }],
      rate_limit: 1,
    }),
  });
  expect(refused.status).toBe(400);
  expect(refused.text).toContain("rate_limit: Extra inputs are not permitted");
  const other = await gateway.account("1");
  const answer = await ask(gateway.url, { ...asked("quoting"), key: other.key });
  expect(answer.status).toBe(200);
});

test.each([
  { what: "400s", model: "rejecting", fault: "status:400", stream: false },
  { what: "timeouts", model: "slow", fault: "hang:headers", stream: true },
])("$what alone never open a circuit", async ({ model, fault, stream }) => {
  for (let n = 0; n < 6; n += 1) {
    const failed = await ask(gateway.url, { ...asked(model, fault), stream });
    expect(failed.headers["x-tm-attempts"]).toBe("1");
  }
  expect((await ask(gateway.url, asked(model))).status).toBe(200);
});

test("F61: a body nested 100,000 deep is refused with a 400 within 1 s of processor time", async () => {
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  for (const path of ["/v1/chat/completions", "/v1/messages"]) {
    const before = process.cpuUsage();
    const body = `{"model":"slow","max_tokens":5,"messages":${deep}}`;
    const refused = await post(gateway.url, { key: account.key, path, body });
    // Other requests were kept waiting for no longer than this processor time.
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(1_000);
    expect(refused.status).toBe(400);
    expect(refused.headers["x-tm-error-code"]).toBe("invalid_request");
    expect(refused.headers).not.toHaveProperty("x-tm-error-origin");
    expect(refused.headers).not.toHaveProperty("x-tm-attempts");
  }
  await nothingHeld(gateway, account);
});

test("a gateway that closes finishes its streams and accepts no new request", async () => {
  const other = await startTestGateway({ settings: { shutdownGraceMs: 10_000 } });
  try {
    const rich = await other.account("10");
    const running = ask(other.url, {
      key: rich.key,
      wire: "wire_a",
      model: "test/a",
      stream: true,
      text: "[words:8] [[fault:slow:60]]",
    });
    await until("the stream runs", () => other.simulator.counts().open === 1);
    const closed = other.running.close();
    await expect(ask(other.url, { ...asked("test/a"), key: rich.key })).rejects.toThrow(
      /ECONNREFUSED|ECONNRESET|socket hang up/,
    );
    const answer = await running;
    expect(answer.status).toBe(200);
    expect(answer.text).toContain("word8");
    expect(answer.text.endsWith("data: [DONE]\n\n")).toBe(true);
    await closed;
    await nothingHeld(other, rich);
    expect(await brokenBooks(other)).toEqual([]);
  } finally {
    await other.close();
  }
});

test("the books balance after all tests", async () => {
  expect(await brokenBooks(gateway)).toEqual([]);
});
