import type { ConsoleConfig, Clock, Logger, MicroUsd } from "../../kernel/index.ts";
import type { Seller } from "./company.ts";
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

export interface PurchaseBounds {
  readonly minMicroUsd: MicroUsd;
  readonly maxMicroUsd: MicroUsd;
}
