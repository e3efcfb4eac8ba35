import {
  type MicroUsd,
  type PauseReason,
  big,
  bool,
  columns,
  type Columns,
  type ColumnsOf,
  instantMs,
  integer,
  micro,
  orNull,
  text,
} from "../../kernel/index.ts";
import type {
  ListedTopUp,
  PausedTopUps,
  TopUpCharge,
  TopUpPause,
  TopUpRule,
} from "./top-up-store.ts";

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
