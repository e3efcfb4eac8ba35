import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { outputTokensTotal, promptTokensTotal, type Usage } from "../../../kernel/core/usage.ts";
import { readUsage, usageJson } from "./usage.ts";

function read(body: object): ReturnType<typeof readUsage> {
  return readUsage(body as Record<string, unknown>, JSON.stringify(body));
}

function vendorUsage(prompt: number | undefined, completion: number, more: object = {}): object {
  return { prompt_tokens: prompt, completion_tokens: completion, ...more };
}

function buckets(...counts: readonly [number, number, number, number, number]): Usage {
  const [prompt, cachedPrompt, cacheWrite, completion, internalReasoning] = counts;
  return { prompt, cachedPrompt, cacheWrite, completion, internalReasoning };
}

const inCache = (cached_tokens: number, cache_write_tokens: number): object => ({
  prompt_tokens_details: { cached_tokens, cache_write_tokens },
});
const thought = (reasoning_tokens: number, total_tokens?: number): object => ({
  completion_tokens_details: { reasoning_tokens },
  ...(total_tokens !== undefined && { total_tokens }),
});
const hits = { prompt_cache_hit_tokens: 64, prompt_cache_miss_tokens: 36 };

const qwenCache = {
  prompt_tokens_details: {
    cached_tokens: 30,
    cache_creation: { ephemeral_5m_input_tokens: 10 },
    cache_creation_input_tokens: 10,
  },
};

describe("every vendor's usage fills the same five buckets", () => {
  const openai = vendorUsage(100, 50, { ...inCache(40, 10), ...thought(20, 150) });
  const xai = vendorUsage(10, 5, thought(100, 115));
  test.each<[string, object, Usage]>([
    ["OpenAI", openai, buckets(50, 40, 10, 30, 20)],
    ["DeepSeek", vendorUsage(100, 5, hits), buckets(36, 64, 0, 5, 0)],
    ["DeepSeek without a total", vendorUsage(undefined, 5, hits), buckets(36, 64, 0, 5, 0)],
    ["Moonshot", vendorUsage(100, 5, { cached_tokens: 30 }), buckets(70, 30, 0, 5, 0)],
    ["Qwen", vendorUsage(100, 5, qwenCache), buckets(60, 30, 10, 5, 0)],
    ["xAI with reasoning outside the completion count", xai, buckets(10, 0, 0, 5, 100)],
    ["more reasoning than output", vendorUsage(10, 5, thought(9)), buckets(10, 0, 0, 0, 5)],
    ["more cache than prompt", vendorUsage(10, 5, inCache(99, 99)), buckets(0, 10, 0, 5, 0)],
    ["a usage without prompt tokens", vendorUsage(undefined, 5), buckets(0, 0, 0, 5, 0)],
  ])("%s", (_vendor, usage, expected) => {
    expect(read({ usage })?.usage).toEqual(expected);
  });

  test("Groq's usage is read from a member of its own", () => {
    const report = read({ usage: null, x_groq: { usage: vendorUsage(9, 4) } });
    expect(report?.usage).toEqual(buckets(9, 0, 0, 4, 0));
  });

  test.each([{}, { prompt_tokens: -1, completion_tokens: 1.5 }])("%j reports nothing", (usage) => {
    expect(read({ usage })).toBeUndefined();
  });

  test.each([
    ['{"usage":{"prompt_tokens":1,"cost":0.00000012345678901234567}}', "0.00000012345678901234567"],
    ['{"usage":{"prompt_tokens":1,"cost":"0.5"}}', "0.5"],
    ['{"usage":{"prompt_tokens":1,"cost":-1}}', undefined],
    ['{"usage":{"prompt_tokens":1}}', undefined],
    ['{"usage":{"cost":0.02}}', "0.02"],
    ['{"choices":[{"usage":{"cost":0.02}}]}', "0.02"],
  ])("the cost of %s is %s, as it was written", (text, cost) => {
    const report = readUsage(JSON.parse(text) as Record<string, unknown>, text);
    expect(report?.reportedCostUsd).toBe(cost);
  });
});

describe("usage", () => {
  const count = fc.nat(1_000_000);
  const usage = fc.tuple(count, count, count, count, count).map((counts) => buckets(...counts));

  test("reads back as the same buckets as it was written for a client", () => {
    fc.assert(
      fc.property(usage, (known) => {
        const text = `{"usage":${usageJson(known, "0.5")}}`;
        const body = JSON.parse(text) as Record<string, unknown>;
        expect(readUsage(body, text)).toEqual({ usage: known, reportedCostUsd: "0.5" });
      }),
    );
  });

  test("has safe, non-negative counts that add up to no more than was reported", () => {
    const junk = fc.oneof(count, fc.double(), fc.jsonValue());
    const counts = { cached_tokens: junk, cache_write_tokens: junk, reasoning_tokens: junk };
    const details = fc.record(counts);
    const reported = fc.record({
      prompt_tokens: junk,
      completion_tokens: junk,
      total_tokens: junk,
      cached_tokens: junk,
      prompt_tokens_details: details,
      completion_tokens_details: details,
    });
    fc.assert(
      fc.property(reported, (fields) => {
        const found = read({ usage: fields })?.usage;
        if (found === undefined) return;
        for (const value of Object.values(found)) {
          expect(Number.isSafeInteger(value) && value >= 0).toBe(true);
        }
        expect(promptTokensTotal(found)).toBeLessThanOrEqual(amountOf(fields.prompt_tokens));
        const reasoning = amountOf(fields.completion_tokens_details.reasoning_tokens);
        const output = amountOf(fields.completion_tokens);
        expect(outputTokensTotal(found)).toBeLessThanOrEqual(output + reasoning);
      }),
    );
  });
});

function amountOf(value: unknown): number {
  return typeof value === "number" && value > 0 ? value : 0;
}

test("the usage inside a choice is read if there is no other", () => {
  const inner = { prompt_tokens: 7, completion_tokens: 3, cached_tokens: 2, cost: 0.5 };
  const choices = [{ index: 0, delta: {}, finish_reason: "stop", usage: inner }];
  const expected = { prompt: 5, cachedPrompt: 2, completion: 3 };
  expect(read({ choices })).toMatchObject({ usage: expected, reportedCostUsd: "0.5" });
  expect(read({ choices, usage: null })).toMatchObject({ usage: expected });
  const own = { prompt_tokens: 1, completion_tokens: 1 };
  expect(read({ choices, usage: own })).toMatchObject({ usage: { prompt: 1, completion: 1 } });
});
