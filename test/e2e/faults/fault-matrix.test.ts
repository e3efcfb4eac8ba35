import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";

import { describe, expect, test } from "vitest";

import { ask, askInTwo, at, eventsOf, type Ask, type HttpAnswer } from "../../support/ask.ts";
import { brokenBooks, debitOf, ended, nothingHeld, until } from "../../support/books.ts";
import { PatientClock } from "../../support/clocks.ts";
import {
  PROVIDER_KEY,
  simulatorManifest,
  textModel,
  withGateway,
  withAccount,
} from "../../support/gateway.ts";
import { withServer } from "../../support/local-server.ts";
import { selfSigned } from "../../support/self-signed.ts";
import { FAULT_ROWS, type FaultRow } from "./fault-rows.ts";

const HEADERS_TIMEOUT_MS = 500;

/** On this clock only a silent provider reaches the time limits, however busy the machine is. */
const clock = new PatientClock();
const badCertificate = withServer(() =>
  createTlsServer(selfSigned(), (_request, response) => response.end("no")),
);
const oddError = withServer(() =>
  createServer((_request, response) => {
    response.setHeader("content-type", "application/json");
    response.setHeader("set-cookie", "secret-provider=1");
    response.setHeader("x-tm-provider", "secret-provider");
    response.end('{"error":{"message":"secret-provider-words","code":"zz_never_seen"}}');
  }),
);
const gateway = withGateway(() => ({
  clock,
  settings: {
    orgRequestsPerMinute: 10_000,
    keyRequestsPerMinute: 10_000,
    concurrentRequests: 100,
    streamHeadersTimeoutMs: HEADERS_TIMEOUT_MS,
    generationTimeoutMs: 700,
    streamIdleTimeoutMs: 600,
  },
  manifests: manifestsOf({
    badCertificate: `https://127.0.0.1:${badCertificate.port}/v1`,
    oddError: `${oddError.url}/v1`,
  }),
}));
const account = withAccount(gateway, "100");

/** Each row has its own listing, so that its failures cool down no other row's providers. */
function manifestsOf(own: { badCertificate: string; oddError: string }): object[] {
  const urls: Readonly<Record<NonNullable<FaultRow["first"]>, string | undefined>> = {
    simulator: "{simulator}/first/v1",
    "closed port": "http://127.0.0.1:1/v1",
    "no such host": "http://secret-provider-host.invalid/v1",
    "bad certificate": own.badCertificate,
    "odd error": own.oddError,
  };
  const places = Object.entries(urls);
  return (["wire_a", "wire_b"] as const).flatMap((dialect) => {
    const rows = FAULT_ROWS.filter((row) => row.wire === dialect);
    const suffix = dialect === "wire_a" ? "" : "-b";
    const firsts = places.flatMap(([place, baseUrl], n) => {
      const models = rows.filter((row) => (row.first ?? "simulator") === place).flatMap(listingsOf);
      const provider = `first-${n}${suffix}`;
      if (models.length === 0 || baseUrl === undefined) return [];
      return simulatorManifest({ provider, dialect, baseUrl, models });
    });
    const second = simulatorManifest({
      provider: `second${suffix}`,
      dialect,
      priority: 1,
      baseUrl: "{simulator}/second/v1",
      models: [
        textModel(`healthy/${dialect}`),
        ...rows.filter((row) => row.second).flatMap((row) => listingsOf(row)),
      ],
    });
    return [...firsts, second];
  });
}

function listingsOf(row: FaultRow): object[] {
  return [...new Set([modelOf(row, 1), modelOf(row, 2)])].map((id) => textModel(id));
}

/** The model of a row; a row that causes a cooldown uses another model in its second run. */
function modelOf(row: FaultRow, run: number): string {
  return row.cools === true && run > 1 ? `row/${row.id}-again` : `row/${row.id}`;
}

function askOf(row: FaultRow, run: number): Ask {
  return {
    key: account.key,
    wire: row.wire,
    model: modelOf(row, run),
    stream: row.stream,
    text: row.text ?? "a fault may come",
    maxTokens: row.maxTokens ?? 64,
  };
}

