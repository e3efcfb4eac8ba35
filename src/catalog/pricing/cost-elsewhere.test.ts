import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { PriceSheet } from "../catalog.ts";
import {
  costElsewhere,
  dependsOnRequest,
  leastCostElsewhere,
  tierBounds,
} from "./cost-elsewhere.ts";

function sheet(prompt: bigint, completion: bigint): PriceSheet {
  return {
    pinId: "pin",
    prompt,
    cachedPrompt: prompt / 10n,
    cacheWrite: prompt * 2n,
    completion,
    internalReasoning: completion,
  };
}

const flat = sheet(1_000_000n, 5_000_000n);
const tiered: PriceSheet = {
  ...flat,
  tiers: [
    { abovePromptTokens: 100, prices: sheet(2_000_000n, 10_000_000n) },
    { abovePromptTokens: 1_000, prices: sheet(4_000_000n, 20_000_000n) },
  ],
};

function used(prompt: number, completion = 0, more: object = {}) {
  const rest = { cachedPrompt: 0, cacheWrite: 0, internalReasoning: 0 };
  return { prompt, completion, ...rest, ...more };
}

describe("what the same tokens cost elsewhere", () => {
  test("is every bucket at its price, rounded down once over all", () => {
    const cheap = sheet(10n, 1n);
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

  test("is nothing for no tokens", () => {
    expect(costElsewhere(tiered, [])).toBe(0n);
  });
});

describe("where the sizes of prompts are not known", () => {
  test("the cheapest tier is the least, even when long prompts are the cheap ones", () => {
    expect(leastCostElsewhere(tiered, used(5_000, 10))).toBe(5_050n);
    const falling = { ...flat, tiers: [{ abovePromptTokens: 9, prices: sheet(500_000n, 0n) }] };
    expect(leastCostElsewhere(falling, used(5_000, 10))).toBe(2_500n);
  });

  test("writes of the cache may have been for an hour, so that the sum alone says too little", () => {
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

  test("no true cost is below it", () => {
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
