import { describe, expect, test } from "vitest";

import type { Deployment } from "../../catalog/catalog.ts";
import { microUsd } from "../../kernel/core/money.ts";
import { refusal, type RefusalClass } from "../../kernel/core/refusals.ts";
import { type Usage, ZERO_USAGE } from "../../kernel/core/usage.ts";
import type { AttemptResult } from "../../upstream/run-attempt.ts";
import { tokenCount } from "../limits/limit-store.ts";
import { observedTokens, toAttemptOutcome, computeSettlement } from "./settle.ts";

const USAGE: Usage = {
  prompt: 3,
  cachedPrompt: 5,
  cacheWrite: 7,
  completion: 11,
  internalReasoning: 13,
};

const deployment = {
  billing: "token",
  prices: {
    pinId: "pin",
    prompt: 1n,
    cachedPrompt: 10n,
    cacheWrite: 100n,
    completion: 1_000n,
    internalReasoning: 10_000n,
  },
} as unknown as Deployment;

function result(input: {
  readonly usage?: Usage;
  readonly cost?: string;
  readonly failed?: RefusalClass;
  readonly hasOutput?: boolean;
}): AttemptResult {
  const { usage, cost, failed, hasOutput = false } = input;
  return {
    bridge: { usage, reportedCostUsd: cost } as AttemptResult["bridge"],
    failure:
      failed === undefined
        ? undefined
        : { refusal: refusal(failed, "it failed"), failover: true, strike: "strike" },
    timedOut: false,
    hasOutput,
    upstreamStatus: 200,
    firstByteMs: 1,
    firstOutputMs: null,
    durationMs: 2,
  };
}

