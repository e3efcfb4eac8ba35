import { expect, test } from "vitest";

import type { Notice, PriceNotice } from "../../../src/account/console-api/contract.ts";
import { inOrder, toLineKey, type Line } from "./notice-order.ts";

function account(severity: Notice["severity"]): Line {
  const text = `a ${severity} one`;
  const more = { since: null, refused: 0, action: "add_credit", target: null } as const;
  return { kind: "notice", notice: { kind: "low_balance", severity, text, ...more } };
}

function price(isRise: boolean): Line {
  const prices = { prompt: "1", completion: "4" } as PriceNotice["old"]["prices"];
  const side = { prices, price_tiers: [] };
  const change: PriceNotice = {
    notice_id: isRise ? "a rise" : "a fall",
    model: "acme/small",
    name: "Small",
    provider: "acme",
    provider_name: "Acme",
    from: "2026-12-01T00:00:00.000Z",
    old: side,
    new: side,
    is_rise: isRise,
    requests: 1,
    cost_old_usd: "1.000000",
    cost_new_usd: "1.000000",
    is_at_least: false,
  };
  return { kind: "price", notice: change };
}

test("account problems come before price rises, and price rises before information and price cuts", () => {
  const development: Line = { kind: "development" };
  const lines = [
    development,
    price(false),
    account("info"),
    price(true),
    account("warn"),
    account("bad"),
  ];
  expect(inOrder(lines).map(toLineKey)).toEqual([
    "low_balance null a bad one",
    "low_balance null a warn one",
    "a rise",
    "low_balance null a info one",
    "a fall",
    "development",
  ]);
});
