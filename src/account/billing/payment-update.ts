import type { MicroUsd, PauseReason } from "../../kernel/index.ts";

/** The payment provider's report about a checkout session, by an event or on request. */
export interface SessionUpdate {
  readonly sessionId: string;
  /** Null if the session belongs to no purchase of this installation. */
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
  /**
   * `waits`: undecided, no credit is taken; `stands`: the amount is taken from the wallet;
   * `reversed`: it is returned to the wallet.
   */
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
