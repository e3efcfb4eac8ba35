import type { MicroUsd, OrgId } from "../kernel/index.ts";

export interface Balance {
  /** Credits minus debits, minus what refunds and disputes took beyond them: may be below zero. */
  readonly settledMicroUsd: MicroUsd;
  /** Reserves in flight. */
  readonly heldMicroUsd: MicroUsd;
}

export interface MonthSpend {
  readonly spentMicroUsd: MicroUsd;
  readonly inFlightMicroUsd: MicroUsd;
  readonly capMicroUsd: MicroUsd | null;
  readonly resetAtMs: number;
}

/** The same of a key's cap by the day or the week. */
export interface PeriodSpend extends MonthSpend {
  readonly keyId: string;
  readonly period: "week" | "day";
  readonly capMicroUsd: MicroUsd;
}

/** What is known of an organization's money without holding any. */
export interface SpendReads {
  balance(orgId: OrgId): Promise<Balance>;
  monthSpend(orgId: OrgId, keyId?: string): Promise<MonthSpend>;
  /** Of the caps by the week and by the day that a key has, in this order; absent: of all keys. */
  periodSpend(orgId: OrgId, keyId?: string): Promise<readonly PeriodSpend[]>;
}
