import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { microUsd } from "../../kernel/core/money.ts";
import { type Usage, withoutHourWrites, ZERO_USAGE } from "../../kernel/core/usage.ts";
import type { PriceSheet } from "../catalog.ts";
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

const price = fc.bigInt({ min: 0n, max: 9_999_999_999_999n });
const prices: fc.Arbitrary<PriceSheet> = fc.record({
  pinId: fc.constant("pin"),
  prompt: price,
  cachedPrompt: price,
  cacheWrite: price,
  completion: price,
  internalReasoning: price,
});
const hourlySheets: fc.Arbitrary<PriceSheet> = fc
  .tuple(prices, price)
  .map(([sheet, cacheWrite1h]) => ({ ...sheet, cacheWrite1h }));
const input = fc.integer({ min: 0, max: 11_000_000 });
const output = fc.integer({ min: 1, max: 32_768 });

const LARGEST_PRICE = 9_999_999_999_999n;
const LARGEST_PRICES: PriceSheet = {
  pinId: "pin",
  prompt: LARGEST_PRICE,
  cachedPrompt: LARGEST_PRICE,
  cacheWrite: LARGEST_PRICE,
  completion: LARGEST_PRICE,
  internalReasoning: LARGEST_PRICE,
};
const LARGEST_USAGE: Usage = {
  prompt: 11_000_000,
  cachedPrompt: 11_000_000,
  cacheWrite: 11_000_000,
  completion: 32_768,
  internalReasoning: 32_768,
};

/** Splits totals over the buckets. */
function split(total: { input: number; output: number }, cuts: number[]): Usage {
  const [a = 0, b = 0, c = 0] = cuts;
  const cachedPrompt = Math.floor(total.input * a);
  const cacheWrite = Math.floor((total.input - cachedPrompt) * b);
  const internalReasoning = Math.floor(total.output * c);
  return {
    prompt: total.input - cachedPrompt - cacheWrite,
    cachedPrompt,
    cacheWrite,
    completion: total.output - internalReasoning,
    internalReasoning,
  };
}

test("usage within the estimate never costs more than the reserved worst case", () => {
  const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), {
    minLength: 3,
    maxLength: 3,
  });
  fc.assert(
    fc.property(prices, input, output, cuts, (sheet, inputTokens, outputTokens, fractions) => {
      const tokens = { input: inputTokens, output: outputTokens };
      const held = quoteWorstCase(sheet, tokens);
      const cost = exactCost(sheet, split(tokens, fractions));
      expect(cost <= held * 1_000_000n).toBe(true);
      expect(computeDebit(cost, held) * 1_000_000n <= cost).toBe(true);
    }),
  );
});

test("no digit is lost at any price and any number of tokens", () => {
  const buckets = fc.record({
    prompt: input,
    cachedPrompt: input,
    cacheWrite: input,
    completion: output,
    internalReasoning: output,
  });
  fc.assert(
    fc.property(prices, buckets, (sheet, usage) => {
      // Computes the cost independently, with dollars and millionths of the price apart, so that
      // each fits into a float.
      const cost = (Object.keys(usage) as (keyof typeof usage)[]).reduce((sum, bucket) => {
        const dollars = Number(sheet[bucket] / 1_000_000n) * usage[bucket];
        const millionths = Number(sheet[bucket] % 1_000_000n) * usage[bucket];
        expect(Math.max(dollars, millionths)).toBeLessThan(Number.MAX_SAFE_INTEGER);
        return sum + BigInt(dollars) * 1_000_000n + BigInt(millionths);
      }, 0n);
      expect(exactCost(sheet, usage)).toBe(cost);
    }),
    { examples: [[LARGEST_PRICES, LARGEST_USAGE]] },
  );
});

