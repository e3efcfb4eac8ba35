import type { MicroUsd, OrgId } from "../../kernel/index.ts";
import type { PurchaseBounds } from "./billing-mode.ts";
import { PurchaseFault } from "./billing.ts";
import type { PurchaseStore } from "./postgres-purchase-store.ts";
import type { PurchaseRecord } from "./purchase-store.ts";
import type { Billing } from "./stripe-billing.ts";

/** Billing without a payment provider: operators grant credit; earlier purchases stay readable. */
export class GrantedBilling implements Billing {
  readonly mode = "none";
  readonly topUps = undefined;
  readonly minMicroUsd: MicroUsd;
  readonly maxMicroUsd: MicroUsd;
  readonly #store: PurchaseStore;

  constructor(store: PurchaseStore, bounds: PurchaseBounds) {
    this.#store = store;
    this.minMicroUsd = bounds.minMicroUsd;
    this.maxMicroUsd = bounds.maxMicroUsd;
  }

  startPurchase(): Promise<never> {
    const message = "credit cannot be bought here; ask the operator of this installation to add it";
    return Promise.reject(new PurchaseFault("not_configured", message));
  }

  listPurchases(orgId: OrgId, max?: null): Promise<readonly PurchaseRecord[]> {
    return this.#store.list(orgId, max);
  }

  findPurchase(orgId: OrgId, purchaseId: string): Promise<PurchaseRecord | undefined> {
    return this.#store.findOwn(orgId, purchaseId);
  }

  checkPurchase(orgId: OrgId, purchaseId: string): Promise<PurchaseRecord | undefined> {
    return this.#store.findOwn(orgId, purchaseId);
  }

  owed(orgId: OrgId): Promise<MicroUsd> {
    return this.#store.owed(orgId);
  }

  topUpPause(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  topUpRound(): Promise<void> {
    return Promise.resolve();
  }

  webhook(): Promise<"not_configured"> {
    return Promise.resolve("not_configured");
  }

  start(): void {
    // Without a payment provider there is nothing to poll.
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  reconcileAll(): Promise<void> {
    return Promise.resolve();
  }

  recover(): Promise<never> {
    const message = "no payment provider is configured; repeat grants under their references";
    return Promise.reject(new PurchaseFault("not_configured", message));
  }
}

export type PurchaseEnd = "granted" | "failed" | "expired" | "parked";
export type WebhookResult = "taken" | "bad_signature" | "not_configured" | "failed";

/** Makes `store` call `note` once for each end of a purchase, however often it is reported. */
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

export function notingWebhooks<T extends Pick<Billing, "webhook">>(
  billing: T,
  note: (result: WebhookResult) => void,
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
