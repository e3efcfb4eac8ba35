import {
  assert,
  eachSku,
  floorToMicroUsd,
  fractionBelowMicroUsd,
  microUsd,
  type MicroUsd,
  picoUsd,
  type PicoUsd,
  type Sku,
  ZERO_MICRO_USD,
  ZERO_PICO_USD,
} from "../../kernel/index.ts";
import {
  boundaryAtOrBefore,
  findSpan,
  type SettlementInterval,
  type SettlementSpan,
} from "./settlement-interval.ts";

/**
 * The sum over the ends of some attempts. An attempt ends when it is closed; one that was closed as
 * unknown after a crash may end a second time, when its true end is observed: a correction.
 */
export interface SettlementSums extends Readonly<Record<Sku, bigint>> {
  /** Closed: settled, void or unknown after a crash. Corrections are not among them. */
  readonly attempts: bigint;
  readonly settled: bigint;
  readonly voids: bigint;
  readonly unknowns: bigint;
  /** Charged to customers, at the reserve, for attempts whose end was not observed. */
  readonly unknownMicroUsd: MicroUsd;
  readonly corrections: bigint;
  /** The part of earlier unknown charges that corrections have resolved. */
  readonly resolvedMicroUsd: MicroUsd;
  /** The debt to the provider for everything observed, exactly; corrections included. */
  readonly costPicoUsd: PicoUsd;
  /** The part of it that corrections observed. */
  readonly correctedPicoUsd: PicoUsd;
  /** The customers' payments for everything observed: never more than it cost them. */
  readonly debitMicroUsd: MicroUsd;
  /** The platform's payments where the cost was above the reserve. */
  readonly overrunMicroUsd: MicroUsd;
  /** The part of both that is the platform's and not owed; below 0 where the provider costs more. */
  readonly marginMicroUsd: MicroUsd;
  /** Attempts that the provider claims and of which a restore left no trace in the books. */
  readonly lostClaims: bigint;
  /** The part of the cost that these are. */
  readonly lostPicoUsd: PicoUsd;
  /** The platform's payments for them: customers pay nothing. */
  readonly lostMicroUsd: MicroUsd;
}

export const ZERO_SETTLEMENT_SUMS: SettlementSums = {
  attempts: 0n,
  settled: 0n,
  voids: 0n,
  unknowns: 0n,
  unknownMicroUsd: ZERO_MICRO_USD,
  corrections: 0n,
  resolvedMicroUsd: ZERO_MICRO_USD,
  ...eachSku(() => 0n),
  costPicoUsd: ZERO_PICO_USD,
  correctedPicoUsd: ZERO_PICO_USD,
  debitMicroUsd: ZERO_MICRO_USD,
  overrunMicroUsd: ZERO_MICRO_USD,
  marginMicroUsd: ZERO_MICRO_USD,
  lostClaims: 0n,
  lostPicoUsd: ZERO_PICO_USD,
  lostMicroUsd: ZERO_MICRO_USD,
};

const SUM_NAMES = Object.keys(ZERO_SETTLEMENT_SUMS) as (keyof SettlementSums)[];

export function addSettlementSums(a: SettlementSums, b: SettlementSums): SettlementSums {
  return Object.fromEntries(
    SUM_NAMES.map((name) => [name, a[name] + b[name]]),
  ) as unknown as SettlementSums;
}

/** How a provider is paid: from a deposit as it goes, or by invoice afterwards. */
export type SettlementMode = "prepaid" | "arrears";

export interface SettlementTerms {
  readonly mode: SettlementMode;
  readonly interval: SettlementInterval;
}

/** The ends of attempts of one provider that share these half-days and models. */
export interface SettlementFact {
  /** Noon or midnight at or before the end: the closing, or the correction. */
  readonly endedMs: number;
  /** The time of the closing. */
  readonly closedMs: number;
  /** The time of the admission. */
  readonly admittedMs: number;
  readonly modelId: string;
  readonly upstreamModelId: string;
  readonly sums: SettlementSums;
}

/** The period that the next one of a provider continues. */
export interface LastPeriod {
  readonly endMs: number;
  readonly carryOutPicoUsd: PicoUsd;
}

/** One model on one day of admission, within a period. */
export interface SettlementLine {
  /** Midnight UTC. */
  readonly admittedDayMs: number;
  readonly modelId: string;
  readonly upstreamModelId: string;
  readonly sums: SettlementSums;
}

/** The lines of a statement as a reader wants them: the days of admission together. */
export function linesByModel(lines: readonly SettlementLine[]): readonly SettlementLine[] {
  const models = new Map<string, SettlementLine>();
  for (const line of lines) {
    const key = JSON.stringify([line.modelId, line.upstreamModelId]);
    const known = models.get(key);
    const sums = known === undefined ? line.sums : addSettlementSums(known.sums, line.sums);
    models.set(key, { ...line, sums });
  }
  return [...models.values()];
}

