import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Usage } from "../../core/usage.ts";
import { mergeCounts, usageJson, usageOfCounts } from "./usage.ts";

test("thinking is a part of the output, cache is not a part of the input", () => {
  const counts = mergeCounts(
    {},
    {
      input_tokens: 10,
      cache_read_input_tokens: 5,
      cache_creation_input_tokens: 3,
      output_tokens: 20,
      output_tokens_details: { thinking_tokens: 12 },
    },
  );
  expect(usageOfCounts(counts)).toEqual({
    prompt: 10,
    cachedPrompt: 5,
    cacheWrite: 3,
    completion: 8,
    internalReasoning: 12,
  });
});

test("null and junk never overwrite a count that was reported", () => {
  const first = mergeCounts({}, { input_tokens: 10, output_tokens: 1 });
  for (const later of [
    null,
    {},
    [],
    "x",
    { input_tokens: null },
    { input_tokens: -4 },
    { input_tokens: "9" },
  ]) {
    expect(usageOfCounts(mergeCounts(first, later))).toEqual(usageOfCounts(first));
  }
  expect(mergeCounts(first, { output_tokens: 9 })).toEqual({ input: 10, output: 9 });
});

test("nothing reported means no usage, not a usage of zero", () => {
  expect(usageOfCounts({})).toBeUndefined();
  expect(usageOfCounts(mergeCounts({}, { cache_read_input_tokens: 5 }))).toBeUndefined();
});

test("what is written for a client reads back as the same buckets", () => {
  const count = fc.nat(1_000_000);
  const usage: fc.Arbitrary<Usage> = fc.record({
    prompt: count,
    cachedPrompt: count,
    cacheWrite: count,
    completion: count,
    internalReasoning: count,
  });
  fc.assert(
    fc.property(usage, (known) => {
      const written = JSON.parse(usageJson(known, "0.5")) as Record<string, unknown>;
      expect(usageOfCounts(mergeCounts({}, written))).toEqual(known);
      expect(written["cost"]).toBe(0.5);
    }),
  );
});
