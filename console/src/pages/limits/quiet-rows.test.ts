import { describe, expect, test } from "vitest";

import type { LimitRow } from "../../../../src/account/console-api/contract.ts";
import type { CapRow } from "../keys/caps.ts";
import { tellingCaps, tellingLimits } from "./limit-change.ts";

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

describe("the table of limits", () => {
  test("hides and counts the keys with default limits of which less than half is used", () => {
    const own = key(60, { tpm: { ...value, own: 5, effective: 5, source: "self" } });
    const agreed = key(61, { rpm: { ...value, source: "contract" } });
    const busy = key(62, { concurrency: { ...value, used: 150 } });
    const all = [org, ...keys, own, agreed, busy];
    expect(tellingLimits(all)).toEqual({ rows: [org, own, agreed, busy], quiet: 60 });
  });

  test("shows every key if only a few would be hidden", () => {
    const few = [org, ...keys.slice(0, 9)];
    expect(tellingLimits(few)).toEqual({ rows: few, quiet: 0 });
  });
});

test("the table of caps hides keys without a cap, but never the organization", () => {
  const whole: CapRow = {
    scope: "org",
    key_id: null,
    name: "Acme",
    period: "month",
    capUsd: null,
    spentUsd: "1.000000",
    inFlightUsd: "0.000000",
    leftUsd: undefined,
    resetAt: "2026-12-01T00:00:00.000Z",
  };
  const none = keys.map(({ key_id, name }) => ({ ...whole, scope: "key" as const, key_id, name }));
  const capped = { ...whole, scope: "key" as const, key_id: "key_c", capUsd: "5.000000" };
  expect(tellingCaps([whole, ...none, capped])).toEqual({ rows: [whole, capped], quiet: 60 });
});
