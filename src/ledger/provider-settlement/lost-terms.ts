import type { MicroUsd, PicoUsd } from "../../kernel/index.ts";
import type { ClaimLine } from "./settlement-file.ts";
import type { SettlementTerms } from "./settlement-plan.ts";

/**
 * - `borne`: owed from now on, and paid by no customer. `borne_before`: by an earlier run.
 * - `ours`: the journal has it, with what it cost.
 * - `put_back`: of a period that was put back, which has it.
 * - `retired`: of a day that was taken out of the journal. `outside`: not of a lost time.
 * - `impossible`: no attempt can have this id.
 */
export type LostVerdict =
  "borne" | "borne_before" | "ours" | "put_back" | "retired" | "outside" | "impossible";

export interface LostLine {
  readonly of: ClaimLine["of"];
  readonly id: string;
  readonly costPicoUsd: PicoUsd;
  readonly verdict: LostVerdict;
}

/** A closed period as a file keeps it, for books that are restored to a time before its end. */
export interface ClosedPeriodFile extends SettlementTerms {
  readonly providerId: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly costPicoUsd: PicoUsd;
  readonly carryOutPicoUsd: PicoUsd;
  readonly payableMicroUsd: MicroUsd;
  readonly lines: readonly {
    readonly admittedDayMs: number;
    readonly modelId: string;
    readonly upstreamModelId: string;
    readonly attempts: bigint;
    readonly costPicoUsd: PicoUsd;
  }[];
}

export interface PutBackOutcome {
  /** False: the books have this very period. */
  readonly created: boolean;
  readonly lostClaims: bigint;
  readonly lostPicoUsd: bigint;
}
