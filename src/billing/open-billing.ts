import type { ConsoleConfig } from "../config/console-settings.ts";
import { parseUsd, type MicroUsd } from "../core/money.ts";
import type { Clock } from "../core/time.ts";
import type { Billing } from "./billing.ts";
import type { BillingLog } from "./billing-log.ts";
import { GrantedBilling } from "./granted-billing.ts";
import type { PurchaseStore } from "./purchase-store.ts";
import { StripeBilling } from "./stripe-billing.ts";
import type { StripeAccount } from "./stripe-payments.ts";

export interface BillingOptions {
  readonly config: Pick<
    ConsoleConfig,
    "stripeSecretKey" | "stripeWebhookSecret" | "stripeApiUrl" | "purchaseMinUsd" | "purchaseMaxUsd"
  >;
  /** A checkout with test money, instead of the account that the settings name. */
  readonly testCheckout?: {
    readonly url: string;
    readonly secretKey: string;
    readonly webhookSecret: string;
  };
  readonly store: PurchaseStore;
  /** Where people come back to from the checkout; asked at each purchase. */
  readonly consoleUrl: () => string;
  readonly clock: Clock;
  readonly log: BillingLog;
  /** For metrics: every event that was proven, by its type, and what came of it. */
  readonly onEvent?: (event: { readonly type: string; readonly result: "done" | "again" }) => void;
}

/** Credit for money. */
export interface OpenBilling extends Billing {
  /** Looks once after everything that nobody told the end of, whoever's turn it is. */
  lookAfterAll(): Promise<void>;
}

/** Throws when a setting is wrong, naming it. */
export function openBilling(options: BillingOptions): OpenBilling {
  const account = accountOf(options);
  const bounds = readBounds(options);
  return account === undefined
    ? new GrantedBilling(options.store, bounds)
    : new StripeBilling({ ...options, account, bounds });
}

function accountOf({ config, testCheckout }: BillingOptions): StripeAccount | undefined {
  if (testCheckout !== undefined) {
    const { url, secretKey, webhookSecret } = testCheckout;
    return { secretKey, webhookSecrets: [webhookSecret], apiUrl: url };
  }
  if (config.stripeSecretKey === "") return undefined;
  const webhookSecrets = config.stripeWebhookSecret
    .split(",")
    .map((secret) => secret.trim())
    .filter((secret) => secret !== "");
  return { secretKey: config.stripeSecretKey, webhookSecrets, apiUrl: config.stripeApiUrl };
}

export interface PurchaseBounds {
  readonly minMicroUsd: MicroUsd;
  readonly maxMicroUsd: MicroUsd;
}

/** What Stripe takes in one payment. */
const LEAST_USD = "0.50";
const MOST_USD = "999999.99";

function readBounds({ config }: BillingOptions): PurchaseBounds {
  const minMicroUsd = readAmount("billing.purchase_min_usd", config.purchaseMinUsd);
  const maxMicroUsd = readAmount("billing.purchase_max_usd", config.purchaseMaxUsd);
  if (minMicroUsd > maxMicroUsd) {
    throw new Error("billing.purchase_min_usd is above billing.purchase_max_usd");
  }
  return { minMicroUsd, maxMicroUsd };
}

function readAmount(setting: string, text: string): MicroUsd {
  const amount = parseUsd(text);
  const [least, most] = [parseUsd(LEAST_USD) ?? 0n, parseUsd(MOST_USD) ?? 0n];
  if (amount === undefined || amount < least || amount > most) {
    throw new Error(`${setting} must be dollars from ${LEAST_USD} to ${MOST_USD}, not ${text}`);
  }
  return amount;
}
