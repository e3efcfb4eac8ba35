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
  /** Called at each use, so that a secret can be replaced without a restart. Default: `config`. */
  readonly secrets?: () => Pick<ConsoleConfig, "stripeSecretKey" | "stripeWebhookSecret">;
  /** If set, this test checkout replaces the Stripe account of `config`. */
  readonly testCheckout?: {
    readonly url: string;
    readonly secretKey: string;
    readonly webhookSecret: string;
  };
  readonly store: PurchaseStore;
  readonly topUpStore: TopUpStore;
  /** Called at each purchase, for the console address to which payers return. */
  readonly consoleUrl: () => string;
  readonly seller: () => Seller;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface PurchaseBounds {
  readonly minMicroUsd: MicroUsd;
  readonly maxMicroUsd: MicroUsd;
}
