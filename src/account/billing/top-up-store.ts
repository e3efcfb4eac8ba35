import {
  big,
  bool,
  columns,
  instantMs,
  integer,
  micro,
  type OrgId,
  orAbsent,
  type PauseReason,
  text,
  type RecordOf,
} from "../../kernel/index.ts";

export type TopUpTimes = Readonly<Record<"nowMs" | "monthMs", number>>;

const ruleProperties = {
  isOn: bool("is_on"),
  belowMicroUsd: micro("below"),
  /** A multiple of 10,000: the payment provider charges whole cents. */
  amountMicroUsd: micro("amount"),
  /** Limits the sum of all automatic purchases in a UTC month. */
  monthMaxMicroUsd: micro("month_max"),
};
export const ruleColumns = columns(ruleProperties);
/** When the settled balance is below `belowMicroUsd`, buy `amountMicroUsd`. */
export type TopUpRule = RecordOf<typeof ruleColumns>;

export const pauseColumns = columns({
  reason: text<PauseReason>("paused_reason"),
  sinceMs: instantMs("paused_at"),
});
export type TopUpPause = RecordOf<typeof pauseColumns>;

export const pausedColumns = columns({
  reason: text<PauseReason>("paused_reason"),
  count: integer("count"),
  oldestMs: instantMs("oldest"),
});
export type PausedTopUps = RecordOf<typeof pausedColumns>;

const cardColumns = columns({
  cardId: text("card_id"),
  brand: text("card_brand"),
  last4: text("card_last4"),
  expMonth: integer("card_exp_month"),
  expYear: integer("card_exp_year"),
});
export type SavedCard = RecordOf<typeof cardColumns>;
export type ShownCard = Omit<SavedCard, "cardId">;

export const stateColumns = columns({
  rule: orAbsent(ruleColumns),
  pause: orAbsent(pauseColumns),
  card: orAbsent(cardColumns),
  customerId: orAbsent(text("customer_id")),
  setupSessionId: orAbsent(text("setup_session_id")),
  monthMicroUsd: micro("month_sum"),
  hasOpenPurchase: bool("has_open"),
});
export type TopUpState = RecordOf<typeof stateColumns>;

export const chargeColumns = columns({
  purchaseId: text("purchase_id"),
  orgId: text<OrgId>("org_id"),
  cents: big("cents"),
  isTestMoney: bool("is_test_money"),
  customerId: text("customer_id"),
  cardId: text("card_id"),
  createdAtMs: instantMs("created_at"),
  isDecided: bool("is_decided"),
  /** True while the rule is on and the organization still has this card. */
  isWanted: bool("is_wanted"),
});
/** One automatic purchase, committed before its charge is sent. Repeats send the same charge. */
export type TopUpCharge = RecordOf<typeof chargeColumns>;

export const listedColumns = columns({
  orgId: text<OrgId>("org_id"),
  orgName: text("name"),
  ...ruleProperties,
  pause: orAbsent(pauseColumns),
  monthMicroUsd: micro("month_sum"),
});
export type ListedTopUp = RecordOf<typeof listedColumns>;

export function monthStartMs(nowMs: number): number {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
}
