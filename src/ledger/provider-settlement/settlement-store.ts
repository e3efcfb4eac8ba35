import type { MicroUsd, PicoUsd, RequestId, Usage } from "../../kernel/index.ts";
import type { SettlementBasis } from "../ledger-store.ts";
import type { PlannedPeriod, SettlementLine, SettlementTerms } from "./settlement-plan.ts";

/** Names one period. */
export interface PeriodName {
  readonly providerId: string;
  readonly startMs: number;
}

/** A closed period: its figures never change again. */
export interface ProviderPeriod extends Omit<PlannedPeriod, "lines" | "afterMs"> {
  readonly providerId: string;
  readonly closedAtMs: number;
  /** Null: not paid yet. */
  readonly payment: { readonly ref: string; readonly paidAtMs: number } | null;
}

export interface SettlementStatement {
  readonly period: ProviderPeriod;
  readonly lines: readonly SettlementLine[];
  /** The provider's own statements, oldest first. */
  readonly claims: readonly RecordedClaim[];
}

/** One attempt as its period saw it: a later correction does not show in an earlier period. */
export interface SettlementEntry {
  readonly attemptId: bigint;
  readonly requestId: RequestId;
  readonly modelId: string;
  readonly upstreamModelId: string;
  readonly admittedAtMs: number;
  readonly closedAtMs: number;
  /** `lost`: the books lost it in a restore; its provider claims it. */
  readonly state: "settled" | "void" | "unknown_after_crash" | "lost";
  readonly basis: SettlementBasis | null;
  readonly usage: Usage | null;
  /** The debt to the provider; null: unknown. */
  readonly costPicoUsd: PicoUsd | null;
  readonly debitMicroUsd: MicroUsd;
  readonly overrunMicroUsd: MicroUsd;
  /** The platform's part of both; below 0 where the provider costs more. */
  readonly marginMicroUsd: MicroUsd;
  /** Admitted before the period, or corrected in it and unknown before it. */
  readonly isLate: boolean;
  /** Its end was observed after it had been charged as unknown. */
  readonly isCorrected: boolean;
}

/** The balance between the platform and a provider. */
export interface ProviderBalance {
  readonly providerId: string;
  /** Owed for what is in no closed period yet. */
  readonly accruedMicroUsd: MicroUsd;
  /** Owed for closed periods in arrears. */
  readonly payableMicroUsd: MicroUsd;
  /** Left of the deposits; below zero: more was used than was paid in. */
  readonly depositMicroUsd: MicroUsd;
  /** Charged to customers after crashes; the provider's claim is not known. */
  readonly unknownMicroUsd: MicroUsd;
  /** The platform's, of what customers paid; below zero where the provider costs more. */
  readonly marginMicroUsd: MicroUsd;
}

export interface ClosingRequest {
  /** Terms of the listed providers; others keep those of their last period. */
  readonly listed: ReadonlyMap<string, SettlementTerms>;
  /** Absent: every provider. */
  readonly providerId?: string;
  /** Absent, or in the future: the store's now. */
  readonly untilMs?: number;
}

export interface ClosingOutcome {
  /** Closed by this call, in order of provider and time. */
  readonly closed: readonly SettlementStatement[];
  /** Everything that ended before this instant stays as it is, permanently. */
  readonly throughMs: number;
  /** Providers of closed periods that are in no manifest, and where their terms are from. */
  readonly unlisted: readonly UnlistedProvider[];
}

export interface UnlistedProvider {
  readonly providerId: string;
  readonly termsFrom: "last_period" | "default";
}

/** The comparison of a provider's own statement with ours. */
export interface ClaimComparison {
  readonly theirPicoUsd: PicoUsd;
  readonly ourPicoUsd: PicoUsd;
  /** Null: their statement has no lines. */
  readonly lines: ClaimLineCounts | null;
}

export interface ClaimLineCounts {
  readonly compared: number;
  readonly differing: number;
  /** They bill what we do not know. */
  readonly onlyTheirs: number;
  /** We owe what they do not bill. */
  readonly onlyOurs: number;
  /** They bill attempts whose end we did not observe. */
  readonly unknownClaimed: number;
}

export interface RecordedClaim extends ClaimComparison {
  readonly recordedAtMs: number;
}

/** Why the books refuse: nothing changed. */
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
