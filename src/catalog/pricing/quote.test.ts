import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { quickOrDeep } from "../../../test/support/depth.ts";
import { microUsd } from "../../kernel/core/money.ts";
import { sumUsage, type Usage, withoutHourWrites, ZERO_USAGE } from "../../kernel/core/usage.ts";
import type { PriceSheet, PriceTier } from "../catalog.ts";
import {
  costElsewhere,
  computeDebit,
  dependsOnRequest,
  exactCost,
  leastCostElsewhere,
  quoteImages,
  quoteWorstCase,
  tierBounds,
} from "./quote.ts";

const INPUT = ["prompt", "cachedPrompt", "cacheWrite"] as const;
const OUTPUT = ["completion", "internalReasoning"] as const;

const price = fc.bigInt({ min: 0n, max: 9_999_999_999_999n });
const sheets: fc.Arbitrary<PriceSheet> = fc.record({
  pinId: fc.constant("pin"),
  prompt: price,
  cachedPrompt: price,
  cacheWrite: price,
  completion: price,
  internalReasoning: price,
});
const hourlySheets: fc.Arbitrary<PriceSheet> = fc
  .tuple(sheets, price)
  .map(([sheet, cacheWrite1h]) => ({ ...sheet, cacheWrite1h }));

/** Sheets with up to 8 tiers, dearer or cheaper in any order, with bounds that may be adjacent. */
const tieredSheets: fc.Arbitrary<PriceSheet> = fc
  .tuple(
    sheets,
    fc.uniqueArray(fc.tuple(fc.integer({ min: 1, max: 60 }), sheets), {
      maxLength: 8,
      selector: ([above]) => above,
    }),
  )
  .map(([base, tiers]) => {
    const sorted = tiers.toSorted(([a], [b]) => a - b);
    const stated = sorted.map(([above, prices]): PriceTier => ({
      abovePromptTokens: above,
      prices,
    }));
    return stated.length === 0 ? base : { ...base, tiers: stated };
  });

const count = fc.integer({ min: 0, max: 40 });
const usages: fc.Arbitrary<Usage> = fc.record({
  prompt: count,
  cachedPrompt: count,
  cacheWrite: count,
  completion: count,
  internalReasoning: count,
});
const input = fc.integer({ min: 0, max: 11_000_000 });
const output = fc.integer({ min: 1, max: 32_768 });

/** Returns a sheet with one price for all input tokens and one for all output tokens. */
function flatSheet(prompt: bigint, completion: bigint): PriceSheet {
  const rates = { cachedPrompt: prompt, cacheWrite: prompt, internalReasoning: completion };
  return { pinId: `${prompt}/${completion}`, prompt, completion, ...rates };
}

/** Returns a sheet where cached tokens cost a tenth, and cache writes twice, the prompt price. */
function cachingSheet(prompt: bigint, completion: bigint): PriceSheet {
  const rates = { cachedPrompt: prompt / 10n, cacheWrite: prompt * 2n };
  return { ...flatSheet(prompt, completion), ...rates };
}

function used(prompt: number, completion = 0, more: Partial<Usage> = {}): Usage {
  return { ...ZERO_USAGE, prompt, completion, ...more };
}

/** Adds the prices of all tokens one by one, in the tier of the whole prompt. */
function costByHand(sheet: PriceSheet, usage: Usage): bigint {
  let rate = sheet;
  let size = 0;
  for (const bucket of INPUT) size += usage[bucket];
  for (const tier of sheet.tiers ?? []) if (size >= tier.abovePromptTokens + 1) rate = tier.prices;
  let cost = 0n;
  for (const bucket of [...INPUT, ...OUTPUT]) {
    for (let token = 0; token < usage[bucket]; token += 1) cost += rate[bucket];
  }
  return cost;
}

