import {
  eachSku,
  microUsd,
  type MicroUsd,
  picoUsd,
  type PicoUsd,
  type Sku,
  ZERO_MICRO_USD,
  ZERO_PICO_USD,
} from "../../kernel/index.ts";

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
  /** Attempts of which the books lost everything in a restore, and which the provider claims. */
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

export function addSettlementSums(a: SettlementSums, b: SettlementSums): SettlementSums {
  return {
    attempts: a.attempts + b.attempts,
    settled: a.settled + b.settled,
    voids: a.voids + b.voids,
    unknowns: a.unknowns + b.unknowns,
    unknownMicroUsd: microUsd(a.unknownMicroUsd + b.unknownMicroUsd),
    corrections: a.corrections + b.corrections,
    resolvedMicroUsd: microUsd(a.resolvedMicroUsd + b.resolvedMicroUsd),
    ...eachSku((sku) => a[sku] + b[sku]),
    costPicoUsd: picoUsd(a.costPicoUsd + b.costPicoUsd),
    correctedPicoUsd: picoUsd(a.correctedPicoUsd + b.correctedPicoUsd),
    debitMicroUsd: microUsd(a.debitMicroUsd + b.debitMicroUsd),
    overrunMicroUsd: microUsd(a.overrunMicroUsd + b.overrunMicroUsd),
    marginMicroUsd: microUsd(a.marginMicroUsd + b.marginMicroUsd),
    lostClaims: a.lostClaims + b.lostClaims,
    lostPicoUsd: picoUsd(a.lostPicoUsd + b.lostPicoUsd),
    lostMicroUsd: microUsd(a.lostMicroUsd + b.lostMicroUsd),
  };
}
