import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { AttemptId } from "../../src/kernel/core/ids.ts";
import { microUsd, picoUsd } from "../../src/kernel/core/money.ts";
import {
  HALF_DAY_MS,
  SETTLEMENT_INTERVALS,
} from "../../src/ledger/provider-settlement/settlement-interval.ts";
import type { ProviderPeriod } from "../../src/ledger/provider-settlement/settlement-rows.ts";
import {
  addSettlementSums,
  ZERO_SETTLEMENT_SUMS,
  type SettlementSums,
} from "../../src/ledger/provider-settlement/settlement-plan.ts";
import { quickOrDeep } from "../support/depth.ts";
import { usageOwing } from "../support/ledger-rows.ts";
import { withBackend } from "../support/postgres.ts";
import { closeUntil, entriesOf } from "../support/settlement-books.ts";
import {
  brokenSettlement,
  SettlementJournal,
  type JournaledAttempt,
} from "../support/settlement-journal.ts";
import { withResource } from "../support/with-resource.ts";

/** `PROPERTY_RUNS=200` searches longer. */
const RUNS = Number(process.env["PROPERTY_RUNS"] ?? quickOrDeep(2, 60));
const START_MS = Date.parse("2026-01-01T00:00Z");
const LAST_HALF_DAY = 90;

let provider = 0;

const backend = withBackend();
const journal = withResource(() => SettlementJournal.open(backend));

/* In a deep run, all attempts at these amounts together fill less than half an account's range. */
const LARGEST_PICO = 10n ** 20n;
const LARGEST_RESERVE = 10n ** 15n;

const someCost = fc.oneof(
  fc.bigInt(0n, 3n),
  fc.bigInt(0n, 9_000_000n),
  fc.bigInt(0n, LARGEST_PICO),
);
const seenCost = fc.oneof(someCost, fc.constant("void" as const));
const randomAttempt = fc.record({
  /** Milliseconds after the start, often exactly at the boundary of a half day. */
  closedAt: fc.oneof(
    fc.nat(LAST_HALF_DAY).map((halfDay) => halfDay * HALF_DAY_MS),
    fc.nat(LAST_HALF_DAY * HALF_DAY_MS),
  ),
  age: fc.nat(5 * HALF_DAY_MS),
  cost: fc.oneof(seenCost, fc.constant("unknown" as const)),
  reserve: fc.oneof(fc.bigInt(0n, 20n), fc.constant(LARGEST_RESERVE)),
  model: fc.constantFrom("a/one", "a/two"),
  correctedAfter: fc.nat(60 * HALF_DAY_MS),
  correctedCost: fc.option(seenCost),
  /** The debt to the provider if its prices differ from the customer's. */
  owed: fc.option(someCost),
});
type RandomAttempt = typeof randomAttempt extends fc.Arbitrary<infer T> ? T : never;

const randomClosing = fc.record({
  ahead: fc.nat(30),
  every: fc.constantFrom(...SETTLEMENT_INTERVALS),
  mode: fc.constantFrom("prepaid" as const, "arrears" as const),
});

