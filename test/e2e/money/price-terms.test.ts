import { writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { systemClock } from "../../../src/kernel/core/time.ts";
import { ask, at, bodyOf, costOf, get, type Ask, type HttpAnswer } from "../../support/ask.ts";
import { brokenBooks, ended, nothingHeld, until } from "../../support/books.ts";
import { sendToGate, withGatedProvider } from "../../support/gated-provider.ts";
import {
  simulatorManifest,
  startTestGateway,
  textModel,
  tokenPrices,
  type TestAccount,
  withSimulator,
  withGateway,
} from "../../support/gateway.ts";
import { withServer } from "../../support/local-server.ts";

/** A tier's bound in prompt tokens, above a short prompt and below `LONG`. */
const BOUND = 100;
const LONG = "a long story about a lighthouse and its keeper ".repeat(20);

const pricing = (factor: number): readonly object[] =>
  tokenPrices({ prompt: factor, completion: 10 * factor });
const tier = (factor: number): object => ({
  above_prompt_tokens: BOUND,
  pricing: pricing(factor),
});

const MAX_TOKENS = 64;

const provider = withGatedProvider(withSimulator());
/** Calls that wait at the failing provider until the test answers them. */
const held: ServerResponse[] = [];
const failing = withServer(() =>
  createServer((request, response) => {
    request.resume();
    held.push(response);
  }),
);
const gateway = withGateway(() => ({
  manifests: [manifestWith({ price_tiers: [tier(2)] }), ...plainAt(1)],
}));

/** Manifests without terms, at `factor` times $1 and $10 per million tokens. */
function plainAt(factor: number): readonly object[] {
  const model = (id: string): object => textModel(id, { pricing: pricing(factor) });
  return [
    simulatorManifest({
      provider: "failing",
      dialect: "wire_a",
      baseUrl: `${failing.url}/v1`,
      models: [model("m/second")],
    }),
    simulatorManifest({
      provider: "plain",
      dialect: "wire_a",
      priority: 1,
      baseUrl: `${provider.url}/a/v1`,
      models: [model("m/plain"), model("m/second")],
    }),
  ];
}

async function changePrices(factor: number): Promise<void> {
  for (const [n, manifest] of plainAt(factor).entries()) {
    const file = join(gateway.config.manifestsDir, `manifest-${n + 1}.json`);
    writeFileSync(file, JSON.stringify(manifest));
  }
  const promptPico = BigInt(factor) * 1_000_000n;
  await until("every price has changed", () => {
    gateway.running.reload();
    const plain = gateway.running.catalog.current.deployments.filter(
      ({ providerId }) => providerId !== "gated",
    );
    return plain.every(({ prices }) => prices?.prompt === promptPico);
  });
}

function manifestWith(terms: object): object {
  const models = [textModel("m/tiered", { pricing: pricing(1) })];
  return {
    ...simulatorManifest({
      provider: "gated",
      dialect: "wire_a",
      baseUrl: `${provider.url}/a/v1`,
      models,
    }),
    listing_terms: { "m/tiered": terms },
  };
}

interface Way {
  /** Runs while the request is at its provider. */
  readonly meanwhile?: () => Promise<void>;
  /** Default: the address of the gateway that all tests share. */
  readonly url?: string;
}

/** Sends a request and lets its provider answer it. */
async function sendThrough(request: Ask, way: Way = {}): Promise<HttpAnswer> {
  const { url = gateway.url, meanwhile } = way;
  const { call, answer } = await sendToGate(provider, () => ask(url, request));
  await meanwhile?.();
  call.release();
  expect((await answer).status).toBe(200);
  return await answer;
}

function served({ key }: TestAccount, text: string, way?: Way): Promise<HttpAnswer> {
  return sendThrough({ key, wire: "wire_a", model: "m/tiered", text }, way);
}

/** The cost of the answer's tokens at `factor` times the first prices. */
function costAt(factor: bigint, { json }: HttpAnswer): bigint {
  const tokens = (name: string): bigint => BigInt(Number(at(json, "usage", name)));
  return factor * (tokens("prompt_tokens") + 10n * tokens("completion_tokens"));
}

async function entry(account: TestAccount): Promise<unknown> {
  return (await get(gateway.url, { key: account.key, path: "/v1/models/m%2Ftiered" })).json;
}

test("a long prompt is held and settled at its tier's prices, and its record names the tier", async () => {
  const account = await gateway.account("5.00");
  const short = await served(account, "hi");
  expect(costOf(short)).toBe(costAt(1n, short));
  const meanwhile = async (): Promise<void> => {
    const { heldMicroUsd } = await gateway.backend.recordStore.balance(account.orgId);
    expect(heldMicroUsd).toBeGreaterThan(2n * BigInt(LONG.length) + 2n * 640n);
  };
  const long = await served(account, LONG, { meanwhile });
  expect(Number(at(long.json, "usage", "prompt_tokens"))).toBeGreaterThan(BOUND);
  expect(costOf(long)).toBe(costAt(2n, long));
  await nothingHeld(gateway, account);
  const path = `/v1/generation?id=${long.requestId}`;
  const record = (await get(gateway.url, { key: account.key, path })).json;
  expect(at(record, "data", "attempts", "0", "price_sheet")).toMatchObject({
    above_prompt_tokens: BOUND,
    pricing: { prompt: "0.000002", completion: "0.00002" },
  });
  expect(await brokenBooks(gateway)).toEqual([]);
});

test("every attempt around the instant of a price change has the prices of its own admission", async () => {
  const account = await gateway.account("5.00");
  const fromMs = Math.ceil((systemClock.nowMs() + 4_000) / 1_000) * 1_000;
  const from = new Date(fromMs).toISOString().replace(".000Z", "Z");
  const terms = {
    price_tiers: [tier(2)],
    price_changes: [{ from, pricing: pricing(3), price_tiers: [tier(7)] }],
    checked: { on: "2026-11-22", by: "page" },
  };
  const file = join(gateway.config.manifestsDir, "manifest-0.json");
  writeFileSync(file, JSON.stringify(manifestWith(terms)));
  await until("the change is announced", async () => {
    gateway.running.reload();
    return at(await entry(account), "price_changes", "0");
  });
  expect(await entry(account)).toMatchObject({
    pricing: { prompt: "0.000001" },
    price_changes: [
      {
        from: new Date(fromMs).toISOString(),
        pricing: { prompt: "0.000003" },
        price_tiers: [{ above_prompt_tokens: BOUND, pricing: { prompt: "0.000007" } }],
      },
    ],
    checked: { on: "2026-11-22", by: "page" },
  });

  // The request was admitted before the change, and its provider answers after it.
  const over = await served(account, LONG, {
    meanwhile: async () =>
      void (await until("the change has come", () => systemClock.nowMs() > fromMs + 250)),
  });
  expect(costOf(over)).toBe(costAt(2n, over));
  const after = await served(account, "hi");
  expect(costOf(after)).toBe(costAt(3n, after));
  const longAfter = await served(account, LONG);
  expect(costOf(longAfter)).toBe(costAt(7n, longAfter));

  await nothingHeld(gateway, account);
  const record = await ended(gateway, account, over.requestId);
  expect(record.attempts[0]?.sheet.abovePromptTokens).toBe(BOUND);
  expect(await brokenBooks(gateway)).toEqual([]);
  await until("the new prices are shown as in force", async () => {
    const shown = await entry(account);
    return at(shown, "pricing", "prompt") === "0.000003" && at(shown, "price_changes");
  });
});

test("a price change takes effect by the ledger's clock, whatever this host's clock says", async () => {
  const from = new Date(Math.floor(systemClock.nowMs() / 1_000) * 1_000 - 3_600_000);
  const slow = await startTestGateway({
    manifests: [
      manifestWith({
        price_changes: [
          { from: from.toISOString().replace(".000Z", "Z"), pricing: pricing(5) },
          { from: "2099-01-01T00:00:00Z", pricing: pricing(9) },
        ],
      }),
    ],
    clock: {
      nowMs: () => systemClock.nowMs() - 86_400_000,
      monotonicMs: () => systemClock.monotonicMs(),
    },
  });
  onTestFinished(() => slow.close());
  const account = await slow.account("5.00");
  const answer = await served(account, "hi", { url: slow.url });
  expect(costOf(answer)).toBe(costAt(5n, answer));
  await nothingHeld(slow, account);
  expect(await brokenBooks(slow)).toEqual([]);
});

test.each([
  ["a whole answer", false],
  ["a stream", true],
])(
  "%s is settled at the prices of its admission, whatever the prices are when it ends",
  async (_what, stream) => {
    await changePrices(1);
    const account = await gateway.account("5.00");
    const request: Ask = { key: account.key, wire: "wire_a", model: "m/plain", text: "hi", stream };
    const answer = await sendThrough(request, { meanwhile: () => changePrices(10) });
    await nothingHeld(gateway, account);
    const record = await ended(gateway, account, answer.requestId);
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

test("a failover candidate that is tried after a price change is held and settled at the old prices", async () => {
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
  expect(answer.headers).toMatchObject({ "x-tm-attempts": "2", "x-tm-provider": "plain" });
  expect(costOf(answer)).toBe(costAt(1n, answer));
  await nothingHeld(gateway, account);
  const record = await ended(gateway, account, answer.requestId);
  expect(record.attempts.map(({ debitMicroUsd }) => debitMicroUsd)).toEqual([
    0n,
    costAt(1n, answer),
  ]);
  expect(await brokenBooks(gateway)).toEqual([]);
});
