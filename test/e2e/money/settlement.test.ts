import { describe, expect, test } from "vitest";

import { formatUsd, microUsd } from "../../../src/kernel/core/money.ts";
import type { AttemptRecord } from "../../../src/gateway/records/record-rows.ts";
import {
  ask,
  at,
  bodyOf,
  costOf,
  get,
  type Ask,
  type HttpAnswer,
  type Wire,
} from "../../support/ask.ts";
import { brokenBooks, debitOf, debitsOf, ended, nothingHeld } from "../../support/books.ts";
import { httpCall } from "../../support/http-call.ts";
import { runCommand } from "../../support/program.ts";
import {
  simulatorManifest,
  textModel,
  tokenPrices,
  withAccount,
  withGateway,
} from "../../support/gateway.ts";

/* Pico-dollars per token. No two share a factor, so mixed-up prices change the cost. */
const PRICES = {
  prompt: 3_100_000n,
  cachedPrompt: 310_007n,
  cacheWrite: 3_770_003n,
  completion: 15_130_009n,
  internalReasoning: 19_000_013n,
};

function listing(id: string): object {
  // Pico-dollars per token are the same number of micro-dollars per million tokens.
  const usd = (pico: bigint): string => formatUsd(microUsd(pico));
  const pricing = tokenPrices({
    prompt: usd(PRICES.prompt),
    cached_prompt: usd(PRICES.cachedPrompt),
    cache_write: usd(PRICES.cacheWrite),
    completion: usd(PRICES.completion),
    internal_reasoning: usd(PRICES.internalReasoning),
  });
  return textModel(id, { pricing });
}

const DEAR = tokenPrices({ prompt: 100, completion: 1000 });

const gateway = withGateway(() => ({
  settings: { orgRequestsPerMinute: 10_000, keyRequestsPerMinute: 10_000 },
  manifests: [
    simulatorManifest({
      provider: "cheap",
      dialect: "wire_a",
      models: [textModel("m/cheap-then-dear")],
    }),
    simulatorManifest({
      provider: "dear",
      dialect: "wire_a",
      priority: 1,
      models: [textModel("m/cheap-then-dear", { pricing: DEAR })],
    }),
    simulatorManifest({
      provider: "up-a",
      dialect: "wire_a",
      models: [listing("up/wire_a"), listing("up/a-then-b")],
    }),
    simulatorManifest({
      provider: "up-b",
      dialect: "wire_b",
      models: [listing("up/wire_b"), listing("up/b-then-a")],
    }),
    simulatorManifest({
      provider: "late-b",
      dialect: "wire_b",
      priority: 1,
      models: [listing("up/a-then-b")],
    }),
    simulatorManifest({
      provider: "late-a",
      dialect: "wire_a",
      priority: 1,
      models: [listing("up/b-then-a")],
    }),
  ],
}));
const account = withAccount(gateway, "100");

type Tokens = NonNullable<AttemptRecord["usage"]>;

/** The cost summed over the buckets in pico-dollars and truncated to micro-dollars once. */
function priced(tokens: Tokens): bigint {
  const pico =
    BigInt(tokens.prompt) * PRICES.prompt +
    BigInt(tokens.cachedPrompt) * PRICES.cachedPrompt +
    BigInt(tokens.cacheWrite) * PRICES.cacheWrite +
    BigInt(tokens.completion) * PRICES.completion +
    BigInt(tokens.internalReasoning) * PRICES.internalReasoning;
  return pico / 1_000_000n;
}

/** Checks that answer, generation, usage and wallet show the same cost, and returns it. */
async function costEverywhere(answer: HttpAnswer, debitsBefore: bigint): Promise<bigint> {
  expect(answer.status).toBe(200);
  const reported = costOf(answer);
  const { requestId } = answer;
  const path = `/v1/generation?id=${requestId}`;
  const generation = (await get(gateway.url, { key: account.key, path })).json;
  const usage = (await get(gateway.url, { key: account.key, path: "/v1/usage?limit=1" })).json;
  const record = await ended(gateway, account, requestId);
  expect(reported).toBe(debitOf(record));
  const dollars = Number(reported) / 1e6;
  expect(at(generation, "data", "cost_micro_usd")).toBe(Number(reported));
  expect(at(generation, "data", "total_cost")).toBeCloseTo(dollars, 9);
  expect(at(usage, "data", 0)).toMatchObject({
    request_id: requestId,
    cost_micro_usd: Number(reported),
  });
  expect(at(usage, "balance", "held_micro_usd")).toBe(0);
  expect((await debitsOf(gateway, account)) - debitsBefore).toBe(reported);
  return reported ?? -1n;
}

