import { describe, expect, test } from "vitest";

import type { LimitRow } from "../../../../src/account/console-api/contract.ts";
import { readLimits, toScope, type TypedLimits } from "./limit-change.ts";

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

describe("the scope of a change", () => {
  test("has the key and the model for a model's limit under a key", () => {
    expect(toScope(row({ scope: "model", key_id: "key_1", model: "lab/one" }))).toEqual({
      scope: "model",
      model: "lab/one",
      key_id: "key_1",
    });
  });

  test("has no key for a model's limit of the organization", () => {
    expect(toScope(row({ scope: "model", model: "lab/one" }))).toEqual({
      scope: "model",
      model: "lab/one",
    });
  });

  test("is undefined for a dedicated endpoint, which customers cannot change", () => {
    expect(toScope(row({ scope: "endpoint" }))).toBeUndefined();
  });
});

function typed(texts: Partial<Record<"rpm" | "tpm" | "concurrency", string>>): TypedLimits {
  const field = (text = "") => ({ text, isRemoved: false });
  return { rpm: field(texts.rpm), tpm: field(texts.tpm), concurrency: field(texts.concurrency) };
}

function row(some: Partial<LimitRow>): LimitRow {
  const value = { ceiling: 300, own: null, effective: 300, source: "default", used: 0 } as const;
  return {
    scope: "org",
    key_id: null,
    name: "Acme",
    model: null,
    rpm: value,
    tpm: value,
    concurrency: value,
    ...some,
  };
}
