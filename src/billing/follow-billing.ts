import type { ChangedBy } from "../changes/index.ts";
import type { LiveConfig } from "../config/index.ts";
import type { BillingOptions, OpenBilling } from "./billing-mode.ts";
import { PurchaseFault } from "./billing.ts";
import { openBilling } from "./open-billing.ts";
import type { RecoveredPayments } from "./recover-payments.ts";
import type { TopUps } from "./top-ups.ts";

const NAMES = [
  "stripeSecretKey",
  "stripeWebhookSecret",
  "stripeApiUrl",
  "purchaseMinUsd",
  "purchaseMaxUsd",
  "autoTopUp",
] as const;

/** Opens billing, and opens it anew when its settings change. Throws when one is wrong. */
export function followBilling(
  options: Omit<BillingOptions, "config">,
  live: LiveConfig,
): OpenBilling {
  const billing = new FollowingBilling(openBilling({ ...options, config: live.current }));
  live.follow(NAMES, (config) => {
    const next = openBilling({ ...options, config });
    return () => billing.replace(next);
  });
  return billing;
}

/** Everything goes to the one of the moment. One that was replaced ends what it has begun. */
class FollowingBilling implements OpenBilling {
  #current: OpenBilling;
  /** Calls under way, by whom they were begun with. */
  readonly #underWay = new Map<OpenBilling, Set<Promise<unknown>>>();
  readonly #closing = new Set<Promise<void>>();
  #isStarted = false;

  constructor(first: OpenBilling) {
    this.#current = first;
  }

  get mode(): OpenBilling["mode"] {
    return this.#current.mode;
  }

  get minMicroUsd(): OpenBilling["minMicroUsd"] {
    return this.#current.minMicroUsd;
  }

  get maxMicroUsd(): OpenBilling["maxMicroUsd"] {
    return this.#current.maxMicroUsd;
  }

  replace(next: OpenBilling): void {
    const replaced = this.#current;
    this.#current = next;
    if (this.#isStarted) next.start();
    const closing = this.#closeIdle(replaced).catch(() => undefined);
    this.#closing.add(closing);
    void closing.then(() => this.#closing.delete(closing));
  }

  startPurchase(
    wanted: Parameters<OpenBilling["startPurchase"]>[0],
    by: ChangedBy,
  ): ReturnType<OpenBilling["startPurchase"]> {
    return this.#begin((billing) => billing.startPurchase(wanted, by));
  }

  listPurchases(
    orgId: Parameters<OpenBilling["listPurchases"]>[0],
  ): ReturnType<OpenBilling["listPurchases"]> {
    return this.#begin((billing) => billing.listPurchases(orgId));
  }

  checkPurchase(
    ...asked: Parameters<OpenBilling["checkPurchase"]>
  ): ReturnType<OpenBilling["checkPurchase"]> {
    return this.#begin((billing) => billing.checkPurchase(...asked));
  }

  owed(orgId: Parameters<OpenBilling["owed"]>[0]): ReturnType<OpenBilling["owed"]> {
    return this.#begin((billing) => billing.owed(orgId));
  }

  webhook(asked: Parameters<OpenBilling["webhook"]>[0]): ReturnType<OpenBilling["webhook"]> {
    return this.#begin((billing) => billing.webhook(asked));
  }

  get topUps(): TopUps | undefined {
    return this.#current.topUps === undefined ? undefined : this.#topUps;
  }

  /** One that was replaced by one without automatic top-up in between refuses. */
  readonly #topUps: TopUps = {
    read: (...asked) => this.#beginTopUp((topUps) => topUps.read(...asked)),
    setRule: (...asked) => this.#beginTopUp((topUps) => topUps.setRule(...asked)),
    openCardCheckout: (...asked) => this.#beginTopUp((topUps) => topUps.openCardCheckout(...asked)),
    removeCard: (...asked) => this.#beginTopUp((topUps) => topUps.removeCard(...asked)),
  };

  topUpPause(
    ...asked: Parameters<OpenBilling["topUpPause"]>
  ): ReturnType<OpenBilling["topUpPause"]> {
    return this.#begin((billing) => billing.topUpPause(...asked));
  }

  reconcileAll(): Promise<void> {
    return this.#begin((billing) => billing.reconcileAll());
  }

  topUpRound(): Promise<void> {
    return this.#begin((billing) => billing.topUpRound());
  }

  recover(sinceMs: number, by: ChangedBy): Promise<RecoveredPayments> {
    return this.#begin((billing) => billing.recover(sinceMs, by));
  }

  start(): void {
    this.#isStarted = true;
    this.#current.start();
  }

  async close(): Promise<void> {
    await Promise.all([this.#current.close(), ...this.#closing]);
  }

  #beginTopUp<T>(work: (topUps: TopUps) => Promise<T>): Promise<T> {
    return this.#begin((billing) => {
      if (billing.topUps !== undefined) return work(billing.topUps);
      const message = "automatic top-up is not available here; ask your operator";
      return Promise.reject(new PurchaseFault("not_configured", message));
    });
  }

  /** One that is replaced meanwhile is closed after the answer. */
  #begin<T>(work: (billing: OpenBilling) => Promise<T>): Promise<T> {
    const billing = this.#current;
    const begun = this.#underWay.get(billing) ?? new Set();
    this.#underWay.set(billing, begun);
    const ended = work(billing);
    begun.add(ended);
    const forget = (): void => void begun.delete(ended);
    ended.then(forget, forget);
    return ended;
  }

  async #closeIdle(billing: OpenBilling): Promise<void> {
    const begun = this.#underWay.get(billing) ?? new Set<Promise<unknown>>();
    await Promise.allSettled(begun);
    this.#underWay.delete(billing);
    await billing.close();
  }
}
