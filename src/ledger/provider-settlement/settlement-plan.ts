import {
  assert,
  eachSku,
  floorToMicroUsd,
  fractionBelowMicroUsd,
  microUsd,
  type MicroUsd,
  picoUsd,
  type PicoUsd,
  ZERO_MICRO_USD,
  ZERO_PICO_USD,
} from "../../kernel/index.ts";
import {
  boundaryAtOrBefore,
  findSpan,
  type SettlementInterval,
  type SettlementSpan,
} from "./settlement-interval.ts";

const zero = {
  /** Attempts closed as settled, void or unknown after a crash. Corrections are not included. */
  attempts: 0n,
  settled: 0n,
  voids: 0n,
  unknowns: 0n,
  /** The reserves that customers were charged for attempts whose end was not observed. */
  unknownMicroUsd: ZERO_MICRO_USD,
  corrections: 0n,
  /** The part of earlier `unknownMicroUsd` that corrections have resolved. */
  resolvedMicroUsd: ZERO_MICRO_USD,
  ...eachSku(() => 0n),
  /** The exact debt to the provider for all observed ends and lost attempts, with corrections. */
  costPicoUsd: ZERO_PICO_USD,
  /** The part of `costPicoUsd` that was observed in corrections. */
  correctedPicoUsd: ZERO_PICO_USD,
  /** The customers' payments for attempts whose end was observed, at once or in a correction. */
  debitMicroUsd: ZERO_MICRO_USD,
  /** The platform's payments for attempts that cost more than their reserve. */
  overrunMicroUsd: ZERO_MICRO_USD,
  /** Debits plus overruns minus the debt to the provider; negative if the debt is larger. */
  marginMicroUsd: ZERO_MICRO_USD,
  /** Attempts that the provider claims and that the books lost in a restore. */
  lostClaims: 0n,
  /** The part of `costPicoUsd` for lost attempts. */
  lostPicoUsd: ZERO_PICO_USD,
  /** The platform's payments for lost attempts. Customers pay nothing for them. */
  lostMicroUsd: ZERO_MICRO_USD,
};

/**
 * Sums over the ends of some attempts. An attempt that was closed as unknown after a crash may end
 * a second time, when its true end is observed: a correction.
 */
export type SettlementSums = Readonly<typeof zero>;
export const ZERO_SETTLEMENT_SUMS: SettlementSums = zero;

const SUM_NAMES = Object.keys(ZERO_SETTLEMENT_SUMS) as (keyof SettlementSums)[];

export function addSettlementSums(a: SettlementSums, b: SettlementSums): SettlementSums {
  return Object.fromEntries(
    SUM_NAMES.map((name) => [name, a[name] + b[name]]),
  ) as unknown as SettlementSums;
}

/** How a provider is paid: from a deposit paid in advance, or by invoice afterwards. */
export type SettlementMode = "prepaid" | "arrears";

export interface SettlementTerms {
  readonly mode: SettlementMode;
  readonly interval: SettlementInterval;
}

/** The sums of a provider's attempts that agree in both model ids and in the three times below. */
export interface SettlementFact {
  /** Noon or midnight (UTC) at or before the closing or, for corrections, the correction. */
  readonly endedMs: number;
  /** Noon or midnight at or before the closing. */
  readonly closedMs: number;
  /** Noon or midnight at or before the time in the attempt's id, which counts as the admission. */
  readonly admittedMs: number;
  readonly modelId: string;
  readonly upstreamModelId: string;
  readonly sums: SettlementSums;
}

export interface LastPeriod {
  readonly endMs: number;
  readonly carryOutPicoUsd: PicoUsd;
}

export interface SettlementLine {
  /** The midnight (UTC) at which the attempts' day of admission begins. */
  readonly admittedDayMs: number;
  readonly modelId: string;
  readonly upstreamModelId: string;
  readonly sums: SettlementSums;
}

/** Adds up the lines of all days for each model, for display. */
export function linesByModel(lines: readonly SettlementLine[]): readonly SettlementLine[] {
  return addUp(lines, ({ modelId, upstreamModelId }) => JSON.stringify([modelId, upstreamModelId]));
}

function addUp(
  lines: readonly SettlementLine[],
  keyOf: (line: SettlementLine) => string,
): SettlementLine[] {
  const byKey = new Map<string, SettlementLine>();
  for (const line of lines) {
    const key = keyOf(line);
    const known = byKey.get(key);
    const sums = known === undefined ? line.sums : addSettlementSums(known.sums, line.sums);
    byKey.set(key, { ...line, sums });
  }
  return [...byKey.values()];
}

export interface PlannedPeriod extends SettlementSpan, SettlementTerms {
  /** End of the provider's previous period; undefined for its first period. */
  readonly afterMs: number | undefined;
  readonly sums: SettlementSums;
  readonly late: LateSums;
  readonly carryInPicoUsd: PicoUsd;
  readonly carryOutPicoUsd: PicoUsd;
  /** `payableMicroUsd` minus the accrued debts, which were rounded down for each attempt. */
  readonly roundingMicroUsd: MicroUsd;
  readonly payableMicroUsd: MicroUsd;
  readonly lines: readonly SettlementLine[];
}

/** The parts of a period's sums that are due to attempts admitted or closed before the period. */
export interface LateSums {
  /** Attempts that were admitted before the period and closed in it. */
  readonly attempts: bigint;
  readonly costPicoUsd: PicoUsd;
  /** Attempts that were closed as unknown before the period and corrected in it. */
  readonly corrections: bigint;
  readonly correctedPicoUsd: PicoUsd;
}

export interface SettlementPlan {
  readonly periods: readonly PlannedPeriod[];
  /** Every attempt that ended before this instant is in one of the periods. */
  readonly throughMs: number;
}

/**
 * Divides the attempts that ended before `throughMs` into periods that end by then. A time without
 * ended attempts gets no period. Attempts whose period still runs are left for later.
 */
export function planPeriods(input: {
  readonly terms: SettlementTerms;
  readonly last: LastPeriod | undefined;
  /** Sorted by `endedMs`, from the end of the last period to `throughMs`. */
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
  // Each attempt's debit plus overrun minus margin is the floor of the exact debt to its provider,
  // so the sum of floors never exceeds the exact sum.
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

export function sumLines(facts: readonly SettlementFact[]): SettlementLine[] {
  const lines = facts.map(({ admittedMs, modelId, upstreamModelId, sums }) => {
    const admittedDayMs = boundaryAtOrBefore(admittedMs, "daily");
    return { admittedDayMs, modelId, upstreamModelId, sums };
  });
  return addUp(lines, toLineKey);
}

/** Returns a key that is different for each line of a period. */
export function toLineKey(
  line: Pick<SettlementLine, "admittedDayMs" | "modelId" | "upstreamModelId">,
): string {
  return JSON.stringify([line.admittedDayMs, line.modelId, line.upstreamModelId]);
}
