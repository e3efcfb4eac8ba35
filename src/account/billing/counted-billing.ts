import type { OpenBilling } from "./billing-mode.ts";
import type { PurchaseStore } from "./postgres-purchase-store.ts";

export type PurchaseEnd = "granted" | "failed" | "expired" | "parked";
export type WebhookResult = "taken" | "bad_signature" | "not_configured" | "failed";

/** Notes each purchase that ends here: once, however often it is reported. */
export function notingPurchases<T extends Pick<PurchaseStore, "grant" | "decide">>(
  store: T,
  note: (end: PurchaseEnd) => void,
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

/** Notes what became of each event of the payment provider. */
export function notingWebhooks<T extends Pick<OpenBilling, "webhook">>(
  billing: T,
  note: (result: WebhookResult) => void,
): T {
  const webhook = billing.webhook.bind(billing);
  return Object.assign(billing, {
    webhook: async (...asked: Parameters<OpenBilling["webhook"]>) => {
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
