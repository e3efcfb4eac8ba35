import { expect, test } from "vitest";

import type { PriceNotice } from "../../../src/account/console-api/contract.ts";
import { costLine, priceLines } from "./price-notice-text.ts";

function prices(prompt: string, completion: string, more: object = {}) {
  return {
    prompt,
    cached_prompt: prompt,
    cache_write: prompt,
    completion,
    internal_reasoning: completion,
    ...more,
  };
}

function notice(change: Partial<PriceNotice>): PriceNotice {
  return {
    notice_id: "acme/small@2026-12-01T00:00:00.000Z",
    model: "acme/small",
    name: "Small",
    provider: "acme",
    provider_name: "Acme",
    from: "2026-12-01T00:00:00.000Z",
    old: { prices: prices("1", "4"), price_tiers: [] },
    new: { prices: prices("1.25", "4"), price_tiers: [] },
    is_rise: true,
    requests: 3,
    cost_old_usd: "1.000000",
    cost_new_usd: "1.250000",
    is_at_least: false,
    ...change,
  };
}

test("a price notice names every price that changes, except those that only follow their base price", () => {
  expect(priceLines(notice({}))).toEqual(["prompt $1 → $1.25"]);
  const own = { old: { prices: prices("1", "4", { cached_prompt: "0.1" }), price_tiers: [] } };
  expect(priceLines(notice(own))).toEqual(["prompt $1 → $1.25", "cached tokens $0.1 → $1.25"]);
});

test("a notice names prices for long prompts if only those change", () => {
  const tier = { above_prompt_tokens: 200_000, prices: prices("2", "4") };
  const same = prices("1", "4");
  const change = {
    old: { prices: same, price_tiers: [] },
    new: { prices: same, price_tiers: [tier] },
  };
  expect(priceLines(notice(change))).toEqual(["prices for long prompts"]);
});

test("a notice names the price of 1-hour cache writes if it is set or unset, and an unset one as that of cache writes", () => {
  const unset = { prices: prices("1", "4"), price_tiers: [] };
  const set = { prices: prices("1", "4", { cache_write_1h: "2" }), price_tiers: [] };
  const named = (change: Partial<PriceNotice>) => priceLines(notice(change));
  expect(named({ old: unset, new: set })).toEqual(["1-hour cache write $1 → $2"]);
  expect(named({ old: set, new: unset })).toEqual(["1-hour cache write $2 → $1"]);
  const writes = { prices: prices("1", "4", { cache_write: "3" }), price_tiers: [] };
  expect(named({ old: unset, new: writes })).toEqual(["cache write $1 → $3"]);
});

test("the cost line has the costs at the old and the new prices, and says if the new cost is a lower bound", () => {
  expect(costLine(notice({}))).toBe("$1.00 at today's prices, $1.25 at the new ones");
  expect(costLine(notice({ is_at_least: true }))).toContain("at least $1.25");
});
