import type { MicroUsd } from "../../kernel/index.ts";
import type { Buyer, Seller } from "./company.ts";
import type { ShownCard, TopUpPause, TopUpRule } from "./top-up-store.ts";

export type PurchaseState =
  | "created"
  | "pending"
  | "paid"
  | "partly_refunded"
  | "refunded"
  | "disputed"
  | "failed"
  | "expired"
  /** Paid, but not as ordered. No credit was granted; an operator has to review it. */
  | "parked";

/** The parties as they were when the purchase was paid; later changes do not alter a receipt. */
export interface ReceiptFacts {
  /** `R-000123`, numbered without a gap per seller; `TEST-000123` for test money. */
  readonly number: string;
  readonly buyer: Buyer;
  readonly seller: Seller;
}

/**
 * `bad_amount`: outside the bounds, or not in whole cents; `too_many`: the organization started too
 * many purchases in the last hour.
 */
export class PurchaseFault extends Error {
  override readonly name = "PurchaseFault";
  readonly kind: "bad_amount" | "too_many" | "not_configured" | "provider_failed";

  constructor(kind: PurchaseFault["kind"], message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

export interface TopUpView {
  readonly rule: TopUpRule | undefined;
  /** Set while the rule is paused: it is off until a person turns it on again. */
  readonly pause: TopUpPause | undefined;
  readonly card: ShownCard | undefined;
  /** True if a checkout that saves a card was opened and its outcome is not known yet. */
  readonly isCardPending: boolean;
  /** Automatic purchases of this UTC month that were made or are pending. */
  readonly monthMicroUsd: MicroUsd;
  readonly hasOpenPurchase: boolean;
}

/** `field` is the contract's field that makes the rule invalid. */
export class TopUpFault extends Error {
  override readonly name = "TopUpFault";
  readonly field: "below_usd" | "amount_usd" | "month_max_usd" | "card";

  constructor(field: TopUpFault["field"], message: string) {
    super(message);
    this.field = field;
  }
}