const WIRES = ["wire_a", "wire_b"] as const;
const ROUTES = WIRES.flatMap((wire) =>
  WIRES.flatMap((upstream) => [false, true].map((stream) => ({ wire, upstream, stream }))),
);

describe("observed tokens are billed to the micro-dollar, and answer, record and usage show that cost", () => {
  test.each(ROUTES)("from $upstream to $wire, stream $stream", async (route) => {
    const before = await debitsOf(gateway, account);
    const text =
      "[cached:6][cache_write:4][reasoning:9] a prompt with enough words for every bucket of tokens";
    const { wire, stream, upstream } = route;
    const model = `up/${upstream}`;
    const answer = await ask(gateway.url, { key: account.key, wire, model, stream, text });
    const cost = await costEverywhere(answer, before);
    const record = await ended(gateway, account, answer.requestId);
    const tokens = record.attempts[0]?.usage;
    expect(tokens).toMatchObject({ cachedPrompt: 6, cacheWrite: 4, internalReasoning: 9 });
    expect(tokens?.prompt).toBeGreaterThan(0);
    expect(tokens?.completion).toBeGreaterThan(0);
    expect(cost).toBe(tokens && priced(tokens));
    expect(record.attempts).toHaveLength(1);
    expect(record.attempts[0]?.basis).toBe("reported");
    expect(record.outcome).toBe("completed");
  });
});

test.each([
  { wire: "wire_a", upstream: "wire_a", stream: true },
  { wire: "wire_b", upstream: "wire_b", stream: false },
  { wire: "wire_b", upstream: "wire_a", stream: true },
] as const)(
  "usage that is not reported is not billed: from $upstream to $wire, stream $stream",
  async ({ wire, upstream, stream }) => {
    const before = await debitsOf(gateway, account);
    const text = "silent [[fault:no_usage]]";
    const model = `up/${upstream}`;
    const answer = await ask(gateway.url, { key: account.key, wire, model, stream, text });
    expect(await costEverywhere(answer, before)).toBe(0n);
    const record = await ended(gateway, account, answer.requestId);
    expect(record.attempts[0]).toMatchObject({ basis: "none", usage: null, debitMicroUsd: 0n });
    expect(record.outcome).toBe("completed");
  },
);

test("impossible usage is not billed, delays no other settlement, and is listed by doctor", async () => {
  const before = await debitsOf(gateway, account);
  const reported = {
    wire_a: { prompt_tokens: 20, completion_tokens: 1e16 },
    wire_b: { input_tokens: 9e15 },
  };
  const absurd = await Promise.all(
    WIRES.map((wire) => {
      const text = `absurd [[fault:usage:${JSON.stringify(reported[wire])}]]`;
      return ask(gateway.url, { key: account.key, wire, model: `up/${wire}`, text });
    }),
  );
  const honest = { key: account.key, wire: "wire_a", model: "up/wire_a", text: "hi" } as const;
  const answers = await Promise.all([0, 1, 2].map(() => ask(gateway.url, honest)));
  for (const answer of absurd) {
    expect(answer.status).toBe(200);
    expect(costOf(answer)).toBe(0n);
    const record = await ended(gateway, account, answer.requestId);
    const flagged = { basis: "none", usage: null, debitMicroUsd: 0n };
    expect(record.attempts[0]).toMatchObject({ ...flagged, errorClass: "usage_impossible" });
  }
  await nothingHeld(gateway, account);
  const paid = answers.reduce((sum, answer) => sum + (costOf(answer) ?? 0n), 0n);
  expect(paid).toBeGreaterThan(0n);
  expect(await debitsOf(gateway, account)).toBe(before + paid);
  const { text: metrics } = await httpCall(`${gateway.running.internalUrl}/metrics`);
  expect(metrics).toContain('tm_usage_impossible_total{provider="up-a",model="up/wire_a"} 1');
  const { manifestsDir, databaseUrl } = gateway.config;
  const command = ["doctor", "--json", "--manifests", manifestsDir];
  const doctor = await runCommand(command, { DATABASE_URL: databaseUrl });
  expect(doctor.stdout).toContain("usage_impossible up-a/up/wire_a (1)");
  expect(doctor.code).toBe(1);
});