test("hour-long cache writes cost their own price, or that of any write if they have none", () => {
  const counts = fc.tuple(input, input).map(([cacheWrite, hour]) => ({
    ...LARGEST_USAGE,
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

test("a request for hour-long cache writes reserves the whole prompt at their price", () => {
  const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), {
    minLength: 4,
    maxLength: 4,
  });
  fc.assert(
    fc.property(
      hourlySheets,
      input,
      output,
      cuts,
      (sheet, inputTokens, outputTokens, fractions) => {
        const tokens = { input: inputTokens, output: outputTokens };
        const held = quoteWorstCase(sheet, { ...tokens, asksHourWrites: true });
        const usage = split(tokens, fractions);
        const cacheWrite1h = Math.floor(usage.cacheWrite * (fractions[3] ?? 0));
        const all = { ...ZERO_USAGE, cacheWrite: inputTokens, cacheWrite1h: inputTokens };
        expect(exactCost(sheet, { ...usage, cacheWrite1h }) <= held * 1_000_000n).toBe(true);
        expect(exactCost(sheet, all) <= held * 1_000_000n).toBe(true);
      },
    ),
  );
});

test("a request without hour-long cache writes does not reserve their price", () => {
  fc.assert(
    fc.property(hourlySheets, input, output, (sheet, inputTokens, outputTokens) => {
      const { cacheWrite1h: _own, ...plain } = sheet;
      const tokens = { input: inputTokens, output: outputTokens };
      expect(quoteWorstCase(sheet, tokens)).toBe(quoteWorstCase(plain, tokens));
    }),
  );
});

test("the debit never exceeds the reserve, even if a provider reports more than was requested", () => {
  const sheet: PriceSheet = {
    pinId: "pin",
    prompt: 1_000_000n,
    cachedPrompt: 1_000_000n,
    cacheWrite: 1_000_000n,
    completion: 1_000_000n,
    internalReasoning: 1_000_000n,
  };
  const usage = split({ input: 1_000, output: 1_000 }, []);
  expect(computeDebit(exactCost(sheet, usage), microUsd(1_500n))).toBe(1_500n);
  expect(computeDebit(exactCost(sheet, usage), microUsd(2_500n))).toBe(2_000n);
});

describe("the worst case of images", () => {
  const rates = (prompt: bigint, completion: bigint): PriceSheet => ({
    pinId: "pin",
    prompt,
    cachedPrompt: prompt,
    cacheWrite: prompt,
    completion,
    internalReasoning: completion,
  });

  test("is the ceiling once for each image, and the prompt once", () => {
    // $5 per million prompt tokens, $40 per million output tokens.
    const sheet = rates(5_000_000n, 40_000_000n);
    const asked = { input: 100, images: 1, ceiling: 6_208 };
    expect(quoteImages(sheet, asked)).toBe(500n + 248_320n);
    expect(quoteImages(sheet, { ...asked, images: 4 })).toBe(500n + 4n * 248_320n);
  });

  test("is the ceiling in micro-dollars where the provider reports its own cost", () => {
    const units = rates(0n, 1_000_000n);
    expect(quoteImages(units, { input: 10_000, images: 3, ceiling: 80_000 })).toBe(240_000n);
  });

  test("is rounded up once over the whole", () => {
    const sheet = rates(300_000n, 400_000n);
    expect(quoteImages(sheet, { input: 1, images: 1, ceiling: 1 })).toBe(1n);
    expect(quoteImages(sheet, { input: 1, images: 2, ceiling: 1 })).toBe(2n);
  });
});

function flatSheet(prompt: bigint, completion: bigint): PriceSheet {
  return {
    pinId: "pin",
    prompt,
    cachedPrompt: prompt / 10n,
    cacheWrite: prompt * 2n,
    completion,
    internalReasoning: completion,
  };
}

const flat = flatSheet(1_000_000n, 5_000_000n);
const tiered: PriceSheet = {
  ...flat,
  tiers: [
    { abovePromptTokens: 100, prices: flatSheet(2_000_000n, 10_000_000n) },
    { abovePromptTokens: 1_000, prices: flatSheet(4_000_000n, 20_000_000n) },
  ],
};

function used(prompt: number, completion = 0, more: object = {}) {
  const rest = { cachedPrompt: 0, cacheWrite: 0, internalReasoning: 0 };
  return { prompt, completion, ...rest, ...more };
}

describe("what the same tokens cost elsewhere", () => {
  test("is every bucket at its price, rounded down once over all", () => {
    const cheap = flatSheet(10n, 1n);
    const part = { abovePromptTokens: 0, usage: used(60_000) };
    expect(costElsewhere(cheap, [part])).toBe(0n);
    expect(costElsewhere(cheap, [part, part])).toBe(1n);
    const usage = used(10, 20, { cachedPrompt: 100, cacheWrite: 3, internalReasoning: 4 });
    const exact = 10n + 10n + 6n + 100n + 20n;
    expect(costElsewhere(flat, [{ abovePromptTokens: 0, usage }])).toBe(exact);
  });

  test("is at the tier of each prompt, output included, never of their sum", () => {
    const small = { abovePromptTokens: 0, usage: used(5_000, 10) };
    expect(costElsewhere(tiered, [small])).toBe(5_050n);
    const middle = { abovePromptTokens: 100, usage: used(5_000, 10) };
    expect(costElsewhere(tiered, [middle])).toBe(10_100n);
    const large = { abovePromptTokens: 1_000, usage: used(5_000, 10) };
    expect(costElsewhere(tiered, [small, middle, large])).toBe(5_050n + 10_100n + 20_200n);
    expect(costElsewhere(tiered, [{ ...small, abovePromptTokens: 99 }])).toBe(5_050n);
    expect(tierBounds(tiered)).toEqual([100, 1_000]);
    expect(tierBounds(flat)).toEqual([]);
  });
});

describe("where the sizes of prompts are not known", () => {
  test("the cheapest tier is the least, even when long prompts are the cheap ones", () => {
    expect(leastCostElsewhere(tiered, used(5_000, 10))).toBe(5_050n);
    const falling = { ...flat, tiers: [{ abovePromptTokens: 9, prices: flatSheet(500_000n, 0n) }] };
    expect(leastCostElsewhere(falling, used(5_000, 10))).toBe(2_500n);
  });

  test("cache writes may have been for an hour, so the sum alone is not enough", () => {
    const hourly = { ...flat, cacheWrite1h: 4_000_000n };
    const written = used(0, 0, { cacheWrite: 10 });
    expect(leastCostElsewhere(hourly, written)).toBe(20n);
    expect(leastCostElsewhere({ ...flat, cacheWrite1h: 500_000n }, written)).toBe(5n);
    const hours = { ...written, cacheWrite1h: 10 };
    expect(costElsewhere(hourly, [{ abovePromptTokens: 0, usage: hours }])).toBe(40n);
    expect(dependsOnRequest(hourly, written)).toBe(true);
    expect(dependsOnRequest(hourly, used(5))).toBe(false);
    expect(dependsOnRequest(flat, written)).toBe(false);
    expect(dependsOnRequest(tiered, used(5))).toBe(true);
  });

  test("no true cost is below the least cost", () => {
    const size = fc.record({
      abovePromptTokens: fc.constantFrom(0, 100, 1_000),
      usage: fc.record({
        prompt: fc.nat(1_000_000),
        cachedPrompt: fc.nat(1_000_000),
        cacheWrite: fc.nat(1_000_000),
        completion: fc.nat(1_000_000),
        internalReasoning: fc.nat(1_000_000),
      }),
    });
    fc.assert(
      fc.property(fc.array(size, { maxLength: 5 }), (parts) => {
        const sum = (bucket: keyof (typeof parts)[number]["usage"]): number =>
          parts.reduce((all, { usage }) => all + usage[bucket], 0);
        const whole = {
          prompt: sum("prompt"),
          cachedPrompt: sum("cachedPrompt"),
          cacheWrite: sum("cacheWrite"),
          completion: sum("completion"),
          internalReasoning: sum("internalReasoning"),
        };
        expect(leastCostElsewhere(tiered, whole)).toBeLessThanOrEqual(costElsewhere(tiered, parts));
        expect(leastCostElsewhere(flat, whole)).toBe(costElsewhere(flat, parts));
      }),
    );
  });
});
