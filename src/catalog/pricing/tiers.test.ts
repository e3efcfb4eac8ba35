import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { PriceSheet, PriceTier } from "../catalog.ts";
import { microUsd } from "../../kernel/core/money.ts";
import type { Usage } from "../../kernel/core/usage.ts";
import { computeDebit, exactCost, quoteWorstCase } from "./quote.ts";

const BUCKETS = [
  "prompt",
  "cachedPrompt",
  "cacheWrite",
  "completion",
  "internalReasoning",
] as const;

const price = fc.bigInt({ min: 0n, max: 9_999_999_999_999n });
const rates: fc.Arbitrary<PriceSheet> = fc.record({
  pinId: fc.constant("pin"),
  prompt: price,
  cachedPrompt: price,
  cacheWrite: price,
  completion: price,
  internalReasoning: price,
});

/** Up to eight tiers, dearer and cheaper ones in any order, with bounds near each other too. */
const tiered: fc.Arbitrary<PriceSheet> = fc
  .record({
    base: rates,
    tiers: fc.uniqueArray(fc.record({ above: fc.integer({ min: 1, max: 60 }), prices: rates }), {
      minLength: 1,
      maxLength: 8,
      selector: ({ above }) => above,
    }),
  })
  .map(({ base, tiers }) => ({
    ...base,
    tiers: tiers
      .toSorted((a, b) => a.above - b.above)
      .map(({ above, prices }): PriceTier => ({ abovePromptTokens: above, prices })),
  }));

const count = fc.integer({ min: 0, max: 40 });
const usages: fc.Arbitrary<Usage> = fc.record({
  prompt: count,
  cachedPrompt: count,
  cacheWrite: count,
  completion: count,
  internalReasoning: count,
});

/** The cost as a listing states it, one token after the other. */
function costByHand(sheet: PriceSheet, usage: Usage): bigint {
  let rate = sheet;
  let size = 0;
  for (const bucket of ["prompt", "cachedPrompt", "cacheWrite"] as const) size += usage[bucket];
  for (const tier of sheet.tiers ?? []) if (size >= tier.abovePromptTokens + 1) rate = tier.prices;
  let cost = 0n;
  for (const bucket of BUCKETS) {
    for (let token = 0; token < usage[bucket]; token += 1) cost += rate[bucket];
  }
  return cost;
}

describe("prices by the size of the prompt", () => {
  test("charge every token exactly at the tier of the whole prompt", () => {
    fc.assert(
      fc.property(tiered, usages, (sheet, usage) => {
        expect(exactCost(sheet, usage)).toBe(costByHand(sheet, usage));
      }),
    );
  });

  test("reserve enough that no usage within the estimate is debited less than it costs", () => {
    fc.assert(
      fc.property(tiered, usages, count, count, (sheet, usage, moreInput, moreOutput) => {
        const held = quoteWorstCase(sheet, {
          input: usage.prompt + usage.cachedPrompt + usage.cacheWrite + moreInput,
          output: usage.completion + usage.internalReasoning + moreOutput,
        });
        const cost = exactCost(sheet, usage);
        expect(cost <= held * 1_000_000n).toBe(true);
        expect(computeDebit(cost, held)).toBe(cost / 1_000_000n);
      }),
    );
  });

  test("reserve no more than the dearest usage within the estimate costs", () => {
    const small = fc.integer({ min: 0, max: 70 });
    fc.assert(
      fc.property(tiered, small, small, (sheet, input, output) => {
        const held = quoteWorstCase(sheet, { input, output });
        let most = 0n;
        for (let size = 0; size <= input; size += 1) {
          for (const side of ["prompt", "cachedPrompt", "cacheWrite"] as const) {
            for (const other of ["completion", "internalReasoning"] as const) {
              const cost = costByHand(sheet, { ...NOTHING, [side]: size, [other]: output });
              if (cost > most) most = cost;
            }
          }
        }
        expect(held).toBe((most + 999_999n) / 1_000_000n);
      }),
      { numRuns: 40 },
    );
  });

  const NOTHING: Usage = {
    prompt: 0,
    cachedPrompt: 0,
    cacheWrite: 0,
    completion: 0,
    internalReasoning: 0,
  };
  const flat = (prompt: bigint, completion: bigint): PriceSheet => ({
    pinId: `${prompt}/${completion}`,
    prompt,
    cachedPrompt: prompt,
    cacheWrite: prompt,
    completion,
    internalReasoning: completion,
  });
  // Gemini 3.1 Pro's shape: 2 and 12 dollars, above 200,000 tokens 4 and 18.
  const pro: PriceSheet = {
    ...flat(2_000_000n, 12_000_000n),
    tiers: [{ abovePromptTokens: 200_000, prices: flat(4_000_000n, 18_000_000n) }],
  };

  test("keep a prompt of exactly the bound below the tier, and put one more token in it", () => {
    const at = { ...NOTHING, prompt: 150_000, cachedPrompt: 50_000, completion: 10 };
    expect(exactCost(pro, at)).toBe(200_000n * 2_000_000n + 10n * 12_000_000n);
    const above = { ...at, cacheWrite: 1 };
    expect(exactCost(pro, above)).toBe(200_001n * 4_000_000n + 10n * 18_000_000n);
  });

  test("reserve no tier below its bound, and the whole estimate at the tier above it", () => {
    const output = 1_000;
    expect(quoteWorstCase(pro, { input: 200_000, output })).toBe(412_000n);
    expect(quoteWorstCase(pro, { input: 200_001, output })).toBe(818_004n);
  });

  test("debit no more than the reserve if usage above the estimate reaches a tier", () => {
    const held = quoteWorstCase(pro, { input: 200_000, output: 0 });
    const cost = exactCost(pro, { ...NOTHING, prompt: 200_001 });
    expect(computeDebit(cost, held)).toBe(microUsd(400_000n));
  });
});
