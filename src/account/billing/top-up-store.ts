import type { MicroUsd, OrgId, PauseReason } from "../../kernel/index.ts";

/** When the settled balance is below `belowMicroUsd`, buy `amountMicroUsd`. */
export interface TopUpRule {
  readonly isOn: boolean;
  readonly belowMicroUsd: MicroUsd;
  /** Whole cents. */
  readonly amountMicroUsd: MicroUsd;
  /** All automatic purchases of a UTC month together are at most this. */
  readonly monthMaxMicroUsd: MicroUsd;
}

export interface TopUpPause {
  readonly reason: PauseReason;
  readonly sinceMs: number;
}

/** What is shown of a card. */
export interface ShownCard {
  readonly brand: string;
  readonly last4: string;
  readonly expMonth: number;
  readonly expYear: number;
}

export interface SavedCard extends ShownCard {
  readonly cardId: string;
}

/** Everything there is of one organization. */
export interface TopUpState {
  readonly rule: TopUpRule | undefined;
  readonly pause: TopUpPause | undefined;
  readonly card: SavedCard | undefined;
  readonly customerId: string | undefined;
  readonly setupSessionId: string | undefined;
  /** Automatic purchases of this UTC month that were made or are pending. */
  readonly monthMicroUsd: MicroUsd;
  readonly hasOpenPurchase: boolean;
}

/** One automatic purchase: committed before it is sent, and the same each time it is sent. */
export interface TopUpCharge {
  readonly purchaseId: string;
  readonly orgId: OrgId;
  readonly cents: bigint;
  readonly isTestMoney: boolean;
  readonly customerId: string;
  readonly cardId: string;
  readonly createdAtMs: number;
  readonly isDecided: boolean;
  /** The rule is on, and the card is still the organization's. */
  readonly isWanted: boolean;
}

/** What operators see of rules. */
export interface ListedTopUp extends TopUpRule {
  readonly orgId: OrgId;
  readonly orgName: string;
  readonly pause: TopUpPause | undefined;
  readonly monthMicroUsd: MicroUsd;
}

/** Rules that are paused for one reason. */
export interface PausedTopUps {
  readonly reason: PauseReason;
  readonly count: number;
  readonly oldestMs: number;
}

export interface TopUpTimes {
  readonly nowMs: number;
  /** The beginning of the UTC month. */
  readonly monthMs: number;
}
