import { describe, expect, test } from "vitest";

import { pricing } from "../../test/fixtures/manifest/samples.ts";
import { compilePriceSheet } from "./price-sheet.ts";

const SOLD = pricing({ prompt: "5", cache_write: "6.25", completion: "25" });
const OWED = pricing({ prompt: "4", completion: "20" });
const plain = compilePriceSheet(["lab/one"], { pricing: SOLD });

describe("an hour-long cache write", () => {
  test("has the listing's own price, or none if the listing states none", () => {
    const extra_pricing = { cache_write_1h: "10.000001" };
    const sheet = compilePriceSheet(["lab/one"], { pricing: SOLD, extra_pricing });
    expect(sheet.cacheWrite1h).toBe(10_000_001n);
    expect(plain).not.toHaveProperty("cacheWrite1h");
    const { pinId: _own, cacheWrite1h: _hour, ...rest } = sheet;
    expect(plain).toMatchObject(rest);
  });

  test("has its own price in each tier", () => {
    const { tiers } = compilePriceSheet(["lab/one"], {
      pricing: SOLD,
      extra_pricing: { cache_write_1h: "10" },
      price_tiers: [
        { above_prompt_tokens: 9, pricing: SOLD, extra_pricing: { cache_write_1h: "12" } },
      ],
    });
    expect(tiers?.map(({ prices }) => prices.cacheWrite1h)).toEqual([12_000_000n]);
  });
});

test("purchase prices have tiers and one-hour writes of their own, and the same defaults", () => {
  const extra_pricing = { cache_write_1h: "9" };
  const sheet = compilePriceSheet(["lab/one"], {
    pricing: SOLD,
    extra_pricing: { cache_write_1h: "10" },
    purchase_pricing: OWED,
    purchase_extra: { cache_write_1h: "8" },
    purchase_tiers: [{ above_prompt_tokens: 7, pricing: OWED, extra_pricing }],
  });
  expect(sheet.purchase).toMatchObject({
    prompt: 4_000_000n,
    cacheWrite: 4_000_000n,
    cacheWrite1h: 8_000_000n,
    completion: 20_000_000n,
    tiers: [{ abovePromptTokens: 7, prices: { cacheWrite1h: 9_000_000n } }],
  });
  expect(sheet.purchase).not.toHaveProperty("purchase");
  expect(sheet).toMatchObject({ prompt: 5_000_000n, cacheWrite1h: 10_000_000n });
  expect(sheet).not.toHaveProperty("tiers");
  expect(plain).not.toHaveProperty("purchase");
});

test("price pins differ by every sale price and every purchase price", () => {
  const sheets = [
    {},
    { extra_pricing: { cache_write_1h: "6.25" } },
    { extra_pricing: { cache_write_1h: "10" } },
    { purchase_pricing: SOLD },
    { purchase_pricing: OWED },
    { purchase_pricing: OWED, purchase_extra: { cache_write_1h: "4" } },
    { purchase_pricing: OWED, purchase_tiers: [{ above_prompt_tokens: 7, pricing: OWED }] },
    { purchase_pricing: OWED, purchase_tiers: [{ above_prompt_tokens: 8, pricing: OWED }] },
  ].map((terms) => compilePriceSheet(["lab/one"], { pricing: SOLD, ...terms }));
  const pins = sheets.flatMap(({ pinId, purchase }) => [
    pinId,
    ...(purchase === undefined ? [] : [purchase.pinId]),
  ]);
  expect(new Set(pins).size).toBe(pins.length);
});