describe("attempts before the one that served", () => {
  test("that reported usage are charged, and the request costs the sum", async () => {
    const before = await debitsOf(gateway, account);
    // The messages wire reports the prompt's tokens before any text.
    gateway.simulator.script({ model: "up/b-then-a", fault: "error_at_event:1", times: 1 });
    const answer = await ask(gateway.url, {
      key: account.key,
      wire: "wire_a",
      model: "up/b-then-a",
      text: "twice",
      stream: true,
    });
    expect(answer.headers).toMatchObject({ "x-tm-attempts": "2", "x-tm-provider": "late-a" });
    const cost = await costEverywhere(answer, before);
    const { attempts } = await ended(gateway, account, answer.requestId);
    expect(attempts.map((each) => each.basis)).toEqual(["partial", "reported"]);
    const each = attempts.map(({ usage }) => (usage === null ? 0n : priced(usage)));
    expect(each.every((one) => one > 0n)).toBe(true);
    expect(cost).toBe(each.reduce((sum, one) => sum + one, 0n));
  });

  test("that reported no usage cost nothing", async () => {
    const before = await debitsOf(gateway, account);
    gateway.simulator.script({ model: "up/a-then-b", fault: "status:500", times: 1 });
    const answer = await ask(gateway.url, {
      key: account.key,
      wire: "wire_b",
      model: "up/a-then-b",
      text: "twice",
    });
    expect(answer.headers).toMatchObject({ "x-tm-attempts": "2", "x-tm-provider": "late-b" });
    await costEverywhere(answer, before);
    const { attempts } = await ended(gateway, account, answer.requestId);
    expect(attempts.map((one) => one.debitMicroUsd > 0n)).toEqual([false, true]);
    expect(attempts[0]).toMatchObject({ basis: "none", outcome: "failed", upstreamStatus: 500 });
  });
});

test.each<{ wire: Wire; upstream: Wire; maxTokens: number | null; text: string; output: number }>([
  { wire: "wire_a", upstream: "wire_a", maxTokens: 77, text: "hold", output: 77 },
  { wire: "wire_a", upstream: "wire_b", maxTokens: null, text: "no bound", output: 4_096 },
  { wire: "wire_b", upstream: "wire_b", maxTokens: 9, text: "Größe 漢字 🙂", output: 9 },
])(
  "a hold covers every byte and $output output tokens at the highest rates, rounded up, on $wire",
  async ({ wire, upstream, maxTokens, text, output }) => {
    const request: Ask = { key: account.key, wire, model: `up/${upstream}`, text, maxTokens };
    const answer = await ask(gateway.url, request);
    expect(answer.status).toBe(200);
    const { attempts } = await ended(gateway, account, answer.requestId);
    const bytes = BigInt(Buffer.byteLength(bodyOf(request)));
    const pico = bytes * PRICES.cacheWrite + BigInt(output) * PRICES.internalReasoning;
    expect(attempts[0]?.reserveMicroUsd).toBe((pico + 999_999n) / 1_000_000n);
  },
);

test("usage above the hold is charged at the hold", async () => {
  const before = await debitsOf(gateway, account);
  const text = '[[fault:usage:{"completion_tokens":200000}]]';
  const answer = await ask(gateway.url, {
    key: account.key,
    wire: "wire_a",
    model: "up/wire_a",
    text,
  });
  const cost = await costEverywhere(answer, before);
  const { attempts } = await ended(gateway, account, answer.requestId);
  expect(cost).toBe(attempts[0]?.reserveMicroUsd);
});

test("a client without money for the next candidate gets the error of the failed attempt", async () => {
  const request: Ask = {
    key: "",
    wire: "wire_a",
    model: "m/cheap-then-dear",
    text: "once [[fault:status:500]]",
  };
  const cheap = BigInt(Buffer.byteLength(bodyOf(request))) + 640n;
  const calls = gateway.simulator.counts().total;
  const poor = await gateway.account(formatUsd(microUsd(cheap * 2n)));
  const answer = await ask(gateway.url, { ...request, key: poor.key });
  expect(answer.status).toBe(500);
  expect(answer.headers).toMatchObject({
    "x-tm-error-code": "upstream_error",
    "x-tm-attempts": "1",
    "x-tm-upstream-status": "500",
  });
  expect(gateway.simulator.counts().total).toBe(calls + 1);
  await nothingHeld(gateway, poor);
  const record = await ended(gateway, poor, answer.requestId);
  expect(record.outcome).toBe("failed");
  expect(record.attempts).toHaveLength(1);
  const path = `/v1/generation?id=${answer.requestId}`;
  const { json } = await get(gateway.url, { key: poor.key, path });
  expect(at(json, "data")).toMatchObject({ outcome: "failed", cost_micro_usd: 0 });
});

test("nothing is held after all tests, and the books balance", async () => {
  await nothingHeld(gateway, account);
  expect(await brokenBooks(gateway)).toEqual([]);
});
