import type { MicroUsd, OrgId } from "../../kernel/index.ts";
import type { PurchaseRecord } from "./billing.ts";

export interface NewPurchase {
  readonly purchaseId: string;
  readonly orgId: OrgId;
  /** Whole cents. */
  readonly amountMicroUsd: MicroUsd;
  readonly isTestMoney: boolean;
  readonly nowMs: number;
  readonly expiresAtMs: number;
  /** With so many purchases of the organization since `countedFromMs` there is no other. */
  readonly purchasesMax: number;
  readonly countedFromMs: number;
}

/** A purchase as its checkout has it; the organization may not exist any more. */
export interface RecoveredPurchase {
  readonly purchaseId: string;
  readonly orgId: string;
  readonly amountMicroUsd: MicroUsd;
  readonly isTestMoney: boolean;
  /** Null: it was paid without a checkout. */
  readonly sessionId: string | null;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

/** A purchase as the payment provider's events are compared with it. */
export interface KnownPurchase extends PurchaseRecord {
  readonly cents: bigint;
  readonly sessionId: string | null;
  readonly expiresAtMs: number;
}

/** A purchase that waits for a person or for a bank. */
export interface WaitingPurchase extends Omit<PurchaseRecord, "state"> {
  readonly state: "parked" | "pending";
  /** Credit was granted by hand, with the id of the purchase as the reference. */
  readonly isGrantedByHand: boolean;
}

/** What became of a purchase without money. */
export type UngrantedState = "pending" | "failed" | "expired" | "parked";

/** Money that a payer or a bank took back, or wants to. */
export interface PurchaseClaim {
  /** Of the refund or the dispute at the payment provider. */
  readonly claimId: string;
  readonly purchaseId: string;
  readonly kind: "refund" | "dispute";
  readonly amountMicroUsd: MicroUsd;
  /** The refund failed, the dispute was won: what it took is returned. */
  readonly isReversed: boolean;
  /** Nothing more will come of it. */
  readonly isOver: boolean;
}

export interface OpenClaim {
  readonly claimId: string;
  readonly kind: "refund" | "dispute";
}
