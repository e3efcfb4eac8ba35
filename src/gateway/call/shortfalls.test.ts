import { describe, expect, test } from "vitest";

import { SHORTFALLS_MAX } from "../../kernel/core/constants.ts";
import type { KeyId, OrgId } from "../../kernel/core/ids.ts";
import { microUsd } from "../../kernel/core/money.ts";
import type { ReserveOutcome, ReserveRow } from "../../ledger/ledger-store.ts";
import { Shortfalls } from "./shortfalls.ts";

const RESET_MS = Date.UTC(2026, 11, 1);
const LOW: ReserveOutcome = {
  kind: "low_balance",
  availableMicroUsd: microUsd(40n),
  heldMicroUsd: microUsd(7n),
};
const CAP: ReserveOutcome = {
  kind: "cap",
  scope: "key",
  period: "month",
  capMicroUsd: microUsd(100n),
  settledMicroUsd: microUsd(50n),
  inFlightMicroUsd: microUsd(10n),
  resetAtMs: RESET_MS,
};

function hold(reserve: bigint, key = "key_a", org = "org_a"): ReserveRow {
  const ids = { orgId: org as OrgId, keyId: key as KeyId };
  return { ...ids, reserveMicroUsd: microUsd(reserve) } as ReserveRow;
}

function open(nowMs = RESET_MS - 10_000) {
  let passedMs = 0;
  const shortfalls = new Shortfalls({
    nowMs: () => nowMs + passedMs,
    monotonicMs: () => passedMs,
  });
  /** What the ledger says to this hold, asked now. */
  const answered = (row: ReserveRow, outcome: ReserveOutcome): void =>
    shortfalls.note(row, outcome, shortfalls.asking(row.orgId));
  const refused = (row: ReserveRow, outcome: ReserveOutcome): void => {
    answered(row, outcome);
    answered(row, outcome);
  };
  return { shortfalls, answered, refused, pass: (ms: number) => (passedMs += ms) };
}

describe("a remembered refusal", () => {
  test("is the ledger's own answer, from its second in a row on", () => {
    const { shortfalls, answered } = open();
    answered(hold(50n), LOW);
    expect(shortfalls.find(hold(50n))).toBeUndefined();
    answered(hold(50n), LOW);
    expect(shortfalls.find(hold(50n))).toBe(LOW);
  });

  test("is good for 250 ms from when the ledger was asked, and no longer", () => {
    const { shortfalls, answered, pass } = open();
    answered(hold(50n), LOW);
    const asked = shortfalls.asking("org_a" as OrgId);
    pass(100);
    shortfalls.note(hold(50n), LOW, asked);
    pass(149);
    expect(shortfalls.find(hold(50n))).toBe(LOW);
    pass(1);
    expect(shortfalls.find(hold(50n))).toBeUndefined();
  });

  test.each([
    ["low balance", LOW],
    ["cap", CAP],
  ])("of a %s holds for every reserve above what is free, up to the refused one", (_what, what) => {
    const { shortfalls, refused } = open();
    refused(hold(50n), what);
    expect(shortfalls.find(hold(40n))).toBeUndefined();
    expect(shortfalls.find(hold(41n))).toBe(what);
    expect(shortfalls.find(hold(50n))).toBe(what);
    // It may be over a cap, which the ledger names before the balance.
    expect(shortfalls.find(hold(51n))).toBeUndefined();
  });

  test("says nothing about another key, which has a cap of its own, or another organization", () => {
    const { shortfalls, refused } = open();
    refused(hold(50n), LOW);
    expect(shortfalls.find(hold(50n, "key_b"))).toBeUndefined();
    expect(shortfalls.find(hold(50n, "key_a", "org_b"))).toBeUndefined();
  });

  test("of a cap ends with its month", () => {
    const { shortfalls, refused, pass } = open(RESET_MS - 100);
    refused(hold(50n), CAP);
    pass(99);
    expect(shortfalls.find(hold(50n))).toBe(CAP);
    pass(1);
    expect(shortfalls.find(hold(50n))).toBeUndefined();
  });
});

describe("a change", () => {
  test.each([
    ["of the organization", "org_a"],
    ["of any", undefined],
  ])("%s makes the ledger be asked at once", (_what, changed) => {
    const { shortfalls, refused } = open();
    refused(hold(50n), LOW);
    shortfalls.forget(changed as OrgId | undefined);
    expect(shortfalls.find(hold(50n))).toBeUndefined();
  });

  test("of another organization changes nothing", () => {
    const { shortfalls, refused } = open();
    refused(hold(50n), LOW);
    shortfalls.forget("org_b" as OrgId);
    expect(shortfalls.find(hold(50n))).toBe(LOW);
  });

  test("while the ledger is asked makes its answer one of before, which is not remembered", () => {
    const { shortfalls, answered } = open();
    answered(hold(50n), LOW);
    const asked = shortfalls.asking("org_a" as OrgId);
    shortfalls.forget("org_a" as OrgId);
    shortfalls.note(hold(50n), LOW, asked);
    expect(shortfalls.find(hold(50n))).toBeUndefined();
    // Neither when another refusal has come in between.
    shortfalls.note(hold(50n), LOW, asked);
    expect(shortfalls.find(hold(50n))).toBeUndefined();
  });
});

test.each([
  ["a hold that was made", { kind: "reserved" }],
  ["a ledger that did not answer", { kind: "unavailable", reason: "away" }],
] as const)("%s is never remembered", (_what, outcome) => {
  const { shortfalls, refused } = open();
  refused(hold(50n), outcome);
  expect(shortfalls.find(hold(50n))).toBeUndefined();
  refused(hold(50n), LOW);
  expect(shortfalls.find(hold(50n))).toBe(LOW);
});

describe("what is remembered is bounded", () => {
  const others = (count: number): readonly ReserveRow[] =>
    Array.from({ length: count }, (_, n) => hold(50n, `key_${n}`, `org_${n}`));

  test("the refusal that is the oldest is forgotten", () => {
    const { shortfalls, refused } = open();
    refused(hold(50n), LOW);
    for (const row of others(SHORTFALLS_MAX - 1)) refused(row, LOW);
    expect(shortfalls.find(hold(50n))).toBe(LOW);
    refused(hold(50n, "key_z", "org_z"), LOW);
    expect(shortfalls.find(hold(50n))).toBeUndefined();
    expect(shortfalls.find(hold(50n, "key_z", "org_z"))).toBe(LOW);
  });

  test("the organization that was refused first is watched no more", () => {
    const { shortfalls, answered } = open();
    answered(hold(50n), LOW);
    for (const row of others(SHORTFALLS_MAX - 1)) answered(row, LOW);
    expect(shortfalls.asking("org_a" as OrgId)).toBeDefined();
    answered(hold(50n, "key_z", "org_z"), LOW);
    expect(shortfalls.asking("org_a" as OrgId)).toBeUndefined();
  });
});
