import type { MicroUsd, PicoUsd, RequestId, Usage } from "../../kernel/index.ts";
import type { SettlementBasis } from "../ledger-store.ts";
import type { PlannedPeriod, SettlementLine, SettlementTerms } from "./settlement-plan.ts";

export interface PeriodName {
  readonly providerId: string;
  readonly startMs: number;
}

export function describePeriod({ providerId, startMs }: PeriodName): string {
  return `the period of ${providerId} from ${new Date(startMs).toISOString()}`;
}

/** A closed period. Its figures never change again. */
export interface ProviderPeriod extends Omit<PlannedPeriod, "lines" | "afterMs"> {
  readonly providerId: string;
  readonly closedAtMs: number;
  /** Null until the period is paid. */
  readonly payment: { readonly ref: string; readonly paidAtMs: number } | null;
}

export interface SettlementStatement {
  readonly period: ProviderPeriod;
  readonly lines: readonly SettlementLine[];
  /** The provider's own statements, oldest first. */
  readonly claims: readonly RecordedClaim[];
}

/** An attempt as it was at the end of its period, without corrections of later periods. */
export interface SettlementEntry {
  readonly attemptId: bigint;
  readonly requestId: RequestId;
  readonly modelId: string;
  readonly upstreamModelId: string;
  readonly admittedAtMs: number;
  readonly closedAtMs: number;
  /** `lost`: the books lost the attempt in a restore, and its provider claims it. */
  readonly state: "settled" | "void" | "unknown_after_crash" | "lost";
  readonly basis: SettlementBasis | null;
  readonly usage: Usage | null;
  /** The debt to the provider; null if unknown. */
  readonly costPicoUsd: PicoUsd | null;
  readonly debitMicroUsd: MicroUsd;
  readonly overrunMicroUsd: MicroUsd;
  /** Debit plus overrun minus the debt to the provider; negative if the debt is larger. */
  readonly marginMicroUsd: MicroUsd;
  /** True if the attempt was admitted before the period, or closed before and corrected in it. */
  readonly isLate: boolean;
  /** True if the attempt's end was observed after it had been charged as unknown. */
  readonly isCorrected: boolean;
}

export interface ProviderBalance {
  readonly providerId: string;
  /** The debt for attempts that are not yet in a closed period. */
  readonly accruedMicroUsd: MicroUsd;
  /** The unpaid debt for closed periods of the mode `arrears`. */
  readonly payableMicroUsd: MicroUsd;
  /** The unused part of the deposits; negative if periods have drawn more than was paid in. */
  readonly depositMicroUsd: MicroUsd;
  /** Charges to customers for attempts with an unknown end; the provider's claim is not known. */
  readonly unknownMicroUsd: MicroUsd;
  /** The platform's share of what customers paid; negative if the provider costs more. */
  readonly marginMicroUsd: MicroUsd;
}

export interface ClosingRequest {
  /** The terms of providers with a manifest. Others keep the terms of their last period, if any. */
  readonly listed: ReadonlyMap<string, SettlementTerms>;
  /** If set, closes only this provider's periods; otherwise those of all providers. */
  readonly providerId?: string;
  /** Closes periods that ended by this instant, or by now if that is earlier. Default: now. */
  readonly untilMs?: number;
}

export interface ClosingOutcome {
  /** Periods closed by this call, sorted by provider and time. */
  readonly closed: readonly SettlementStatement[];
  /** No attempt can end before this instant any more. */
  readonly throughMs: number;
  /** The providers of `closed` that have no manifest, and where their terms come from. */
  readonly unlisted: readonly UnlistedProvider[];
}

export interface UnlistedProvider {
  readonly providerId: string;
  readonly termsFrom: "last_period" | "default";
}

export interface ClaimComparison {
  readonly theirPicoUsd: PicoUsd;
  readonly ourPicoUsd: PicoUsd;
  /** Null if the provider's statement has no lines. */
  readonly lines: ClaimLineCounts | null;
}

export interface ClaimLineCounts {
  readonly compared: number;
  readonly differing: number;
  /** Lines that the provider bills for attempts or requests that we do not know. */
  readonly onlyTheirs: number;
  /** Attempts that we owe for and the provider does not bill. */
  readonly onlyOurs: number;
  /** Lines that the provider bills for attempts whose end we did not observe. */
  readonly unknownClaimed: number;
}

export interface RecordedClaim extends ClaimComparison {
  readonly recordedAtMs: number;
}

/** Thrown if a settlement command was refused, for the reason in the message; nothing changed. */
export class SettlementFault extends Error {
  override readonly name = "SettlementFault";
  readonly kind:
    | "ref_taken"
    | "no_such_period"
    | "paid_before"
    | "nothing_to_pay"
    | "not_whole"
    | "not_put_back";

  constructor(kind: SettlementFault["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}
