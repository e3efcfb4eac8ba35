import { Fault, type MicroUsd, type PauseReason } from "../../kernel/index.ts";
import type { Buyer, Seller } from "./company.ts";
import type { ShownCard, TopUpState } from "./top-up-store.ts";

/** Buyer and seller as they were when the purchase was credited; later changes alter no receipt. */
export interface ReceiptFacts {
  /** `R-000123`, numbered without a gap per seller; `TEST-000123` for test money. */
  readonly number: string;
  readonly buyer: Buyer;
  readonly seller: Seller;
}

/** `bad_amount`: out of bounds or not whole cents; `too_many`: too many in the last hour. */
export class PurchaseFault extends Fault {
  readonly kind: "bad_amount" | "too_many" | "not_configured" | "provider_failed";

  constructor(kind: PurchaseFault["kind"], message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

/** `monthMicroUsd`: this UTC month's automatic purchases, without those that failed or expired. */
export interface TopUpView extends Pick<
  TopUpState,
  "rule" | "pause" | "monthMicroUsd" | "hasOpenPurchase"
> {
  readonly card: ShownCard | undefined;
  /** True if a checkout that saves a card was opened and its outcome is not known yet. */
  readonly isCardPending: boolean;
}

/** `field` is the field of the console's API that makes the top-up rule invalid. */
export class TopUpFault extends Fault {
  readonly field: "below_usd" | "amount_usd" | "month_max_usd" | "card";

  constructor(field: TopUpFault["field"], message: string) {
    super(message);
    this.field = field;
  }
}

export type PurchaseBounds = Readonly<Record<"minMicroUsd" | "maxMicroUsd", MicroUsd>>;

/** The payment provider's report about a checkout session, from an event or in reply to a query. */
export interface SessionUpdate {
  readonly sessionId: string;
  /** Null if the session names no purchase. A named purchase may be unknown to this program. */
  readonly purchaseId: string | null;
  readonly orgId: string | null;
  /** `processing`: the checkout is closed and the payment in progress; `open`: not paid yet. */
  readonly payment: "open" | "processing" | "paid" | "failed" | "expired" | "not_needed";
  readonly cents: bigint | null;
  readonly currency: string | null;
  readonly isLive: boolean;
  readonly paymentId: string | null;
  readonly receiptUrl: string | null;
  /** The payment method for people, such as `Visa 4242`; absent if the provider named none. */
  readonly method?: string | undefined;
  readonly card?: CardUpdate | undefined;
}

export interface FoundCheckout {
  readonly session: SessionUpdate;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

export interface CardUpdate {
  readonly sessionId: string;
  readonly orgId: string;
  readonly customerId: string;
  readonly isLive: boolean;
  readonly openedAtMs: number;
  readonly intent: { readonly kind: "setup" | "payment"; readonly id: string };
}

/** The payment provider's report about an automatic purchase, which has no checkout session. */
export interface ChargeUpdate {
  /** The payment in the form of a checkout session; `sessionId` is the id of the payment. */
  readonly session: SessionUpdate;
  readonly failure: PauseReason | null;
  readonly customerId: string | null;
  readonly cardId: string | null;
  readonly createdAtMs: number;
}

export interface ClaimUpdate {
  readonly claimId: string;
  readonly kind: "refund" | "dispute";
  readonly paymentId: string;
  readonly amountMicroUsd: MicroUsd;
  /** Only a claim that `stands` takes its amount from the wallet; a `reversed` claim returns it. */
  readonly state: "waits" | "stands" | "reversed";
  /** True if the payment provider will not change the state any more. */
  readonly isOver: boolean;
}

export type PaymentUpdate =
  | { readonly kind: "session"; readonly session: SessionUpdate }
  | { readonly kind: "card"; readonly card: CardUpdate }
  | { readonly kind: "charge"; readonly charge: ChargeUpdate }
  | { readonly kind: "claim"; readonly claim: ClaimUpdate }
  /** An event that belongs to no purchase, or changes none. */
  | { readonly kind: "other" };

export interface PaymentEvent {
  readonly eventId: string;
  readonly type: string;
  readonly update: PaymentUpdate;
}
