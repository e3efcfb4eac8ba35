import {
  big,
  bool,
  type Columns,
  columns,
  type ColumnsOf,
  instantMs,
  integer,
  micro,
  type MicroUsd,
  type OrgId,
  orNull,
  type PauseReason,
  text,
} from "../../kernel/index.ts";

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

/** The details of a card that may be shown. */
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

/** A rule as operators see it. */
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

const ruleProperties: ColumnsOf<TopUpRule> = {
  isOn: bool("is_on"),
  belowMicroUsd: micro("below"),
  amountMicroUsd: micro("amount"),
  monthMaxMicroUsd: micro("month_max"),
};

export const ruleColumns: Columns<TopUpRule> = columns(ruleProperties);

export const pauseColumns: Columns<TopUpPause> = columns({
  reason: text("paused_reason"),
  sinceMs: instantMs("paused_at"),
});

export const pausedColumns: Columns<PausedTopUps> = columns({
  reason: text("paused_reason"),
  count: integer("count"),
  oldestMs: instantMs("oldest"),
});

export interface StateRow {
  readonly isOn: boolean | null;
  readonly belowMicroUsd: MicroUsd | null;
  readonly amountMicroUsd: MicroUsd | null;
  readonly monthMaxMicroUsd: MicroUsd | null;
  readonly pausedAtMs: number | null;
  readonly pausedReason: PauseReason | null;
  readonly customerId: string | null;
  readonly cardId: string | null;
  readonly brand: string | null;
  readonly last4: string | null;
  readonly expMonth: number | null;
  readonly expYear: number | null;
  readonly setupSessionId: string | null;
  readonly monthMicroUsd: MicroUsd;
  readonly hasOpenPurchase: boolean;
}

export const stateColumns: Columns<StateRow> = columns({
  isOn: orNull(bool("is_on")),
  belowMicroUsd: orNull(micro("below")),
  amountMicroUsd: orNull(micro("amount")),
  monthMaxMicroUsd: orNull(micro("month_max")),
  pausedAtMs: orNull(instantMs("paused_at")),
  pausedReason: orNull(text("paused_reason")),
  customerId: orNull(text("customer_id")),
  cardId: orNull(text("card_id")),
  brand: orNull(text("card_brand")),
  last4: orNull(text("card_last4")),
  expMonth: orNull(integer("card_exp_month")),
  expYear: orNull(integer("card_exp_year")),
  setupSessionId: orNull(text("setup_session_id")),
  monthMicroUsd: micro("month_sum"),
  hasOpenPurchase: bool("has_open"),
});

export const chargeColumns: Columns<TopUpCharge> = columns({
  purchaseId: text("purchase_id"),
  orgId: text("org_id"),
  cents: big("cents"),
  isTestMoney: bool("is_test_money"),
  customerId: text("customer_id"),
  cardId: text("card_id"),
  createdAtMs: instantMs("created_at"),
  isDecided: bool("is_decided"),
  isWanted: bool("is_wanted"),
});

interface ListedRow extends Omit<ListedTopUp, "pause"> {
  readonly pausedAtMs: number | null;
  readonly pausedReason: PauseReason | null;
}

export const listedColumns: Columns<ListedRow> = columns({
  orgId: text("org_id"),
  orgName: text("name"),
  ...ruleProperties,
  pausedAtMs: orNull(instantMs("paused_at")),
  pausedReason: orNull(text("paused_reason")),
  monthMicroUsd: micro("month_sum"),
});

/** The beginning of the UTC month. */
export function monthStartMs(nowMs: number): number {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
}
