import { expect, test } from "vitest";

import type { Attempt } from "../../../../src/account/console-api/contract.ts";
import { chargeNote, lineAmounts } from "./line-amounts.ts";

const attempt: Attempt = {
  n: 1,
  provider: "lab-a",
  upstream_id: "one",
  started_at: "2026-11-22T00:00:00.000Z",
  first_byte_ms: 100,
  duration_ms: 900,
  outcome: "completed",
  upstream_status: 200,
  error_class: null,
  served_model: null,
  substituted: null,
  tokens: { prompt: 7, cached_prompt: 0, cache_write: 0, completion: 3, internal_reasoning: 0 },
  reserved_usd: "0.010000",
  settled_usd: "0.000023",
  settlement: "reported",
  above_prompt_tokens: 0,
  prices: {
    prompt: "0.15",
    cached_prompt: "0.15",
    cache_write: "0.15",
    completion: "7.5",
    internal_reasoning: "7.5",
  },
};

test("the lines of a charge are exact, and their sum rounded down is the charge", () => {
  // 7 × 0.15 + 3 × 7.5 = 23.55 micro-dollars.
  expect(lineAmounts(attempt).map(({ amount }) => amount)).toEqual(["0.00000105", "0.0000225"]);
});

test("1-hour cache writes have a separate line with their own price", () => {
  const tokens = {
    prompt: 0,
    cached_prompt: 0,
    cache_write: 100,
    completion: 0,
    internal_reasoning: 0,
    cache_write_1h: 40,
  };
  const prices = {
    prompt: "5",
    cached_prompt: "0.5",
    cache_write: "6.25",
    completion: "25",
    internal_reasoning: "25",
  };
  const hourly = { ...prices, cache_write_1h: "10" };
  // 60 × 6.25 + 40 × 10 micro-dollars.
  const sold = lineAmounts({ ...attempt, tokens, prices: hourly, settled_usd: "0.000775" });
  expect(sold.map(({ name, tokens: count, amount }) => [name, count, amount])).toEqual([
    ["Cache write", 60, "0.000375"],
    ["Cache write, 1 hour", 40, "0.000400"],
  ]);
  const unpriced = lineAmounts({ ...attempt, tokens, prices, settled_usd: "0.000625" });
  expect(unpriced.map(({ amount }) => amount)).toEqual(["0.000375", "0.000250"]);
});

test("lines have no amounts if the provider's reported cost is charged", () => {
  const reported = lineAmounts({ ...attempt, settled_usd: "0.500000" });
  expect(reported.map(({ amount }) => amount)).toEqual([undefined, undefined]);
});

test.each([
  { of: "a sum of the lines", settled: "0.000023", says: /^The sum is rounded down once/ },
  { of: "another cost", settled: "0.500000", says: /^The provider reports its own cost/ },
  {
    of: "the reserve, where the lines are more",
    settled: "0.000020",
    reserved: "0.000020",
    says: "Charged at the reserved maximum, $0.000020; the excess of $0.00000355 is not charged.",
  },
  {
    of: "the reserve, where the lines are less",
    settled: "0.000030",
    reserved: "0.000030",
    says: /^Charged at the reserved maximum, \$0\.000030\.$/,
  },
])("a charge says where it comes from: $of", ({ settled, reserved = "0.010000", says }) => {
  const charged = { ...attempt, settled_usd: settled, reserved_usd: reserved };
  expect(chargeNote(charged)).toMatch(says);
});

test("the lines of a charge at the reserve keep their amounts, which are more than it", () => {
  const capped = lineAmounts({ ...attempt, settled_usd: "0.000020", reserved_usd: "0.000020" });
  expect(capped.map(({ amount }) => amount)).toEqual(["0.00000105", "0.0000225"]);
});

test("an attempt without prices or without token counts has no charge lines", () => {
  expect(lineAmounts({ ...attempt, prices: null })).toEqual([]);
  expect(lineAmounts({ ...attempt, tokens: null })).toEqual([]);
});
