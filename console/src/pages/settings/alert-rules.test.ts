import { expect, test } from "vitest";

import type { AlertDestination } from "../../api/contract.ts";
import { changedDestination, changedRules, typedDestination, typedRules } from "./alert-rules.ts";

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
  expect(changedRules(RULES, { ...typed, below: "$ 12", percents: ["50"] })).toEqual({
    balance_below_usd: "12",
    cap_percents: [50],
  });
});

test("only what was changed at a destination is sent, so that saving other events does not disable an address that was confirmed meanwhile", () => {
  const opened: AlertDestination = {
    destination_id: "dst_5f0c1b2a3d4e5f60718293a4",
    channel: "email",
    address: "ops@example.com",
    kinds: ["purchase.settled", "key.expired"],
    created_at: "2026-12-01T09:00:00.000Z",
    failing_since: null,
    disabled_at: "2026-12-01T09:00:00.000Z",
    disabled_reason: "unconfirmed",
    confirm_until: "2026-12-04T09:00:00.000Z",
    former_secret_until: null,
  };
  const typed = typedDestination(opened);
  expect(typed.isEnabled).toBe(false);
  const reordered = ["key.expired", "purchase.settled"];
  expect(changedDestination(opened, { ...typed, kinds: reordered })).toEqual({});
  expect(changedDestination(opened, { ...typed, kinds: null })).toEqual({ kinds: null });
  const all = { ...opened, kinds: null };
  expect(changedDestination(all, { isEnabled: true, kinds: null })).toEqual({ is_enabled: true });
  expect(changedDestination(all, typed)).toEqual({ kinds: typed.kinds });
});
