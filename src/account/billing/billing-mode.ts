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
  /** The present secrets, read at each use. Default: those of `config`. */
  readonly secrets?: () => Pick<ConsoleConfig, "stripeSecretKey" | "stripeWebhookSecret">;
  /** A test checkout, used instead of the account that the settings name. */
  readonly testCheckout?: {
    readonly url: string;
    readonly secretKey: string;
    readonly webhookSecret: string;
  };
  readonly store: PurchaseStore;
  readonly topUpStore: TopUpStore;
  /** The console's address, to which people return from the checkout; read at each purchase. */
  readonly consoleUrl: () => string;
  /** The seller, as receipts keep it permanently. */
  readonly seller: () => Seller;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface PurchaseBounds {
  readonly minMicroUsd: MicroUsd;
  readonly maxMicroUsd: MicroUsd;
}