/** Makes the first provider's next call fail with the row's fault. */
function misbehave(row: FaultRow, run: number): void {
  if (row.fault === undefined) return;
  const path = `/first${row.wire === "wire_a" ? "/v1/chat/completions" : "/v1/messages"}`;
  gateway.simulator.script({ path, model: modelOf(row, run), fault: row.fault, times: 1 });
}

describe("every fault gets the same specified answer twice in a row", () => {
  test.each(FAULT_ROWS)("$id $what", async (row) => {
    for (let run = 1; run <= 2; run += 1) {
      const before = secondCalls();
      misbehave(row, run);
      const answer = await askInTwo(gateway.url, askOf(row, run), gateway.simulator);
      expect(answer.status).toBe(row.status);
      expectHeaders(row, answer);
      expectBody(row, answer);
      expectNoSecrets(row, answer);
      await expectMoney(row, answer);
      const failsOver = row.headers["x-tm-attempts"] === "2";
      expect(secondCalls() - before).toBe(failsOver ? 1 : 0);
      await nothingHeld(gateway, account);
      await until("the provider's sockets are closed", () => gateway.simulator.counts().open === 0);
      await until("its log line is written", () => gateway.log().includes(answer.requestId));
    }
  });
});

function secondCalls(): number {
  const { paths } = gateway.simulator.counts();
  const calls = Object.entries(paths).filter(([path]) => path.startsWith("/second/"));
  return calls.reduce((sum, [, count]) => sum + count, 0);
}

/** The headers that an answer may have. */
const HEADERS_ALLOWED = new Set([
  "x-request-id",
  "request-id",
  "content-type",
  "content-length",
  "date",
  "connection",
  "keep-alive",
  "transfer-encoding",
  "cache-control",
  "x-accel-buffering",
  "retry-after",
  "access-control-allow-origin",
  "access-control-expose-headers",
  "x-should-retry",
  "x-tm-provider",
  "x-tm-attempts",
  "x-tm-remaining-rpm",
  "x-tm-remaining-tpm",
  "x-tm-dropped-params",
  "x-tm-error-code",
  "x-tm-error-origin",
  "x-tm-upstream-status",
]);

function expectHeaders(row: FaultRow, { headers }: HttpAnswer): void {
  expect(headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
  expect(headers["request-id"]).toBe(headers["x-request-id"]);
  const names = Object.keys(row.headers);
  const shown = names.map((name) => {
    const value = headers[name]?.replace(/-b$/, "") ?? null;
    return [name, row.headers[name] === "*" && value !== null ? "*" : value];
  });
  expect(Object.fromEntries(shown)).toEqual(row.headers);
  expect(Object.keys(headers).filter((name) => !HEADERS_ALLOWED.has(name))).toEqual([]);
}

function expectBody(row: FaultRow, answer: HttpAnswer): void {
  if (row.status !== 200) return expectRefusal(row, answer);
  const events = row.stream ? eventsOf(answer.text) : [];
  const errors = events.filter(({ json }) => at(json, "error") !== undefined);
  expect(answer.text).toMatch(/You said|"delta"/);
  // The output is followed by at most one terminal error event and no further byte.
  expect(errors).toEqual(terminalEvents(row));
  expect(events.slice(events.length - errors.length)).toEqual(errors);
  expect(ENDS[row.wire].test(answer.text) && errors.length === 0).toBe(row.class === null);
  expect(/\[DONE\]|message_stop|"stop"|end_turn/.test(answer.text)).toBe(row.class === null);
}

/** How a whole answer of a wire ends, as a stream or as a document. */
const ENDS = {
  wire_a: /(data: \[DONE\]\n\n|\})$/,
  wire_b: /("message_stop"\}\n\n|\})$/,
} as const;

function terminalEvents(row: FaultRow): unknown[] {
  if (row.class === null) return [];
  return [expect.objectContaining(terminalEvent(row, row.class))];
}

