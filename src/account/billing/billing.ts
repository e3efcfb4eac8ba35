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
  /** Paid, but not as ordered: an operator has to review it; nothing was granted. */
  | "parked";

/** The facts of a receipt, as they were when the purchase was paid. */
export interface ReceiptFacts {
  /** `R-000123`, without a gap among the receipts of its seller; `TEST-000123` for test money. */
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
  /** Undefined if none was made yet. */
  readonly rule: TopUpRule | undefined;
  /** Set while the rule is off until a person turns it on. */
  readonly pause: TopUpPause | undefined;
  readonly card: ShownCard | undefined;
  /** True if a checkout for a card was opened and its end is not known yet. */
  readonly isCardPending: boolean;
  /** Automatic purchases of this UTC month that were made or are pending. */
  readonly monthMicroUsd: MicroUsd;
  readonly hasOpenPurchase: boolean;
}

/** A rule that is not allowed; `field` is its name in the contract. */
export class TopUpFault extends Error {
  override readonly name = "TopUpFault";
  readonly field: "below_usd" | "amount_usd" | "month_max_usd" | "card";

  constructor(field: TopUpFault["field"], message: string) {
    super(message);
    this.field = field;
  }
}
