import { parseUsd, splitList, ZERO_MICRO_USD } from "../../kernel/index.ts";
import { type PurchaseBounds, PurchaseFault } from "./billing.ts";
import { type Billing, type BillingOptions, StripeBilling } from "./stripe-billing.ts";
import type { StripeAccount } from "./stripe-payments.ts";
import type { PurchaseStore } from "./postgres-purchase-store.ts";
import type { TopUpStore } from "./postgres-top-up-store.ts";

export function openBilling(options: BillingOptions): Billing {
  const account = chooseAccount(options);
  const bounds = {
    minMicroUsd: parseUsd(options.config.purchaseMinUsd) ?? ZERO_MICRO_USD,
    maxMicroUsd: parseUsd(options.config.purchaseMaxUsd) ?? ZERO_MICRO_USD,
  };
  return account === undefined
    ? grantedBilling(options.store, bounds)
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
    webhookSecrets: () => splitList(secrets().stripeWebhookSecret),
    apiUrl: config.stripeApiUrl,
  };
}

/** Billing without a payment provider: operators grant credit; earlier purchases stay readable. */
function grantedBilling(store: PurchaseStore, bounds: PurchaseBounds): Billing {
  const refuse = (message: string) => (): Promise<never> =>
    Promise.reject(new PurchaseFault("not_configured", message));
  const nothing = (): Promise<undefined> => Promise.resolve(undefined);
  return {
    mode: "none",
    topUps: undefined,
    ...bounds,
    startPurchase: refuse(
      "credit cannot be bought here; ask the operator of this installation to add it",
    ),
    checkPurchase: (orgId, purchaseId) => store.findOwn(orgId, purchaseId),
    webhook: () => Promise.resolve("not_configured"),
    recover: refuse("no payment provider is configured; repeat grants under their references"),
    topUpPause: nothing,
    topUpRound: nothing,
    reconcileAll: nothing,
    start: () => undefined,
    close: nothing,
  };
}

/** Makes `store` call `note` when `grant` or `decide` ends a purchase, not when they repeat it. */
export function notingPurchases<T extends Pick<PurchaseStore, "grant" | "decide">>(
  store: T,
  note: (end: "granted" | "failed" | "expired" | "parked") => void,
): T {
  const grant = store.grant.bind(store);
  const decide = store.decide.bind(store);
  return Object.assign(store, {
    grant: async (...paid: Parameters<PurchaseStore["grant"]>): Promise<boolean> => {
      const isFirst = await grant(...paid);
      if (isFirst) note("granted");
      return isFirst;
    },
    decide: async (...decided: Parameters<PurchaseStore["decide"]>): Promise<boolean> => {
      const isNew = await decide(...decided);
      const [, state] = decided;
      if (isNew && state !== "pending") note(state);
      return isNew;
    },
  });
}

/** Makes `store` call `note` when `fail` ends a purchase that did not have that state before. */
export function notingTopUps<T extends Pick<TopUpStore, "fail">>(
  store: T,
  note: (end: "failed" | "parked") => void,
): T {
  const fail = store.fail.bind(store);
  return Object.assign(store, {
    fail: async (...failed: Parameters<TopUpStore["fail"]>): Promise<string | undefined> => {
      const was = await fail(...failed);
      const [, state] = failed;
      if (was !== undefined && was !== state) note(state);
      return was;
    },
  });
}

export function notingWebhooks<T extends Pick<Billing, "webhook">>(
  billing: T,
  note: (result: "taken" | "bad_signature" | "not_configured" | "failed") => void,
): T {
  const webhook = billing.webhook.bind(billing);
  return Object.assign(billing, {
    webhook: async (...asked: Parameters<Billing["webhook"]>) => {
      try {
        const outcome = await webhook(...asked);
        note(outcome === "done" ? "taken" : outcome);
        return outcome;
      } catch (fault) {
        note("failed");
        throw fault;
      }
    },
  });
}