describe("prices, with or without tiers by the size of the prompt", () => {
  test("charge every token exactly, at the tier of the whole prompt", () => {
    fc.assert(
      fc.property(tieredSheets, usages, (sheet, usage) => {
        expect(exactCost(sheet, usage)).toBe(costByHand(sheet, usage));
      }),
    );
  });

  test("reserve enough that no usage within the estimate is debited less than it costs", () => {
    fc.assert(
      fc.property(tieredSheets, usages, count, count, (sheet, usage, moreInput, moreOutput) => {
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

  test("reserve no more than the dearest usage within the estimate costs, rounded up once", () => {
    const small = fc.integer({ min: 0, max: 70 });
    fc.assert(
      fc.property(tieredSheets, small, small, (sheet, inputTokens, outputTokens) => {
        const held = quoteWorstCase(sheet, { input: inputTokens, output: outputTokens });
        let most = 0n;
        for (let size = 0; size <= inputTokens; size += 1) {
          for (const side of INPUT) {
            for (const other of OUTPUT) {
              const usage = { ...ZERO_USAGE, [side]: size, [other]: outputTokens };
              const cost = costByHand(sheet, usage);
              if (cost > most) most = cost;
            }
          }
        }
        expect(held).toBe((most + 999_999n) / 1_000_000n);
      }),
      { numRuns: quickOrDeep(20, 200) },
    );
  });

  // Gemini 3.1 Pro costs $2 and $12 per million tokens, and $4 and $18 above 200,000 tokens.
  const pro: PriceSheet = {
    ...flatSheet(2_000_000n, 12_000_000n),
    tiers: [{ abovePromptTokens: 200_000, prices: flatSheet(4_000_000n, 18_000_000n) }],
  };

  test("keep a prompt of exactly the bound below the tier, and put one more token in it", () => {
    const at = { ...ZERO_USAGE, prompt: 150_000, cachedPrompt: 50_000, completion: 10 };
    expect(exactCost(pro, at)).toBe(200_000n * 2_000_000n + 10n * 12_000_000n);
    const above = { ...at, cacheWrite: 1 };
    expect(exactCost(pro, above)).toBe(200_001n * 4_000_000n + 10n * 18_000_000n);
    expect(quoteWorstCase(pro, { input: 200_000, output: 1_000 })).toBe(412_000n);
    expect(quoteWorstCase(pro, { input: 200_001, output: 1_000 })).toBe(818_004n);
  });

  test("debit no more than the reserve, even if more is reported than was estimated", () => {
    const held = quoteWorstCase(pro, { input: 200_000, output: 0 });
    expect(computeDebit(exactCost(pro, used(200_001)), held)).toBe(microUsd(400_000n));
    const cost = exactCost(flatSheet(1_000_000n, 1_000_000n), used(1_000, 1_000));
    expect(computeDebit(cost, microUsd(1_500n))).toBe(1_500n);
    expect(computeDebit(cost, microUsd(2_500n))).toBe(2_000n);
  });

  test("lose no digit of the largest request at the largest price", () => {
    const largest = flatSheet(9_999_999_999_999n, 9_999_999_999_999n);
    // 10,518,528 tokens at $9,999,999.999999 per million, with the sum rounded up to micro-dollars.
    const tokens = { input: 10_485_760, output: 32_768 };
    expect(quoteWorstCase(largest, tokens)).toBe(105_185_279_999_990n);
    expect(exactCost(largest, used(10_485_760, 32_768))).toBe(10_518_528n * 9_999_999_999_999n);
  });
});

describe("hour-long cache writes", () => {
  test("cost their own price, or that of any write if they have none", () => {
    const counts = fc.tuple(input, input).map(([cacheWrite, hour]) => ({
      ...used(11_000_000, 32_768),
      cacheWrite,
      cacheWrite1h: Math.min(cacheWrite, hour),
    }));
    fc.assert(
      fc.property(hourlySheets, counts, (sheet, usage) => {
        const { cacheWrite1h: own = 0n, ...plain } = sheet;
        const extra = BigInt(usage.cacheWrite1h) * (own - sheet.cacheWrite);
        expect(exactCost(sheet, usage)).toBe(exactCost(plain, usage) + extra);
        expect(exactCost(plain, usage)).toBe(exactCost(plain, withoutHourWrites(usage)));
      }),
    );
  });

  test("are reserved for the whole prompt if they are requested, and not at all otherwise", () => {
    fc.assert(
      fc.property(hourlySheets, input, output, (sheet, inputTokens, outputTokens) => {
        const { cacheWrite1h: own = 0n, ...plain } = sheet;
        const tokens = { input: inputTokens, output: outputTokens };
        expect(quoteWorstCase(sheet, tokens)).toBe(quoteWorstCase(plain, tokens));
        const dearer = own > sheet.cacheWrite ? { ...plain, cacheWrite: own } : plain;
        const asked = quoteWorstCase(sheet, { ...tokens, asksHourWrites: true });
        expect(asked).toBe(quoteWorstCase(dearer, tokens));
      }),
    );
  });
});

describe("the worst case of images", () => {
  test("is the ceiling once for each image, and the prompt once", () => {
    // Prompt tokens cost $5 per million, and output tokens $40 per million.
    const sheet = flatSheet(5_000_000n, 40_000_000n);
    const asked = { input: 100, images: 1, ceiling: 6_208 };
    expect(quoteImages(sheet, asked)).toBe(500n + 248_320n);
    expect(quoteImages(sheet, { ...asked, images: 4 })).toBe(500n + 4n * 248_320n);
  });

  test("is the ceiling in micro-dollars where the provider reports its own cost", () => {
    const units = flatSheet(0n, 1_000_000n);
    expect(quoteImages(units, { input: 10_000, images: 3, ceiling: 80_000 })).toBe(240_000n);
  });
});

const flat = cachingSheet(1_000_000n, 5_000_000n);
const steep: PriceSheet = {
  ...flat,
  tiers: [
    { abovePromptTokens: 100, prices: cachingSheet(2_000_000n, 10_000_000n) },
    { abovePromptTokens: 1_000, prices: cachingSheet(4_000_000n, 20_000_000n) },
  ],
};

describe("the cost of the same tokens elsewhere", () => {
  test("charges every bucket at its price, rounded down once over the sum", () => {
    const cheap = cachingSheet(10n, 1n);
    const part = { abovePromptTokens: 0, usage: used(60_000) };
    expect(costElsewhere(cheap, [part])).toBe(0n);
    expect(costElsewhere(cheap, [part, part])).toBe(1n);
    const usage = used(10, 20, { cachedPrompt: 100, cacheWrite: 3, internalReasoning: 4 });
    const exact = 10n + 10n + 6n + 100n + 20n;
    expect(costElsewhere(flat, [{ abovePromptTokens: 0, usage }])).toBe(exact);
  });

  test("uses the tier of each prompt, also for its output, never the tier of their sum", () => {
    const small = { abovePromptTokens: 0, usage: used(5_000, 10) };
    expect(costElsewhere(steep, [small])).toBe(5_050n);
    const middle = { abovePromptTokens: 100, usage: used(5_000, 10) };
    expect(costElsewhere(steep, [middle])).toBe(10_100n);
    const large = { abovePromptTokens: 1_000, usage: used(5_000, 10) };
    expect(costElsewhere(steep, [small, middle, large])).toBe(5_050n + 10_100n + 20_200n);
    expect(costElsewhere(steep, [{ ...small, abovePromptTokens: 99 }])).toBe(5_050n);
    expect(tierBounds(steep)).toEqual([100, 1_000]);
    expect(tierBounds(flat)).toEqual([]);
  });
});

describe("the least cost where the sizes of prompts are not known", () => {
  test("is that of the cheapest tier, even if long prompts are cheaper", () => {
    expect(leastCostElsewhere(steep, used(5_000, 10))).toBe(5_050n);
    const falling = {
      ...flat,
      tiers: [{ abovePromptTokens: 9, prices: cachingSheet(500_000n, 0n) }],
    };
    expect(leastCostElsewhere(falling, used(5_000, 10))).toBe(2_500n);
  });

  test("counts cache writes at the cheaper of both prices, since they may be for an hour", () => {
    const hourly = { ...flat, cacheWrite1h: 4_000_000n };
    const written = used(0, 0, { cacheWrite: 10 });
    expect(leastCostElsewhere(hourly, written)).toBe(20n);
    expect(leastCostElsewhere({ ...flat, cacheWrite1h: 500_000n }, written)).toBe(5n);
    const hours = { ...written, cacheWrite1h: 10 };
    expect(costElsewhere(hourly, [{ abovePromptTokens: 0, usage: hours }])).toBe(40n);
    expect(dependsOnRequest(hourly, written)).toBe(true);
    expect(dependsOnRequest(hourly, used(5))).toBe(false);
    expect(dependsOnRequest(flat, written)).toBe(false);
    expect(dependsOnRequest(steep, used(5))).toBe(true);
  });

  test("is never above the exact cost", () => {
    const size = fc.record({ abovePromptTokens: fc.constantFrom(0, 100, 1_000), usage: usages });
    fc.assert(
      fc.property(fc.array(size, { maxLength: 5 }), (parts) => {
        const whole = sumUsage(parts.map(({ usage }) => usage));
        expect(leastCostElsewhere(steep, whole)).toBeLessThanOrEqual(costElsewhere(steep, parts));
        expect(leastCostElsewhere(flat, whole)).toBe(costElsewhere(flat, parts));
      }),
    );
  });
});