/** A period as it will be frozen. */
export interface PlannedPeriod extends SettlementSpan, SettlementTerms {
  /** End of the provider's period before; undefined for its first. */
  readonly afterMs: number | undefined;
  readonly sums: SettlementSums;
  readonly late: LateSums;
  readonly carryInPicoUsd: PicoUsd;
  readonly carryOutPicoUsd: PicoUsd;
  /**
   * The amount that the platform adds so that the provider gets the exact sum, not the sum of the
   * floors.
   */
  readonly roundingMicroUsd: MicroUsd;
  readonly payableMicroUsd: MicroUsd;
  readonly lines: readonly SettlementLine[];
}

/** The parts of a period that began before it. */
export interface LateSums {
  /** Closed in the period, admitted before its start. */
  readonly attempts: bigint;
  readonly costPicoUsd: PicoUsd;
  /** Corrected in the period, closed as unknown before its start. */
  readonly corrections: bigint;
  readonly correctedPicoUsd: PicoUsd;
}

export interface SettlementPlan {
  readonly periods: readonly PlannedPeriod[];
  /** Every attempt that ended before this instant is in a period. */
  readonly throughMs: number;
}

/**
 * Cuts everything that ended before `throughMs` into periods that are over by then. Stretches in
 * which nothing ended are in no period; what ended in a period that still runs is left for later.
 */
export function planPeriods(input: {
  readonly terms: SettlementTerms;
  readonly last: LastPeriod | undefined;
  /** In order of `endedMs`, from the end of the last period to `throughMs`. */
  readonly facts: readonly SettlementFact[];
  readonly throughMs: number;
}): SettlementPlan {
  const { terms, throughMs } = input;
  const periods: PlannedPeriod[] = [];
  let last = input.last;
  let rest = input.facts;
  assert(isInOrder(rest), "facts are in order of their ends");
  for (;;) {
    const [first] = rest;
    if (first === undefined) return { periods, throughMs };
    const span = findSpan(first.endedMs, terms.interval, last?.endMs);
    if (span.endMs > throughMs) return { periods, throughMs: first.endedMs };
    const next = rest.findIndex((fact) => fact.endedMs >= span.endMs);
    const count = next < 0 ? rest.length : next;
    const period = planPeriod({ ...terms, ...span }, last, rest.slice(0, count));
    periods.push(period);
    last = period;
    rest = rest.slice(count);
  }
}

function isInOrder(facts: readonly SettlementFact[]): boolean {
  return facts.every(({ endedMs }, at) => endedMs >= (facts[at - 1]?.endedMs ?? -Infinity));
}

function planPeriod(
  span: SettlementSpan & SettlementTerms,
  last: LastPeriod | undefined,
  facts: readonly SettlementFact[],
): PlannedPeriod {
  const sums = facts.reduce(
    (total, fact) => addSettlementSums(total, fact.sums),
    ZERO_SETTLEMENT_SUMS,
  );
  const carryInPicoUsd = last?.carryOutPicoUsd ?? ZERO_PICO_USD;
  const owed = picoUsd(carryInPicoUsd + sums.costPicoUsd);
  const payableMicroUsd = floorToMicroUsd(owed);
  const { debitMicroUsd, overrunMicroUsd, marginMicroUsd, lostMicroUsd } = sums;
  const accrued = debitMicroUsd + overrunMicroUsd - marginMicroUsd + lostMicroUsd;
  const roundingMicroUsd = microUsd(payableMicroUsd - accrued);
  // Each attempt's debit plus overrun minus margin is the floor of its exact cost, so the sum of
  // floors never exceeds the exact sum.
  assert(roundingMicroUsd >= 0n, "a provider is owed no less than was accrued");
  return {
    ...span,
    afterMs: last?.endMs,
    sums,
    late: lateSums(facts, span.startMs),
    carryInPicoUsd,
    carryOutPicoUsd: fractionBelowMicroUsd(owed),
    roundingMicroUsd,
    payableMicroUsd,
    lines: sumLines(facts),
  };
}

function lateSums(facts: readonly SettlementFact[], startMs: number): LateSums {
  let [attempts, corrections] = [0n, 0n];
  let [costPicoUsd, correctedPicoUsd] = [ZERO_PICO_USD, ZERO_PICO_USD];
  for (const { admittedMs, closedMs, sums } of facts) {
    if (admittedMs < startMs) {
      attempts += sums.attempts;
      const { correctedPicoUsd: corrected, lostPicoUsd: lost } = sums;
      costPicoUsd = picoUsd(costPicoUsd + sums.costPicoUsd - corrected - lost);
    }
    if (closedMs < startMs) {
      corrections += sums.corrections;
      correctedPicoUsd = picoUsd(correctedPicoUsd + sums.correctedPicoUsd);
    }
  }
  return { attempts, costPicoUsd, corrections, correctedPicoUsd };
}

/** The lines of a period: models by days of admission. */
export function sumLines(facts: readonly SettlementFact[]): SettlementLine[] {
  const lines = new Map<string, SettlementLine>();
  for (const { admittedMs, modelId, upstreamModelId, sums } of facts) {
    const admittedDayMs = boundaryAtOrBefore(admittedMs, "daily");
    const key = JSON.stringify([admittedDayMs, modelId, upstreamModelId]);
    const known = lines.get(key)?.sums ?? ZERO_SETTLEMENT_SUMS;
    const line = { admittedDayMs, modelId, upstreamModelId, sums: addSettlementSums(known, sums) };
    lines.set(key, line);
  }
  return [...lines.values()];
}
