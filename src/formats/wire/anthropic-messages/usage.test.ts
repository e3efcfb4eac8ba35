import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Usage } from "../../../kernel/core/usage.ts";
import { mergeCounts, toUsageReport, usageJson, toUsage } from "./usage.ts";

function readBack(reported: object): Usage | undefined {
  return toUsage(mergeCounts({}, { input_tokens: 1, output_tokens: 1, ...reported }));
}

test("reported output tokens include thinking, and input tokens exclude cached ones", () => {
  const usage = readBack({
    input_tokens: 10,
    cache_read_input_tokens: 5,
    cache_creation_input_tokens: 3,
    output_tokens: 20,
    output_tokens_details: { thinking_tokens: 12 },
  });
  const cache = { cachedPrompt: 5, cacheWrite: 3 };
  expect(usage).toEqual({ prompt: 10, ...cache, completion: 8, internalReasoning: 12 });
});

test("null and invalid values never overwrite a reported count", () => {
  const first = mergeCounts({}, { input_tokens: 10, output_tokens: 1 });
  const junk = [{ input_tokens: null }, { input_tokens: -4 }, { input_tokens: "9" }];
  for (const later of [null, {}, [], "x", ...junk]) {
    expect(toUsage(mergeCounts(first, later))).toEqual(toUsage(first));
  }
  expect(mergeCounts(first, { output_tokens: 9 })).toEqual({ input: 10, output: 9 });
});

test("zeros at a stream's end erase no count of its start, unless the end counts the prompt anew", () => {
  const start = mergeCounts(
    {},
    {
      input_tokens: 100,
      cache_read_input_tokens: 50,
      cache_creation: { ephemeral_1h_input_tokens: 7 },
      output_tokens: 9,
      output_tokens_details: { thinking_tokens: 8 },
    },
  );
  const zeros = { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
  const silent = { output_tokens: 0, output_tokens_details: { thinking_tokens: 0 } };
  const none = { ...zeros, cache_creation: { ephemeral_1h_input_tokens: 0 }, ...silent };
  const kept = { prompt: 100, cachedPrompt: 50, cacheWrite1h: 7 };
  expect(toUsage(mergeCounts(start, { ...zeros, output_tokens: 40 }))).toMatchObject({
    prompt: 100,
    cachedPrompt: 50,
    completion: 32,
  });
  expect(toUsage(mergeCounts(start, { ...none, cache_creation_input_tokens: null }))).toMatchObject(
    { ...kept, completion: 1, internalReasoning: 8 },
  );
  const anew = { input_tokens: 0, cache_read_input_tokens: 150, output_tokens: 40 };
  expect(toUsage(mergeCounts(start, anew))).toMatchObject({ prompt: 0, cachedPrompt: 150 });
  expect(toUsage(mergeCounts({}, none))).toMatchObject({ prompt: 0, completion: 0 });
});

test("nothing reported means no usage, not a usage of zero", () => {
  expect(toUsage({})).toBeUndefined();
  expect(toUsage(mergeCounts({}, { cache_read_input_tokens: 5 }))).toBeUndefined();
});

test("hour-long cache writes are a part of all cache writes", () => {
  const kept = { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 70 };
  const reported = { cache_creation_input_tokens: 100, cache_creation: kept };
  expect(readBack(reported)).toMatchObject({ cacheWrite: 100, cacheWrite1h: 70 });
  // If the total is absent, it is the sum of the cache writes of both lifetimes.
  expect(readBack({ cache_creation: kept })).toMatchObject({ cacheWrite: 100, cacheWrite1h: 70 });
  const none = { cache_creation_input_tokens: 5, cache_creation: { ephemeral_1h_input_tokens: 0 } };
  expect(readBack(none)).not.toHaveProperty("cacheWrite1h");
});

test("more hour-long cache writes than cache writes are capped, and reported as a flaw", () => {
  const kept = { ephemeral_1h_input_tokens: 101 };
  const written = { cache_creation_input_tokens: 100, cache_creation: kept };
  const counts = mergeCounts({ input: 1, output: 1 }, written);
  const usage = toUsage(counts);
  expect(usage).toMatchObject({ cacheWrite: 100, cacheWrite1h: 100 });
  expect(toUsageReport(counts, undefined)?.flaw).toContain("cache writes of an hour");
  const hours = [-1, "9"].map((count) => ({ ephemeral_1h_input_tokens: count }));
  for (const junk of [...hours, [], 7]) {
    expect(readBack({ cache_creation: junk })).not.toHaveProperty("cacheWrite1h");
  }
  const odd = mergeCounts({}, { cache_creation: { ephemeral_1h_input_tokens: 0.5 } });
  expect(odd.flaw).toBe("usage.ephemeral_1h_input_tokens is not a count");
});

test("hour-long cache writes of a stream's start are kept if its end reports only the sum", () => {
  const kept = { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 40 };
  const reported = { input_tokens: 3, cache_creation_input_tokens: 40, cache_creation: kept };
  const start = mergeCounts({}, reported);
  const end = mergeCounts(start, { cache_creation_input_tokens: 40, output_tokens: 9 });
  expect(toUsage(end)).toMatchObject({ cacheWrite: 40, cacheWrite1h: 40, completion: 9 });
});

test("usage that is written for a client reads back as the same buckets", () => {
  const count = fc.nat(1_000_000);
  const usage: fc.Arbitrary<Usage> = fc.record({
    prompt: count,
    cachedPrompt: count,
    cacheWrite: count,
    completion: count,
    internalReasoning: count,
  });
  const hourly = fc.tuple(usage, count).map(([buckets, hour]): Usage => {
    const cacheWrite1h = Math.min(hour, buckets.cacheWrite);
    return cacheWrite1h === 0 ? buckets : { ...buckets, cacheWrite1h };
  });
  fc.assert(
    fc.property(hourly, (known) => {
      const written = JSON.parse(usageJson(known, "0.5")) as Record<string, unknown>;
      expect(toUsage(mergeCounts({}, written))).toEqual(known);
      expect(written["cost"]).toBe(0.5);
    }),
  );
});