function terminalEvent(row: FaultRow, cls: string): object {
  const message: unknown = expect.any(String);
  if (row.wire === "wire_b") {
    const error = { type: "api_error", error_type: cls, message };
    return { event: "error", json: { type: "error", error: expect.objectContaining(error) } };
  }
  return {
    json: expect.objectContaining({
      object: "chat.completion.chunk",
      id: expect.any(String),
      created: expect.any(Number),
      model: `row/${row.id}`,
      choices: [
        expect.objectContaining({ index: 0, delta: { content: "" }, finish_reason: "error" }),
      ],
      error: expect.objectContaining({
        code: cls,
        message,
        type: "gateway_error",
        metadata: expect.objectContaining({ error_type: cls }),
      }),
    }),
  };
}

function expectRefusal(row: FaultRow, answer: HttpAnswer): void {
  const origin = answer.headers["x-tm-error-origin"];
  const { retryable } = row;
  const metadata = { origin, ...(retryable === undefined ? {} : { retryable }) };
  const error =
    row.wire === "wire_a"
      ? { code: row.class, metadata: { error_type: row.class, ...metadata } }
      : { error_type: row.class, metadata };
  expect(answer.json).toMatchObject({
    ...(row.wire === "wire_a" ? {} : { type: "error" }),
    error,
    request_id: answer.requestId,
  });
}

const SECRETS = /secret-provider|127\.0\.0\.1|\.invalid|simulat|certificate|<html|_test_|\bhost\b/i;

function expectNoSecrets(row: FaultRow, answer: HttpAnswer): void {
  const everything = `${JSON.stringify(answer.headers)} ${answer.text}`;
  expect(everything).not.toMatch(SECRETS);
  expect(everything).not.toContain(PROVIDER_KEY);
  // A refusal for `context_overflow`, and no other, includes this message of the provider.
  const words = "prompt is too long: 210000 tokens > 200000 maximum";
  expect(everything.includes(words)).toBe(row.class === "context_overflow");
}

async function expectMoney(row: FaultRow, answer: HttpAnswer): Promise<void> {
  const record = await ended(gateway, account, answer.requestId);
  const last = record.attempts.at(-1);
  expect(String(record.attempts.length)).toBe(row.headers["x-tm-attempts"]);
  expect(debitOf(record)).toBe(last?.debitMicroUsd);
  const usage = last?.usage ?? null;
  // One micro-dollar per prompt token, ten per output token.
  const cost = usage === null ? 0n : BigInt(usage.prompt) + 10n * BigInt(usage.completion);
  expect(last?.debitMicroUsd).toBe(cost);
  // A wire_b stream reports the prompt's tokens before the first word of the answer.
  const reports = row.money === "observed" || (row.money === "known" && row.wire === "wire_b");
  expect({ basis: last?.basis, costs: cost > 0n }).toEqual({
    basis: usage === null ? "none" : row.money === "observed" ? "reported" : "partial",
    costs: reports,
  });
}

test("a healthy listing serves every request while other listings run all faults but the floods", async () => {
  // The floods are left out, because they keep the simulator busy, which runs in this process.
  const floods = new Set(["F19", "F20", "F25"]);
  const faults = FAULT_ROWS.filter((row) => !floods.has(row.id)).map((row) => {
    misbehave(row, 1);
    return askInTwo(gateway.url, askOf(row, 1), gateway.simulator);
  });
  const healthy = Array.from({ length: 20 }, (_none, n) => {
    const wire = n % 2 === 0 ? "wire_a" : "wire_b";
    return ask(gateway.url, {
      key: account.key,
      wire,
      model: `healthy/${wire}`,
      text: "well",
      stream: n % 4 > 1,
    });
  });
  const answers = await Promise.all(healthy);
  expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 200));
  await Promise.all(faults);
  await nothingHeld(gateway, account);
});

test("the books balance after the whole matrix", async () => {
  expect(await brokenBooks(gateway)).toEqual([]);
});
