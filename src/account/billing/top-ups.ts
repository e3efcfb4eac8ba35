import type { ChangedBy, MicroUsd, OrgId } from "../../kernel/index.ts";
import type { ShownCard, TopUpPause, TopUpRule } from "./top-up-store.ts";

/** Automatic top-up of one organization, as its owner sees it. */
export interface TopUpView {
  /** Undefined: none was made yet. */
  readonly rule: TopUpRule | undefined;
  /** The rule is off until a person turns it on. */
  readonly pause: TopUpPause | undefined;
  readonly card: ShownCard | undefined;
  /** A checkout for a card was opened, and its end is not known yet. */
  readonly isCardPending: boolean;
  /** Automatic purchases of this UTC month that were made or are pending. */
  readonly monthMicroUsd: MicroUsd;
  /** One is in progress. */
  readonly hasOpenPurchase: boolean;
}

/** A rule that cannot be; the field is the contract's. */
export class TopUpFault extends Error {
  override readonly name = "TopUpFault";
  readonly field: "below_usd" | "amount_usd" | "month_max_usd" | "card";

  constructor(field: TopUpFault["field"], message: string) {
    super(message);
    this.field = field;
  }
}

/** Buying credit automatically with a saved card. */
export interface TopUps {
  read(orgId: OrgId): Promise<TopUpView>;
  /** Rejects with `TopUpFault`. A rule that is turned on is paused no more. */
  setRule(orgId: OrgId, rule: TopUpRule, by: ChangedBy): Promise<void>;
  /** A page of the payment provider that saves a card; rejects with `PurchaseFault`. */
  openCardCheckout(orgId: OrgId): Promise<{ readonly checkoutUrl: string }>;
  /** Turns the rule off too. False: there is no card. */
  removeCard(orgId: OrgId, by: ChangedBy): Promise<boolean>;
}