describe("the settlement of an attempt", () => {
  test("charges the one-hour price for cache writes only if the request asked for one-hour writes", () => {
    const prices = { ...deployment.prices, cacheWrite1h: 500n };
    const listing = { ...deployment, prices } as Deployment;
    const hourly = { ...USAGE, cacheWrite1h: 4 };
    const others = 3n + 50n + 11_000n + 130_000n;
    const asked = computeSettlement(result({ usage: hourly }), listing, { asksHourWrites: true });
    const costPicoUsd = others + 300n + 2_000n;
    expect(asked).toEqual({ usage: hourly, basis: "reported", costPicoUsd });
    // One-hour cache writes that the request did not ask for are charged as ordinary ones.
    const plain = { usage: USAGE, basis: "reported", costPicoUsd: others + 700n };
    expect(computeSettlement(result({ usage: hourly }), listing)).toEqual(plain);
  });

  test("is zero without reported usage, and no estimate is billed", () => {
    const settled = computeSettlement(result({}), deployment);
    expect(settled).toEqual({ usage: null, basis: "none", costPicoUsd: 0n });
  });

  test("ignores a reported cost of more than a million dollars above the reserve", () => {
    const listing = { ...deployment, billing: "reported_cost" } as Deployment;
    const settled = computeSettlement(result({ usage: USAGE, cost: "1e11" }), listing);
    expect(settled).toMatchObject({ basis: "none", flag: "usage_impossible", costPicoUsd: 0n });
    const most = computeSettlement(result({ usage: USAGE, cost: "1e6" }), listing);
    expect(most).toMatchObject({ basis: "reported", costPicoUsd: 10n ** 18n });
  });

  test.each([
    ["a prompt above the context length", { prompt: 232_769 }],
    ["a cached prompt above the context length", { cachedPrompt: 9_000_000_000_000_000 }],
    ["an output above context length and bound together", { internalReasoning: 232_769 }],
    ["counts whose sum is too large", { cacheWrite: 132_769, completion: 100_000 }],
  ])("ignores impossible usage: %s", (_, more) => {
    const listing = { ...deployment, contextLength: 200_000 } as Deployment;
    const possible = { ...ZERO_USAGE, prompt: 232_768 };
    const believed = computeSettlement(result({ usage: possible }), listing);
    expect(believed).toMatchObject({ basis: "reported" });
    const settled = computeSettlement(result({ usage: { ...ZERO_USAGE, ...more } }), listing);
    const flagged = { usage: null, basis: "none", costPicoUsd: 0n, flag: "usage_impossible" };
    expect(settled).toEqual(flagged);
  });

  test("believes usage up to 2^31 tokens for a listing without a context length", () => {
    const most = { ...ZERO_USAGE, prompt: 2 ** 31 };
    expect(computeSettlement(result({ usage: most }), deployment)).toMatchObject({ usage: most });
    const more = { ...most, completion: 1 };
    const flagged = computeSettlement(result({ usage: more }), deployment);
    expect(flagged).toMatchObject({ flag: "usage_impossible" });
  });

  test("believes usage above the context length for a decision whose state is read once per question", () => {
    const decisions = { path: "/decisions", wire: "systemone", isStatePerQuestion: true };
    const listing = { ...deployment, contextLength: 200_000, decisions } as unknown as Deployment;
    const usage = { ...ZERO_USAGE, prompt: 10 * 190_000, completion: 10 };
    const settled = computeSettlement(result({ usage }), listing);
    expect(settled).toMatchObject({ usage, basis: "reported" });
  });

  test("ignores usage that costs more than a million dollars above the reserve", () => {
    const dear = { ...deployment, prices: { ...deployment.prices, prompt: 10n ** 13n } };
    const usage = { ...ZERO_USAGE, prompt: 1_000_000 };
    const settled = computeSettlement(result({ usage }), dear as Deployment);
    expect(settled).toMatchObject({ costPicoUsd: 0n, flag: "usage_impossible" });
    // The same usage is believed if ten million dollars were held for the request.
    const reserveMicroUsd = microUsd(10n ** 13n);
    const held = computeSettlement(result({ usage }), dear as Deployment, { reserveMicroUsd });
    expect(held).toMatchObject({ basis: "reported", costPicoUsd: 10n ** 19n });
  });

  test("of a stream that died is the usage that was reported until then", () => {
    const died = result({ usage: USAGE, failed: "upstream_error", hasOutput: true });
    expect(computeSettlement(died, deployment)).toMatchObject({ basis: "partial", usage: USAGE });
  });

  test("of an answer that broke a bound is its reported usage, or zero before any output", () => {
    const broken = { usage: USAGE, failed: "gateway_error" } as const;
    const after = computeSettlement(result({ ...broken, hasOutput: true }), deployment);
    expect(after).toMatchObject({ basis: "partial", usage: USAGE });
    const before = computeSettlement(result({ ...broken, hasOutput: false }), deployment);
    expect(before).toMatchObject({ basis: "none", costPicoUsd: 0n });
  });

  test("is zero for refused content, whatever the provider reports", () => {
    const refused = result({ usage: USAGE, failed: "content_policy" });
    const nothing = { basis: "none", costPicoUsd: 0n };
    expect(computeSettlement(refused, deployment)).toMatchObject(nothing);
  });

  test("of a reported_cost listing is the provider's own figure, digit by digit", () => {
    const reported = { ...deployment, billing: "reported_cost" } as Deployment;
    const settled = computeSettlement(result({ usage: USAGE, cost: "0.0123456789" }), reported);
    expect(settled).toMatchObject({ basis: "reported", costPicoUsd: 12_345_678_900n });
  });
});

test("token windows count the observed tokens, or the estimate if a complete answer reports no usage", () => {
  const silent = computeSettlement(result({}), deployment);
  const counted = computeSettlement(result({ usage: USAGE }), deployment);
  const estimate = tokenCount(90, 9);
  expect(observedTokens(counted, true, estimate).tokens).toBe(39);
  expect(observedTokens(silent, true, estimate).tokens).toBe(99);
  expect(observedTokens(silent, false, estimate).tokens).toBe(0);
});

test("an attempt is recorded as a timeout, a reset, a refusal, a failure, a died stream or a departed client", () => {
  const failed = result({ failed: "upstream_error" });
  expect(toAttemptOutcome(result({}), false)).toBe("completed");
  expect(toAttemptOutcome(result({}), true)).toBe("client_disconnected");
  expect(toAttemptOutcome({ ...failed, timedOut: true }, false)).toBe("timeout");
  expect(toAttemptOutcome({ ...failed, upstreamStatus: null }, false)).toBe("reset");
  expect(toAttemptOutcome({ ...failed, upstreamStatus: 400 }, false)).toBe("refused");
  expect(toAttemptOutcome({ ...failed, upstreamStatus: 503 }, false)).toBe("failed");
  expect(toAttemptOutcome({ ...failed, hasOutput: true }, false)).toBe("stream_died");
});
