import { describe, expect, test } from "vitest";

import type { LimitRow } from "../../../../src/account/console-api/contract.ts";
import { readLimits, toScope, type TypedLimits } from "./limit-change.ts";

const CEILINGS = { rpm: 300, tpm: 1_000_000, concurrency: null };

describe("the form of a limit", () => {
  test("blank fields change nothing", () => {
    expect(readLimits(typed({}), CEILINGS)).toEqual({ isReady: true, values: {} });
  });

  test("a limit up to its ceiling is sent, and one without a ceiling at any height", () => {
    expect(readLimits(typed({ rpm: "300", tpm: " 1 ", concurrency: "9999" }), CEILINGS)).toEqual({
      isReady: true,
      values: { rpm: 300, tpm: 1, concurrency: 9999 },
    });
  });

  test("a limit above its ceiling is refused, and the sentence names the ceiling", () => {
    const read = readLimits(typed({ rpm: "301" }), CEILINGS);
    expect(read.isReady ? "" : read.problems.rpm).toContain("from 1 to 300");
  });

  test.each(["0", "-1", "2.5", "1e2", "all"])("%s is not a limit", (text) => {
    expect(readLimits(typed({ concurrency: text }), CEILINGS).isReady).toBe(false);
  });

  test("removing sends null, whatever is in the field", () => {
    const removed: TypedLimits = { ...typed({}), rpm: { text: "999", isRemoved: true } };
    expect(readLimits(removed, CEILINGS)).toEqual({ isReady: true, values: { rpm: null } });
  });
});

describe("a row names its own scope", () => {
  test("a model's limit under a key names both", () => {
    expect(toScope(row({ scope: "model", key_id: "key_1", model: "lab/one" }))).toEqual({
      scope: "model",
      model: "lab/one",
      key_id: "key_1",
    });
  });

  test("a model's limit of the organization names no key", () => {
    expect(toScope(row({ scope: "model", model: "lab/one" }))).toEqual({
      scope: "model",
      model: "lab/one",
    });
  });

  test("a dedicated endpoint cannot be changed by the customer", () => {
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
