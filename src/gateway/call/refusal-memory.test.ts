import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { SHORTFALLS_MAX } from "../../kernel/core/constants.ts";
import type { KeyId, OrgId } from "../../kernel/core/ids.ts";
import { microUsd } from "../../kernel/core/money.ts";
import { invalidRequest, refusal } from "../../kernel/core/refusals.ts";
import type { ReserveOutcome, ReserveRow } from "../../ledger/ledger-store.ts";
import { PLAIN_RULES } from "../accounts/account-rules.ts";
import type { Principal } from "../accounts/principal.ts";
import { MemoryLimitStore } from "../limits/memory/memory-limit-store.ts";
import { RefusalWindows, Shortfalls } from "./refusal-memory.ts";

const FUNDED: Principal = {
  orgId: "org_a" as OrgId,
  keyId: "key_a" as KeyId,
  keyOrigin: "console",
  requestsPerMinuteCeiling: 300,
  funded: true,
  managed: false,
  rules: PLAIN_RULES,
};
const UNFUNDED = { ...FUNDED, funded: false };

const RATE_LIMITED = refusal("rate_limit", "1 a minute", {
  origin: "gateway_admission",
  limit: { scope: "key", kind: "rpm", id: "key:key_a" },
  retryAfterSeconds: 30,
});

function windows() {
  const clock = { ms: 0 };
  const opened = new RefusalWindows({
    limits: new MemoryLimitStore(),
    clock: { nowMs: () => clock.ms, monotonicMs: () => clock.ms },
    refusalsPerMinute: 600,
    unfundedRequestsPerMinute: 20,
  });
  const refuse = (principal: Principal, times: number): void => {
    for (let n = 0; n < times; n += 1) opened.note(principal, invalidRequest("no"), {});
  };
  return { clock, opened, refuse };
}

test("a key may have 600 refused requests a minute, and its organization 1,800", () => {
  const { clock, opened, refuse } = windows();
  refuse(FUNDED, 599);
  expect(opened.check(FUNDED)).toBeUndefined();
  refuse(FUNDED, 1);
  expect(opened.check(FUNDED)).toMatchObject({
    status: 429,
    limit: { scope: "key", kind: "rpm", id: "refusals:key_a" },
    retryable: true,
  });
  const others = ["key_b", "key_c"].map((keyId) => ({ ...FUNDED, keyId: keyId as KeyId }));
  for (const other of others) {
    expect(opened.check(other)).toBeUndefined();
    refuse(other, 600);
  }
  const fourth = { ...FUNDED, keyId: "key_d" as KeyId };
  refuse(fourth, 1);
  expect(opened.check(fourth)).toMatchObject({ limit: { scope: "org", id: "refusals:org_a" } });
  clock.ms = 62_000;
  for (const key of [FUNDED, ...others, fourth]) expect(opened.check(key)).toBeUndefined();
});

test("a key with a full window of refused requests may send again after the announced wait", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(70_000), { minLength: 1, maxLength: 80 }), (waits) => {
      const { clock, opened, refuse } = windows();
      for (const waitMs of waits) {
        refuse(UNFUNDED, 7);
        const full = opened.check(UNFUNDED);
        if (full === undefined) {
          clock.ms += waitMs % 3_000;
          continue;
        }
        clock.ms += waitMs % ((full.retryAfterSeconds ?? 0) * 1_000);
        clock.ms += (opened.check(UNFUNDED)?.retryAfterSeconds ?? 0) * 1_000;
        expect(opened.check(UNFUNDED)).toBeUndefined();
        // Even if one more refused request fills the window again, the wait is at most 61 seconds.
        refuse(UNFUNDED, 1);
        expect(opened.check(UNFUNDED)?.retryAfterSeconds ?? 0).toBeLessThanOrEqual(61);
      }
    }),
    { numRuns: 50 },
  );
});

