import type { MicroUsd, OrgId } from "../core/index.ts";

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

/** What is known of an organization's money without holding any. */
export interface SpendReads {
  balance(orgId: OrgId): Promise<Balance>;
  monthSpend(orgId: OrgId, keyId?: string): Promise<MonthSpend>;
}
