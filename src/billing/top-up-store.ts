import type { ChangedBy } from "../changes/index.ts";
import type { MicroUsd, OrgId, PauseReason } from "../core/index.ts";

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

/** Cards, rules and automatic purchases. Each verb is one transaction. */
export interface TopUpStore {
  read(orgId: OrgId, isTestMoney: boolean, monthMs: number): Promise<TopUpState>;
  /** Undefined: not paused. */
  pauseOf(orgId: OrgId): Promise<TopUpPause | undefined>;
  /** Waits for a purchase that is being decided; a rule that is turned on is paused no more. */
  setRule(orgId: OrgId, rule: TopUpRule, by: ChangedBy): Promise<void>;
  /** Turns the rule off until a person turns it on; false: it was off, or there is none. */
  pause(orgId: OrgId, reason: PauseReason, by: ChangedBy): Promise<boolean>;
  /** Keeps the organization's customer at the payment provider; one that replaces another has no card. */
  keepCustomer(orgId: OrgId, isTestMoney: boolean, customerId: string): Promise<void>;
  beginSetup(orgId: OrgId, isTestMoney: boolean, sessionId: string): Promise<void>;
  endSetup(orgId: string, isTestMoney: boolean, sessionId: string): Promise<void>;
  /** False: of another customer, or of a checkout that is not newer than the last one taken. */
  saveCard(
    saved: {
      readonly orgId: string;
      readonly isTestMoney: boolean;
      readonly customerId: string;
      readonly card: SavedCard;
      /** When the checkout was opened. */
      readonly fromMs: number;
      readonly nowMs: number;
    },
    by: ChangedBy,
  ): Promise<boolean>;
  /** Turns the rule off, and has the card detached; false: there was none. */
  removeCard(orgId: OrgId, isTestMoney: boolean, by: ChangedBy): Promise<boolean>;
  /** Cards to detach, those that were not tried lately. */
  takeDetachments(isTestMoney: boolean, limit: number): Promise<readonly string[]>;
  endDetachment(cardId: string): Promise<void>;
  /** Organizations whose rule asks for a purchase now. */
  due(isTestMoney: boolean, times: TopUpTimes, limit: number): Promise<readonly OrgId[]>;
  /**
   * Decides under the rule's lock: undefined where nothing is due any more. What it answers is
   * committed, and nothing was sent yet.
   */
  begin(
    wanted: {
      readonly orgId: OrgId;
      readonly purchaseId: string;
      readonly isTestMoney: boolean;
      readonly minMicroUsd: MicroUsd;
      readonly maxMicroUsd: MicroUsd;
      readonly expiresAtMs: number;
    } & TopUpTimes,
    by: ChangedBy,
  ): Promise<TopUpCharge | undefined>;
  /** Undecided automatic purchases that were not asked about since `beforeMs`. */
  takeOpen(asked: {
    readonly isTestMoney: boolean;
    readonly beforeMs: number;
    readonly nowMs: number;
    readonly limit: number;
  }): Promise<readonly TopUpCharge[]>;
  /** Undefined: not an automatic purchase. */
  charge(purchaseId: string): Promise<TopUpCharge | undefined>;
  /** Makes a purchase that was recovered automatic again; again changes nothing. */
  recover(made: {
    readonly purchaseId: string;
    readonly customerId: string;
    readonly cardId: string;
  }): Promise<void>;
  /** The charge failed: the purchase ends and its rule is paused, once. */
  fail(
    purchaseId: string,
    state: "failed" | "parked",
    reason: PauseReason,
    by: ChangedBy,
  ): Promise<boolean>;
  /** For operators: paused rules by their reason, the longest paused first. */
  paused(): Promise<readonly PausedTopUps[]>;
  /** For operators: paused ones first. */
  list(monthMs: number, limit: number): Promise<readonly ListedTopUp[]>;
}