test("a notice of a change clears a remembered rate limit, but not the window of refused requests", () => {
  const { opened, refuse } = windows();
  opened.note(UNFUNDED, RATE_LIMITED, {});
  opened.forget("org_b" as OrgId);
  expect(opened.check(UNFUNDED)).toMatchObject({ limit: RATE_LIMITED.limit });
  // Simulates a notice that the organization changed, for example that its limit was raised.
  opened.forget(UNFUNDED.orgId);
  expect(opened.check(UNFUNDED)).toBeUndefined();
  refuse(UNFUNDED, 20);
  opened.forget(undefined);
  expect(opened.check(UNFUNDED)).toMatchObject({ limit: { id: "refusals:key_a" } });
});

test("an exhausted rate limit for settings changes does not refuse other requests", () => {
  const { opened } = windows();
  const limit = { scope: "key", kind: "rpm", id: "settings:key_a" } as const;
  opened.note(UNFUNDED, { ...RATE_LIMITED, limit }, {});
  expect(opened.check(UNFUNDED)).toBeUndefined();
});

test("an organization may have only 20 refused requests a minute until it has credit", () => {
  const { opened, refuse } = windows();
  refuse(UNFUNDED, 20);
  expect(opened.check(UNFUNDED)).toMatchObject({ status: 429, limit: { kind: "rpm" } });
  expect(opened.check(FUNDED)).toBeUndefined();

  const served = windows();
  served.opened.note(UNFUNDED, RATE_LIMITED, {});
  served.clock.ms = 10_500;
  const { limit } = RATE_LIMITED;
  expect(served.opened.check(UNFUNDED)).toMatchObject({ retryAfterSeconds: 20, limit });
  served.opened.note(FUNDED, RATE_LIMITED, {});
  expect(served.opened.check(FUNDED)).toBeUndefined();
});

test("of 60 unaffordable requests of an organization without credit, 16 at a time, only 20 are read", async () => {
  const { opened } = windows();
  let running: object[] = [];
  let passed = 0;
  for (let sent = 0; sent < 60; sent += 16) {
    for (let n = 0; n < 16; n += 1) {
      const request = {};
      if (opened.enter(UNFUNDED, request) !== undefined) continue;
      passed += 1;
      running.push(request);
    }
    for (const request of running) opened.note(UNFUNDED, invalidRequest("no"), request);
    running = [];
    await new Promise(setImmediate);
  }
  expect(passed).toBe(20);
});

test("an organization without credit may have 20 requests awaiting a decision, and each that leaves admits another", () => {
  const { opened } = windows();
  const requests = Array.from({ length: 20 }, () => ({}));
  for (const request of requests) expect(opened.enter(UNFUNDED, request)).toBeUndefined();
  const other = { ...UNFUNDED, keyId: "key_b" as KeyId };
  const limit = { scope: "org", kind: "concurrency", id: "refusals:org_a" };
  const refused = { status: 429, retryable: true, retryAfterSeconds: 1, limit };
  expect(opened.enter(other, {})).toMatchObject(refused);
  expect(opened.enter(FUNDED, {})).toBeUndefined();
  expect(opened.enter({ ...UNFUNDED, orgId: "org_b" as OrgId }, {})).toBeUndefined();
  opened.leave(UNFUNDED, requests[0] ?? {});
  opened.leave(UNFUNDED, requests[0] ?? {});
  expect(opened.enter(other, {})).toBeUndefined();
  expect(opened.enter(other, {})).toMatchObject(refused);
});

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
  const shortfalls = new Shortfalls({ nowMs: () => nowMs + passedMs, monotonicMs: () => passedMs });
  /** Notes `outcome` as the ledger's answer to a hold that was sent to it just now. */
  const answered = (row: ReserveRow, outcome: ReserveOutcome): void =>
    shortfalls.note(row, outcome, shortfalls.asking(row.orgId));
  const refused = (row: ReserveRow, outcome: ReserveOutcome): void => {
    answered(row, outcome);
    answered(row, outcome);
  };
  return { shortfalls, answered, refused, pass: (ms: number) => (passedMs += ms) };
}

