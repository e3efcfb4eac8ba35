import { parseUsd, ZERO_MICRO_USD } from "../../kernel/index.ts";
import type { BillingOptions } from "./billing-mode.ts";
import { GrantedBilling } from "./granted-billing.ts";
import { type Billing, StripeBilling } from "./stripe-billing.ts";
import type { StripeAccount } from "./stripe-payments.ts";

export function openBilling(options: BillingOptions): Billing {
  const account = chooseAccount(options);
  const bounds = {
    minMicroUsd: parseUsd(options.config.purchaseMinUsd) ?? ZERO_MICRO_USD,
    maxMicroUsd: parseUsd(options.config.purchaseMaxUsd) ?? ZERO_MICRO_USD,
  };
  return account === undefined
    ? new GrantedBilling(options.store, bounds)
    : new StripeBilling({ ...options, account, bounds });
}

function chooseAccount(options: BillingOptions): StripeAccount | undefined {
  const { config, testCheckout, secrets = () => config } = options;
  if (testCheckout !== undefined) {
    const { url, secretKey, webhookSecret } = testCheckout;
    return { secretKey: () => secretKey, webhookSecrets: () => [webhookSecret], apiUrl: url };
  }
  if (config.stripeSecretKey === "") return undefined;
  return {
    secretKey: () => secrets().stripeSecretKey,
    webhookSecrets: () => splitSecrets(secrets().stripeWebhookSecret),
    apiUrl: config.stripeApiUrl,
  };
}

function splitSecrets(list: string): readonly string[] {
  return list
    .split(",")
    .map((secret) => secret.trim())
    .filter((secret) => secret !== "");
}