test("for any attempts and closing times, the settlement periods add up to exactly the attempts", async () => {
  const attempts = fc.array(randomAttempt, { minLength: 1, maxLength: 40 });
  const closings = fc.array(randomClosing, { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(attempts, closings, async (list, moments) => {
      const id = `random-${++provider}`;
      const timeline = new Timeline(id, list);
      const closed: ProviderPeriod[] = [];
      let halfDay = 0;
      for (const { ahead, ...terms } of [...moments, LONG_AFTER]) {
        halfDay += ahead;
        const until = new Date(START_MS + halfDay * HALF_DAY_MS).toISOString();
        await timeline.playUntil(until);
        closed.push(...(await closeUntil(backend, until, { id, ...terms })));
      }
      const sums = closed.map((each) => each.sums).reduce(addSettlementSums);
      expect(sums).toEqual(timeline.sums);
      await expectExactlyOwed(id, closed, sums);
      expect(await brokenSettlement(backend)).toEqual([]);
    }),
    { numRuns: RUNS },
  );
  for (const check of await backend.audit()) expect(check).toMatchObject({ violations: 0 });
}, 3_600_000);

const LONG_AFTER = { ahead: 400, every: "half_daily", mode: "arrears" } as const;

async function expectExactlyOwed(
  id: string,
  closed: readonly ProviderPeriod[],
  sums: SettlementSums,
): Promise<void> {
  const payable = closed.reduce((sum, each) => sum + each.payableMicroUsd, 0n);
  expect(payable).toBe(sums.costPicoUsd / 1_000_000n);
  let lines = 0n;
  for (const period of closed) lines += BigInt((await entriesOf(backend, period)).length);
  expect(lines).toBe(closed.reduce((sum, each) => sum + each.late.corrections, sums.attempts));
  const [balance] = await backend.settlementStore.balances(id);
  expect((balance?.payableMicroUsd ?? 0n) - (balance?.depositMicroUsd ?? 0n)).toBe(payable);
  expect(balance?.accruedMicroUsd ?? 0n).toBe(0n);
  expect(balance?.marginMicroUsd ?? 0n).toBe(sums.marginMicroUsd);
  const unknown = sums.unknownMicroUsd - sums.resolvedMicroUsd;
  expect(balance?.unknownMicroUsd ?? 0n).toBe(unknown);
}

/** Writes attempts in the order of their ends; `sums` is the expected total of their periods. */
class Timeline {
  sums: SettlementSums = ZERO_SETTLEMENT_SUMS;
  readonly #provider: string;
  readonly #toClose: RandomAttempt[];
  readonly #toCorrect: { readonly attempt: RandomAttempt; readonly id: AttemptId }[] = [];

  constructor(id: string, attempts: readonly RandomAttempt[]) {
    this.#provider = id;
    this.#toClose = [...attempts];
    for (const attempt of attempts) {
      this.sums = addSettlementSums(this.sums, closingSums(attempt));
      if (isCorrected(attempt)) this.sums = addSettlementSums(this.sums, correctionSums(attempt));
    }
  }

  async playUntil(until: string): Promise<void> {
    const ended = this.#toClose.filter((each) => iso(each.closedAt) < until);
    for (const each of ended) this.#toClose.splice(this.#toClose.indexOf(each), 1);
    const ids = await journal.write(ended.map((each) => this.#journaled(each)));
    ended.forEach((attempt, i) => {
      const id = ids[i];
      if (id !== undefined && isCorrected(attempt)) this.#toCorrect.push({ attempt, id });
    });
    for (const { attempt, id } of this.#toCorrect.splice(0)) {
      const at = iso(attempt.closedAt + attempt.correctedAfter);
      const cost = attempt.correctedCost ?? "void";
      if (at < until) await journal.correct(id, at, { cost, ...owedOf(attempt) });
      else this.#toCorrect.push({ attempt, id });
    }
  }

  #journaled(attempt: RandomAttempt): JournaledAttempt {
    return {
      provider: this.#provider,
      admitted: iso(attempt.closedAt - attempt.age),
      closed: iso(attempt.closedAt),
      cost: attempt.cost,
      reserveMicroUsd: attempt.reserve,
      model: attempt.model,
      ...owedOf(attempt),
    };
  }
}

function owedOf({ owed }: RandomAttempt): { readonly owed?: bigint } {
  return owed === null ? {} : { owed };
}

function isCorrected({ cost, correctedCost }: RandomAttempt): boolean {
  return cost === "unknown" && correctedCost !== null;
}

function closingSums({ cost, reserve, owed }: RandomAttempt): SettlementSums {
  const one = { ...ZERO_SETTLEMENT_SUMS, attempts: 1n };
  if (cost === "void") return { ...one, voids: 1n };
  if (cost === "unknown") return { ...one, unknowns: 1n, unknownMicroUsd: microUsd(reserve) };
  return { ...one, settled: 1n, ...observed(cost, reserve, owed) };
}

function correctionSums({ correctedCost, reserve, owed }: RandomAttempt): SettlementSums {
  const one = { ...ZERO_SETTLEMENT_SUMS, corrections: 1n, resolvedMicroUsd: microUsd(reserve) };
  if (correctedCost === null || correctedCost === "void") return one;
  const correctedPicoUsd = picoUsd(owed ?? correctedCost);
  return { ...one, ...observed(correctedCost, reserve, owed), correctedPicoUsd };
}

/** The sums of an attempt of this cost; its usage is `USED` or, if `owed` is set, `usageOwing`. */
function observed(
  cost: bigint,
  reserve: bigint,
  owed: bigint | null,
): Pick<SettlementSums, "costPicoUsd" | "debitMicroUsd" | "overrunMicroUsd" | "marginMicroUsd"> {
  const micro = cost / 1_000_000n;
  const debit = micro < reserve ? micro : reserve;
  const amounts = {
    costPicoUsd: picoUsd(owed ?? cost),
    debitMicroUsd: microUsd(debit),
    overrunMicroUsd: microUsd(micro - debit),
    marginMicroUsd: microUsd(micro - (owed ?? cost) / 1_000_000n),
  };
  const usage = owed === null ? USED : usageOwing(owed);
  const used = Object.entries({ cacheWrite1h: 0, ...usage });
  return { ...Object.fromEntries(used.map(([bucket, n]) => [bucket, BigInt(n)])), ...amounts };
}

/** The usage of `closeRow`. */
const USED = { prompt: 11, cachedPrompt: 3, cacheWrite: 2, completion: 7, internalReasoning: 5 };

function iso(afterStartMs: number): string {
  return new Date(START_MS + afterStartMs).toISOString();
}
