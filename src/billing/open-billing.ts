import { type MicroUsd, parseUsd } from "../core/index.ts";
import type { BillingOptions, OpenBilling, PurchaseBounds } from "./billing-mode.ts";
import { GrantedBilling } from "./granted-billing.ts";
import { StripeBilling } from "./stripe-billing.ts";
import type { StripeAccount } from "./stripe-payments.ts";

/** Throws when a setting is wrong, naming it. */
export function openBilling(options: BillingOptions): OpenBilling {
  const account = accountOf(options);
  const bounds = readBounds(options);
  return account === undefined
    ? new GrantedBilling(options.store, bounds)
    : new StripeBilling({ ...options, account, bounds });
}

function accountOf(options: BillingOptions): StripeAccount | undefined {
  const { config, testCheckout, secrets = () => config } = options;
  if (testCheckout !== undefined) {
    const { url, secretKey, webhookSecret } = testCheckout;
    return { secretKey: () => secretKey, webhookSecrets: () => [webhookSecret], apiUrl: url };
  }
  if (config.stripeSecretKey === "") return undefined;
  return {
    secretKey: () => secrets().stripeSecretKey,
    webhookSecrets: () => secretsOf(secrets().stripeWebhookSecret),
    apiUrl: config.stripeApiUrl,
  };
}

function secretsOf(list: string): readonly string[] {
  return list
    .split(",")
    .map((secret) => secret.trim())
    .filter((secret) => secret !== "");
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
