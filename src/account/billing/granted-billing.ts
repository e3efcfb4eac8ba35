import type { MicroUsd, OrgId } from "../../kernel/index.ts";
import type { PurchaseBounds, OpenBilling } from "./billing-mode.ts";
import { PurchaseFault, type PurchaseRecord } from "./billing.ts";
import type { PurchaseStore } from "./postgres-purchase-store.ts";

/** Without a payment provider: operators grant credit, and what was bought once can be read. */
export class GrantedBilling implements OpenBilling {
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

  listPurchases(orgId: OrgId): Promise<readonly PurchaseRecord[]> {
    return this.#store.list(orgId);
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
    // Nothing changes by itself.
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
