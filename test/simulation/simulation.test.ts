import { beforeAll, expect, test } from "vitest";

import { microUsd } from "../../src/kernel/core/money.ts";
import type { AttemptId } from "../../src/kernel/core/ids.ts";
import type { Ledger } from "../../src/ledger/ledger-store.ts";
import { quickOrDeep, seedOf } from "../support/depth.ts";
import { FAULT_KINDS } from "./faults.ts";
import { failureText, Totals } from "./totals.ts";
import { simulate, type SimulationOutcome } from "./simulation.ts";

const RUNS = quickOrDeep(48, 2_000);
/** A quick run always has the same scenarios, which together meet every kind of fault. */
const FIRST_SEED = seedOf("simulation", 1);
const RUNS_WITHIN_MS = 3_600_000;
const RUNS_MAX_TO_NOTICE = 20;

const totals = new Totals();

beforeAll(async () => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + RUNS; seed++) {
    totals.add(await simulate({ seed }));
    await realTick();
  }
}, RUNS_WITHIN_MS);

/** Lets the test runner work between two scenarios. */
function realTick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test("no simulated failure at any await breaks an invariant of money", () => {
  expect(totals.failures.map(failureText)).toEqual([]);
  expect(totals.runs).toBe(RUNS);
});

test("the simulated scenarios contain every kind of fault", () => {
  const counts = FAULT_KINDS.map((kind) => [kind, totals.faults.get(kind) ?? 0] as const);
  expect(counts.filter(([, count]) => count === 0)).toEqual([]);
  expect(totals.recovered).toBeGreaterThan(0);
  expect(totals.pendingAnswers).toBeGreaterThan(0);
});

test("processes are killed or paused before every kind of await", () => {
  const awaits = [
    "join answered",
    "lease renewal answered",
    "recovery answered",
    "reserve answered",
    "batch answered",
    "close answered",
    "late close answered",
    "annulment answered",
    "provider connected",
    "provider headers",
    "provider bytes",
    "provider ends",
    "client takes more",
    "timer",
  ];
  expect(awaits.filter((label) => !totals.struck.has(label))).toEqual([]);
});

test("answers are settled at base and tier prices, before and after a price change", () => {
  expect(
    [...totals.priceKinds]
      .filter(([, count]) => count > 10)
      .map(([kind]) => kind)
      .toSorted(),
  ).toEqual([
    "base after a change",
    "base before a change",
    "tier after a change",
    "tier before a change",
  ]);
});

test("the checks find an attempt that is dated ahead of its admission", async () => {
  const lie = (ledger: Ledger): Ledger =>
    altered(ledger, {
      newAttemptId: () => (ledger.newAttemptId() + (60_000n << 22n)) as AttemptId,
    });
  expect(await noticed(lie)).toMatch(/is of a time \d+ ms ahead/);
});

test("clients are answered, refused, disconnected and cut off, and over a quarter are answered", () => {
  const { endings } = totals;
  for (const ending of ["answered", "refused", "left", "lost with its instance"]) {
    expect(endings.get(ending) ?? 0).toBeGreaterThan(0);
  }
  expect(endings.get("answered") ?? 0).toBeGreaterThan(totals.requests / 4);
});

test("the same seed gives the same scenario twice, and another seed a different one", async () => {
  const [first, again, other] = [
    await simulate({ seed: 7 }),
    await simulate({ seed: 7 }),
    await simulate({ seed: 8 }),
  ];
  expect(again.traceHash).toBe(first.traceHash);
  expect(again).toEqual(first);
  expect(other.traceHash).not.toBe(first.traceHash);
});

/** Returns the first violation that some scenarios with a sabotaged ledger report. */
async function noticed(sabotage: (ledger: Ledger) => Ledger): Promise<string | undefined> {
  for (let seed = 1; seed <= RUNS_MAX_TO_NOTICE; seed++) {
    const { violation }: SimulationOutcome = await simulate({ seed, sabotage });
    await realTick();
    if (violation !== undefined) return violation.message;
  }
  return undefined;
}

/** Returns the same ledger with some methods replaced. */
function altered(ledger: Ledger, verbs: Partial<Ledger>): Ledger {
  return {
    newAttemptId: () => ledger.newAttemptId(),
    reserve: (row) => ledger.reserve(row),
    roll: (close, next) => ledger.roll(close, next),
    close: (row) => ledger.close(row),
    recordRefused: (request) => ledger.recordRefused(request),
    get healthy() {
      return ledger.healthy;
    },
    shutDown: () => ledger.shutDown(),
    ...verbs,
  };
}

test("the checks find a dispatch without a journal row", async () => {
  const lie = (ledger: Ledger): Ledger =>
    altered(ledger, {
      reserve: async (row) => {
        await ledger.reserve(row);
        return { kind: "reserved" };
      },
    });
  expect(await noticed(lie)).toMatch(/counts as reserved, but the journal has no row/);
});

test("the checks find an attempt that is never closed", async () => {
  const lie = (ledger: Ledger): Ledger =>
    altered(ledger, { close: () => Promise.resolve({ kind: "pending" }) });
  expect(await noticed(lie)).toMatch(/is open/);
});

test("the checks find a reported cost that differs from the debit", async () => {
  const lie = (ledger: Ledger): Ledger =>
    altered(ledger, {
      close: async (row) => {
        const outcome = await ledger.close(row);
        if (outcome.kind !== "closed") return outcome;
        return { ...outcome, debitMicroUsd: microUsd(outcome.debitMicroUsd + 1n) };
      },
    });
  expect(await noticed(lie)).toMatch(/reported a cost of/);
});
