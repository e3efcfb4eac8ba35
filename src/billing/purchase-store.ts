import type { ChangedBy } from "../changes/index.ts";
import type { MicroUsd, OrgId } from "../core/index.ts";
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

/**
 * Purchases, and the movements of money that come of them. Each verb is one transaction; what is
 * reported twice, at once or in another order changes the books once.
 */
export interface PurchaseStore {
  /** `too_many`: the organization began as many as it may; nothing was written. */
  create(purchase: NewPurchase, by: ChangedBy): Promise<"created" | "too_many">;
  /** The checkout session that the purchase is paid in. */
  attachSession(purchaseId: string, sessionId: string): Promise<void>;
  /**
   * Makes a purchase again that was lost in a restore. `known`: it is there, and is left as it is;
   * `unknown_org`: nothing was written.
   */
  recover(
    purchase: RecoveredPurchase,
    by: ChangedBy,
  ): Promise<"recovered" | "known" | "unknown_org">;
  /** Newest first, a thousand at most. */
  list(orgId: OrgId): Promise<readonly PurchaseRecord[]>;
  /** Of all organizations, for operators: parked ones without a grant first, then the newest. */
  listWaiting(limit: number): Promise<readonly WaitingPurchase[]>;
  /** Undefined: the organization has no such purchase. */
  findOwn(orgId: OrgId, purchaseId: string): Promise<KnownPurchase | undefined>;
  /** For events of the payment provider, which name no organization. */
  find(purchaseId: string): Promise<KnownPurchase | undefined>;
  findByPayment(paymentId: string): Promise<KnownPurchase | undefined>;
  /** Credits the wallet once; true: this call did it. What waits for the grant is applied. */
  grant(paid: {
    readonly purchaseId: string;
    readonly paymentId: string | null;
    readonly receiptUrl: string | null;
  }): Promise<boolean>;
  /** Never takes back a grant, and never goes from an end to `pending`; true: it changed. */
  decide(purchaseId: string, state: UngrantedState): Promise<boolean>;
  /**
   * Takes what is claimed, or returns what was taken. All claims of a purchase together never
   * take more than it gave. True: this claim was not known before.
   */
  claim(claim: PurchaseClaim): Promise<boolean>;
  /** What the organization owes: above zero only while its wallet has nothing free. */
  owed(orgId: OrgId): Promise<MicroUsd>;
  /**
   * Undecided, or granted without a receipt, since `sinceMs`: those first that were not checked
   * yet.
   */
  takeUnfinished(asked: {
    readonly beforeMs: number;
    readonly sinceMs: number;
    readonly nowMs: number;
    readonly limit: number;
  }): Promise<readonly KnownPurchase[]>;
  /** Claims that may still end otherwise; those first that were not checked yet. */
  takeOpenClaims(asked: {
    readonly sinceMs: number;
    readonly nowMs: number;
    readonly limit: number;
  }): Promise<readonly OpenClaim[]>;
  isEventDone(eventId: string): Promise<boolean>;
  markEventDone(event: { readonly eventId: string; readonly kind: string }): Promise<void>;
  forgetEvents(beforeMs: number): Promise<void>;
  /** True for one process in `everyMs`. */
  claimRun(name: string, nowMs: number, everyMs: number): Promise<boolean>;
  /** Granted purchases without real money, and the first organizations that have some. */
  testMoney(): Promise<{ readonly purchases: number; readonly orgIds: readonly OrgId[] }>;
}
