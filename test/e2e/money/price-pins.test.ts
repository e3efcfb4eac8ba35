import { writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";

import { expect, test } from "vitest";

import type { RequestRecord } from "../../../src/gateway/records/record-rows.ts";
import { ask, at, bodyOf, costOf, type Ask, type HttpAnswer } from "../../support/ask.ts";
import { brokenBooks, ended, nothingHeld, until } from "../../support/books.ts";
import { withGatedProvider } from "../../support/gated-provider.ts";
import {
  simulatorManifest,
  textModel,
  type TestAccount,
  withSimulator,
  withGateway,
} from "../../support/gateway.ts";
import { withServer } from "../../support/local-server.ts";

const MAX_TOKENS = 64;

/** Calls at the provider that fails: the test decides when. */
const held: ServerResponse[] = [];
const provider = withGatedProvider(withSimulator());
const failing = withServer(() =>
  createServer((request, response) => {
    request.resume();
    held.push(response);
  }),
);
const gateway = withGateway(() => ({ manifests: manifestsAt(1) }));

/** Manifests of both providers at `factor` times $1 and $10 per million tokens. */
function manifestsAt(factor: number): readonly object[] {
  const pricing = [
    { type: "prompt", unit: "token", cost_usd_per_million: String(factor) },
    { type: "completion", unit: "token", cost_usd_per_million: String(10 * factor) },
  ];
  const model = (id: string): object => textModel(id, { pricing });
  return [
    simulatorManifest({
      provider: "failing",
      dialect: "wire_a",
      baseUrl: `${failing.url}/v1`,
      models: [model("m/second")],
    }),
    simulatorManifest({
      provider: "gated",
      dialect: "wire_a",
      priority: 1,
      baseUrl: `${provider.url}/a/v1`,
      models: [model("m/first"), model("m/second")],
    }),
  ];
}

async function changePrices(factor: number): Promise<void> {
  for (const [n, manifest] of manifestsAt(factor).entries()) {
    writeFileSync(
      join(gateway.config.manifestsDir, `manifest-${n}.json`),
      JSON.stringify(manifest),
    );
  }
  const promptPico = BigInt(factor) * 1_000_000n;
  await until("every price has changed", () => {
    gateway.running.reload();
    const { deployments } = gateway.running.catalog.current;
    return deployments.every(({ prices }) => prices?.prompt === promptPico);
  });
}

/** The cost of an answer's token counts at `factor` times the first prices. */
function costAt(factor: bigint, { json }: HttpAnswer): bigint {
  const tokens = (name: string): bigint => BigInt(Number(at(json, "usage", name)));
  return factor * (tokens("prompt_tokens") + 10n * tokens("completion_tokens"));
}

async function settled(account: TestAccount, answer: HttpAnswer): Promise<RequestRecord> {
  await nothingHeld(gateway, account);
  return await ended(gateway, account, answer.requestId);
}

test.each([
  ["a document", false],
  ["a stream", true],
])(
  "%s is settled at the prices of its admission, whatever the prices are when it ends",
  async (_what, stream) => {
    await changePrices(1);
    const account = await gateway.account("5.00");
    const request: Ask = { key: account.key, wire: "wire_a", model: "m/first", text: "hi", stream };
    const before = provider.calls.length;
    const running = ask(gateway.url, request);
    const call = await until("it is at the provider", () => provider.calls[before]);
    await changePrices(10);
    call.release();
    const answer = await running;
    expect(answer.status).toBe(200);
    const record = await settled(account, answer);
    expect(record.attempts).toHaveLength(1);
    const usage = record.attempts[0]?.usage;
    const cost = BigInt((usage?.prompt ?? 0) + 10 * (usage?.completion ?? 0));
    expect(cost).toBeGreaterThan(0n);
    expect(record.attempts[0]?.debitMicroUsd).toBe(cost);
    expect(costOf(answer)).toBe(cost);
    expect(await brokenBooks(gateway)).toEqual([]);
  },
);

function worstCaseAt(factor: bigint, request: Ask): bigint {
  return factor * (BigInt(Buffer.byteLength(bodyOf(request))) + 10n * BigInt(MAX_TOKENS));
}

test("a candidate that is tried after a price change is held and settled at the old prices", async () => {
  await changePrices(1);
  const account = await gateway.account("5.00");
  const request: Ask = { key: account.key, wire: "wire_a", model: "m/second", text: "hi" };
  const [heldBefore, callsBefore] = [held.length, provider.calls.length];
  const running = ask(gateway.url, request);
  const first = await until("it is at the first provider", () => held[heldBefore]);
  await changePrices(10);
  first.writeHead(500, { "content-type": "application/json" }).end("{}");
  const second = await until("it is at the second", () => provider.calls[callsBefore]);
  const { heldMicroUsd } = await gateway.backend.recordStore.balance(account.orgId);
  expect(heldMicroUsd).toBe(worstCaseAt(1n, request));
  second.release();
  const answer = await running;
  expect(answer.headers).toMatchObject({ "x-tm-attempts": "2", "x-tm-provider": "gated" });
  expect(costOf(answer)).toBe(costAt(1n, answer));
  const record = await settled(account, answer);
  expect(record.attempts.map(({ debitMicroUsd }) => debitMicroUsd)).toEqual([
    0n,
    costAt(1n, answer),
  ]);
  expect(await brokenBooks(gateway)).toEqual([]);
});
