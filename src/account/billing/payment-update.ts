import type { MicroUsd, PauseReason } from "../../kernel/index.ts";

/** The payment provider's report about a checkout session, by an event or on request. */
export interface SessionUpdate {
  readonly sessionId: string;
  /** Null if the session does not belong to one of our purchases. */
  readonly purchaseId: string | null;
  readonly orgId: string | null;
  /** `processing`: the checkout is closed and the payment in progress; `open`: not paid yet. */
  readonly payment: "open" | "processing" | "paid" | "failed" | "expired" | "not_needed";
  readonly cents: bigint | null;
  readonly currency: string | null;
  readonly isLive: boolean;
  readonly paymentId: string | null;
  readonly receiptUrl: string | null;
  /** The name shown to people, such as `Visa 4242`; absent if it was not reported. */
  readonly method?: string | undefined;
  /** Set if the payer saved the card. */
  readonly card?: CardUpdate | undefined;
}

/** A card that was saved at a checkout of a customer of ours. */
export interface CardUpdate {
  readonly sessionId: string;
  readonly orgId: string;
  readonly customerId: string;
  readonly isLive: boolean;
  readonly openedAtMs: number;
  /** The object from which the card can be read. */
  readonly intent: { readonly kind: "setup" | "payment"; readonly id: string };
}

/** The payment provider's report about an automatic purchase, which has no checkout session. */
export interface ChargeUpdate {
  /** Describes the payment, in the form of a session. */
  readonly session: SessionUpdate;
  /** Why the payment failed; null if it did not. */
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
  /** `waits`: undecided, nothing was taken; `stands`: taken; `reversed`: returned for good. */
  readonly state: "waits" | "stands" | "reversed";
  /** True if the state is final. */
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
