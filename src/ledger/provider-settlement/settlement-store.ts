import { Fault, type RecordOf } from "../../kernel/index.ts";
import type { SettlementLine, SettlementTerms } from "./settlement-plan.ts";
import type { claimColumns, ProviderPeriod } from "./settlement-rows.ts";

export interface PeriodName {
  readonly providerId: string;
  readonly startMs: number;
}

export function describePeriod({ providerId, startMs }: PeriodName): string {
  return `the period of ${providerId} from ${new Date(startMs).toISOString()}`;
}

export interface SettlementStatement {
  readonly period: ProviderPeriod;
  readonly lines: readonly SettlementLine[];
  /** The provider's own statements, oldest first. */
  readonly claims: readonly RecordOf<typeof claimColumns>[];
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

/** Thrown if a settlement command was refused, for the reason in the message; nothing changed. */
export class SettlementFault extends Fault {
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
