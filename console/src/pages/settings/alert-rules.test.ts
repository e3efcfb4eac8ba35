import { expect, test } from "vitest";

import { changedRules, typedRules } from "./alert-rules.ts";

const RULES = {
  balance_below_usd: "5.000000",
  cap_percents: [80, 100],
  purchases: true,
  restrictions: true,
  key_expiry: true,
  provider_trouble: true,
  balance_follows: true,
};

test("only changed alert rules are sent, so that an untouched threshold keeps following purchases", () => {
  const typed = typedRules(RULES);
  expect(changedRules(RULES, typed)).toEqual({});
  expect(changedRules(RULES, { ...typed, percents: ["100", "80"], purchases: false })).toEqual({
    purchases: false,
  });
});

test("a blank threshold removes the balance alert, and a typed threshold is sent without its dollar sign", () => {
  const typed = typedRules(RULES);
  expect(typed.below).toBe("5.00");
  expect(changedRules(RULES, { ...typed, below: " " })).toEqual({ balance_below_usd: null });
  expect(changedRules(RULES, { ...typed, below: "$12", percents: ["50"] })).toEqual({
    balance_below_usd: "12",
    cap_percents: [50],
  });
});