describe("a remembered refusal", () => {
  test("is the ledger's own answer, from the second in a row on", () => {
    const { shortfalls, answered } = open();
    answered(hold(50n), LOW);
    expect(shortfalls.find(hold(50n))).toBeUndefined();
    answered(hold(50n), LOW);
    expect(shortfalls.find(hold(50n))).toBe(LOW);
  });

  test("ends with the organization's next granted hold, which leaves less free than it says", () => {
    const { shortfalls, answered, refused } = open();
    refused(hold(50n), LOW);
    answered(hold(30n), { kind: "reserved" });
    expect(shortfalls.find(hold(50n))).toBeUndefined();
  });

  test("is valid for 250 ms from the time the ledger was asked", () => {
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
  ])("of a %s applies to each amount above what is available, up to its own", (_what, what) => {
    const { shortfalls, refused } = open();
    refused(hold(50n), what);
    expect(shortfalls.find(hold(40n))).toBeUndefined();
    expect(shortfalls.find(hold(41n))).toBe(what);
    expect(shortfalls.find(hold(50n))).toBe(what);
    // A larger reserve may also exceed a spend cap, which the ledger checks before the balance.
    expect(shortfalls.find(hold(51n))).toBeUndefined();
  });

  test("does not apply to another key, which has a separate cap, or another organization", () => {
    const { shortfalls, refused } = open();
    refused(hold(50n), LOW);
    expect(shortfalls.find(hold(50n, "key_b"))).toBeUndefined();
    expect(shortfalls.find(hold(50n, "key_a", "org_b"))).toBeUndefined();
  });

  test("of a monthly spend cap ends with the month", () => {
    const { shortfalls, refused, pass } = open(RESET_MS - 100);
    refused(hold(50n), CAP);
    pass(99);
    expect(shortfalls.find(hold(50n))).toBe(CAP);
    pass(1);
    expect(shortfalls.find(hold(50n))).toBeUndefined();
  });
});

describe("a notice of a change", () => {
  test.each([
    ["to the organization", "org_a"],
    ["to all organizations", undefined],
  ])("%s makes the next hold ask the ledger again at once", (_what, changed) => {
    const { shortfalls, refused } = open();
    refused(hold(50n), LOW);
    shortfalls.forget("org_b" as OrgId);
    expect(shortfalls.find(hold(50n))).toBe(LOW);
    shortfalls.forget(changed as OrgId | undefined);
    expect(shortfalls.find(hold(50n))).toBeUndefined();
  });

  test("that arrives while the ledger is asked keeps the ledger's answer from being remembered", () => {
    const { shortfalls, answered } = open();
    answered(hold(50n), LOW);
    const asked = shortfalls.asking("org_a" as OrgId);
    shortfalls.forget("org_a" as OrgId);
    shortfalls.note(hold(50n), LOW, asked);
    expect(shortfalls.find(hold(50n))).toBeUndefined();
    // The previous `note` has put the organization under watch again, but `asked` is older.
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

describe("the bounded memory of refusals", () => {
  const others = (count: number): readonly ReserveRow[] =>
    Array.from({ length: count }, (_, n) => hold(50n, `key_${n}`, `org_${n}`));

  test("stops watching the organization that was refused first when it is full", () => {
    const { shortfalls, answered } = open();
    answered(hold(50n), LOW);
    for (const row of others(SHORTFALLS_MAX - 1)) answered(row, LOW);
    expect(shortfalls.asking("org_a" as OrgId)).toBeDefined();
    answered(hold(50n, "key_z", "org_z"), LOW);
    expect(shortfalls.asking("org_a" as OrgId)).toBeUndefined();
  });

  test("drops the oldest refusal when it is full", () => {
    const { shortfalls, refused } = open();
    refused(hold(50n), LOW);
    for (const row of others(SHORTFALLS_MAX - 1)) refused(row, LOW);
    expect(shortfalls.find(hold(50n))).toBe(LOW);
    refused(hold(50n, "key_z", "org_z"), LOW);
    expect(shortfalls.find(hold(50n))).toBeUndefined();
    expect(shortfalls.find(hold(50n, "key_z", "org_z"))).toBe(LOW);
  });
});
