import type { ChangedBy, ConsoleConfig, Clock, Logger, MicroUsd } from "../../kernel/index.ts";
import type { Billing } from "./billing.ts";
import type { Seller } from "./company.ts";
import type { RecoveredPayments } from "./recover-payments.ts";
import type { PurchaseStore } from "./postgres-purchase-store.ts";
import type { TopUpStore } from "./postgres-top-up-store.ts";

export interface BillingOptions {
  readonly config: Pick<
    ConsoleConfig,
    | "stripeSecretKey"
    | "stripeWebhookSecret"
    | "stripeApiUrl"
    | "purchaseMinUsd"
    | "purchaseMaxUsd"
    | "autoTopUp"
  >;
  /** The current secrets, read at each use. Default: those of `config`. */
  readonly secrets?: () => Pick<ConsoleConfig, "stripeSecretKey" | "stripeWebhookSecret">;
  /** A checkout with test money, instead of the account that the settings name. */
  readonly testCheckout?: {
    readonly url: string;
    readonly secretKey: string;
    readonly webhookSecret: string;
  };
  readonly store: PurchaseStore;
  readonly topUpStore: TopUpStore;
  /** The address to which people return from the checkout, read at each purchase. */
  readonly consoleUrl: () => string;
  /** Who sells, as receipts say it for ever. */
  readonly seller: () => Seller;
  readonly clock: Clock;
  readonly log: Logger;
}
/** Credit for money. */
export interface OpenBilling extends Billing {
  /** Checks once every purchase whose end was not reported, on whichever instance it is called. */
  reconcileAll(): Promise<void>;
  /** Starts and ends automatic purchases once, on whichever instance it is called. */
  topUpRound(): Promise<void>;
  /**
   * Everything the payment provider knows since an instant, into books that were restored; again
   * changes nothing. Rejects with `PurchaseFault` where there is no payment provider.
   */
  recover(sinceMs: number, by: ChangedBy): Promise<RecoveredPayments>;
}

export interface PurchaseBounds {
  readonly minMicroUsd: MicroUsd;
  readonly maxMicroUsd: MicroUsd;
}
