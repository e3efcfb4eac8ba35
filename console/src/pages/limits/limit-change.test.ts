import { describe, expect, test } from "vitest";

import type { LimitRow } from "../../../../src/account/console-api/contract.ts";
import type { CapRow } from "../keys/caps.ts";
import {
  readLimits,
  stillWrong,
  tellingCaps,
  tellingLimits,
  toScope,
  type TypedLimits,
} from "./limit-change.ts";

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

const CEILINGS = { rpm: 300, tpm: 1_000_000, concurrency: null };

describe("the form of a limit", () => {
  test("changes nothing for blank fields", () => {
    expect(readLimits(typed({}), CEILINGS)).toEqual({ isReady: true, values: {} });
  });

  test("accepts a limit up to its ceiling, and any limit without a ceiling", () => {
    expect(readLimits(typed({ rpm: "300", tpm: " 1 ", concurrency: "9999" }), CEILINGS)).toEqual({
      isReady: true,
      values: { rpm: 300, tpm: 1, concurrency: 9999 },
    });
  });

  test("refuses a limit above its ceiling and names the ceiling", () => {
    const read = readLimits(typed({ rpm: "301" }), CEILINGS);
    expect(read.isReady ? "" : read.problems.rpm).toContain("from 1 to 300");
  });

  test.each(["0", "-1", "2.5", "1e2", "all"])('refuses "%s" as a limit', (text) => {
    expect(readLimits(typed({ concurrency: text }), CEILINGS).isReady).toBe(false);
  });

  test("sends null for a removed limit, even if the field has a text", () => {
    const removed: TypedLimits = { ...typed({}), rpm: { text: "999", isRemoved: true } };
    expect(readLimits(removed, CEILINGS)).toEqual({ isReady: true, values: { rpm: null } });
  });
});

test("changing a limit, or the key that bounds it, clears the problems of the limits but not the model's", () => {
  const problems = { model: "a", rpm: "b", tpm: "c" };
  expect(stillWrong(problems, { limits: typed({ tpm: "5" }) })).toEqual({ model: "a" });
  expect(stillWrong(problems, { key_id: "key_1" })).toEqual({ model: "a" });
  expect(stillWrong(problems, { model: "lab/one" })).toEqual({ rpm: "b", tpm: "c" });
});

describe("the scope of a change", () => {
  test("has the key and the model for a model's limit under a key", () => {
    expect(toScope({ ...org, scope: "model", key_id: "key_1", model: "lab/one" })).toEqual({
      scope: "model",
      model: "lab/one",
      key_id: "key_1",
    });
  });

  test("has no key for a model's limit of the organization", () => {
    expect(toScope({ ...org, scope: "model", model: "lab/one" })).toEqual({
      scope: "model",
      model: "lab/one",
    });
  });

  test("is undefined for a dedicated endpoint, which customers cannot change", () => {
    expect(toScope({ ...org, scope: "endpoint" })).toBeUndefined();
  });
});

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

function typed(texts: Partial<Record<"rpm" | "tpm" | "concurrency", string>>): TypedLimits {
  const field = (text = "") => ({ text, isRemoved: false });
  return { rpm: field(texts.rpm), tpm: field(texts.tpm), concurrency: field(texts.concurrency) };
}
