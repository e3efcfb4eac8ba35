import { describe, expect, test } from "vitest";

import type { LimitRow, Limits } from "../../../../src/account/console-api/contract.ts";
import { tellingCaps, tellingLimits } from "./quiet-rows.ts";

const value = { ceiling: 300, own: null, effective: 300, source: "default", used: 0 } as const;
const org: LimitRow = {
  scope: "org",
  key_id: null,
  name: "Acme",
  model: null,
  rpm: value,
  tpm: value,
  concurrency: value,
};
const key = (n: number, change: Partial<LimitRow> = {}): LimitRow => {
  return { ...org, scope: "key", key_id: `key_${n}`, name: `key ${n}`, ...change };
};
const keys = Array.from({ length: 60 }, (_, n) => key(n));

describe("limits", () => {
  test("leave out the keys that have only the defaults, and count them", () => {
    const own = key(60, { tpm: { ...value, own: 5, effective: 5, source: "self" } });
    const agreed = key(61, { rpm: { ...value, source: "contract" } });
    const busy = key(62, { concurrency: { ...value, used: 150 } });
    const all = [org, ...keys, own, agreed, busy];
    expect(tellingLimits(all)).toEqual({ rows: [org, own, agreed, busy], quiet: 60 });
  });

  test("show every key where only a few would be left out", () => {
    const few = [org, ...keys.slice(0, 9)];
    expect(tellingLimits(few)).toEqual({ rows: few, quiet: 0 });
  });
});

test("caps leave out the keys that have none, and never the organization", () => {
  const whole: Limits["caps"][number] = {
    scope: "org",
    key_id: null,
    name: "Acme",
    cap_usd: null,
    spent_usd: "1.000000",
    in_flight_usd: "0.000000",
  };
  const none = keys.map(({ key_id, name }) => ({ ...whole, scope: "key" as const, key_id, name }));
  const capped = { ...whole, scope: "key" as const, key_id: "key_c", cap_usd: "5.000000" };
  expect(tellingCaps([whole, ...none, capped])).toEqual({ rows: [whole, capped], quiet: 60 });
});
