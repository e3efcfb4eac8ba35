import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../test/support/depth.ts";
import { microUsd, picoUsd } from "../../kernel/core/money.ts";
import { HALF_DAY_MS, SETTLEMENT_INTERVALS } from "./settlement-interval.ts";
import {
  addSettlementSums,
  planPeriods,
  type SettlementFact,
  type SettlementTerms,
  ZERO_SETTLEMENT_SUMS,
} from "./settlement-plan.ts";

const START_MS = Date.parse("2026-01-01T00:00Z");

/** A settled attempt that ended this many half-days after the start. */
function settled(
  halfDay: number,
  costPico: bigint,
  change: Partial<SettlementFact> = {},
): SettlementFact {
  const endedMs = START_MS + halfDay * HALF_DAY_MS;
  return {
    endedMs,
    closedMs: endedMs,
    admittedMs: endedMs,
    modelId: "acme/small",
    upstreamModelId: "small",
    sums: {
      ...ZERO_SETTLEMENT_SUMS,
      attempts: 1n,
      settled: 1n,
      costPicoUsd: picoUsd(costPico),
      debitMicroUsd: microUsd(costPico / 1_000_000n),
    },
    ...change,
  };
}

test("a period states late attempts and corrections of earlier periods as separate sums", () => {
  const corrected = (attempts: bigint, closedHalfDay: number, costPico: bigint): SettlementFact => {
    const closedMs = START_MS + closedHalfDay * HALF_DAY_MS;
    const { sums, ...fact } = settled(3, costPico, { admittedMs: START_MS, closedMs });
    const correctedPicoUsd = picoUsd(costPico);
    return { ...fact, sums: { ...sums, attempts, settled: 0n, corrections: 1n, correctedPicoUsd } };
  };
  const facts = [
    settled(2, 3_000_000n, { admittedMs: START_MS + HALF_DAY_MS }),
    settled(2, 1_000_000n),
    corrected(0n, 1, 5_000_000n),
    // This attempt was closed in the period too, so its correction is not late.
    corrected(1n, 2, 7_000_000n),
  ];
  const terms = { mode: "arrears", interval: "daily" } as const;
  const throughMs = START_MS + 4 * HALF_DAY_MS;
  const { periods } = planPeriods({ terms, last: undefined, facts, throughMs });
  const late = { attempts: 2n, costPicoUsd: 3_000_000n };
  expect(periods).toMatchObject([
    {
      payableMicroUsd: 16n,
      sums: { attempts: 3n, corrections: 2n, costPicoUsd: 16_000_000n },
      late: { ...late, corrections: 1n, correctedPicoUsd: 5_000_000n },
    },
  ]);
});

describe("settlement plans for any attempts, intervals and closing times", () => {
  const fact = fc
    .record({
      at: fc.nat(300),
      age: fc.nat(20),
      costPico: fc.oneof(fc.bigInt(0n, 3n), fc.bigInt(0n, 5_000_000n), fc.bigInt(0n, 10n ** 24n)),
      model: fc.constantFrom("a", "b"),
    })
    .map(({ at, age, costPico, model }) =>
      settled(at, costPico, {
        admittedMs: START_MS + (at - age) * HALF_DAY_MS,
        modelId: model,
      }),
    );
  const facts = fc
    .array(fact, { maxLength: 60 })
    .map((list) => list.toSorted((a, b) => a.endedMs - b.endedMs));
  const closings = fc.array(
    fc.record({ ahead: fc.nat(80), interval: fc.constantFrom(...SETTLEMENT_INTERVALS) }),
    { maxLength: 12 },
  );

  test("have every settled attempt in exactly one period, and pay the provider the exact sum", () => {
    fc.assert(
      fc.property(facts, closings, (list, rounds) => {
        const done = closeAll(list, rounds);
        let total = ZERO_SETTLEMENT_SUMS;
        let payable = 0n;
        let lastEndMs = -Infinity;
        for (const period of done) {
          expect(period.startMs).toBeGreaterThanOrEqual(lastEndMs);
          expect(period.endMs).toBeGreaterThan(period.startMs);
          expect(period.roundingMicroUsd >= 0n).toBe(true);
          const inside = list.filter(
            ({ endedMs }) => endedMs >= period.startMs && endedMs < period.endMs,
          );
          expect(inside.length).toBeGreaterThan(0);
          const sums = inside.map((each) => each.sums).reduce(addSettlementSums);
          expect(period.sums).toEqual(sums);
          expect(period.lines.map((line) => line.sums).reduce(addSettlementSums)).toEqual(sums);
          const late = inside.filter(({ admittedMs }) => admittedMs < period.startMs);
          expect(period.late.attempts).toBe(BigInt(late.length));
          total = addSettlementSums(total, period.sums);
          payable += period.payableMicroUsd;
          lastEndMs = period.endMs;
        }
        expect(total.attempts).toBe(BigInt(list.length));
        expect(payable).toBe(total.costPicoUsd / 1_000_000n);
      }),
      { numRuns: runs(300) },
    );
  });

  /** Closes periods several times with changing terms, the last time after all attempts ended. */
  function closeAll(
    list: readonly SettlementFact[],
    rounds: readonly { ahead: number; interval: SettlementTerms["interval"] }[],
  ): ReturnType<typeof planPeriods>["periods"] {
    const done: ReturnType<typeof planPeriods>["periods"][number][] = [];
    let nowMs = START_MS;
    let openFromMs = -Infinity;
    for (const { ahead, interval } of [...rounds, { ahead: 1_000, interval: "monthly" as const }]) {
      nowMs += ahead * HALF_DAY_MS;
      const throughMs = nowMs;
      const { periods, throughMs: nextMs } = planPeriods({
        terms: { mode: "arrears", interval },
        last: done.at(-1),
        facts: list.filter(({ endedMs }) => endedMs >= openFromMs && endedMs < throughMs),
        throughMs,
      });
      done.push(...periods);
      openFromMs = nextMs;
    }
    return done;
  }
});
