import {
  byProviderNews,
  type ChangedBy,
  type Clock,
  type Logger,
  type OrgId,
} from "../../kernel/index.ts";
import type { CardUpdate } from "./payment-update.ts";
import { isMissing, type StripeCards } from "./stripe-cards.ts";
import type { TopUpStore } from "./postgres-top-up-store.ts";

const DETACHED_PER_ROUND = 10;
const PROVIDER = byProviderNews("stripe");

export interface CardKeeperDeps {
  readonly topUps: TopUpStore;
  readonly cards: StripeCards;
  readonly isTestMoney: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Manages the saved card of each organization. The payment provider stores the card, the database
 * only what the console shows of it.
 */
export class CardKeeper {
  readonly #deps: CardKeeperDeps;

  constructor(deps: CardKeeperDeps) {
    this.#deps = deps;
  }

  /**
   * Runs `work` with the organization's customer at the payment provider. Creates the customer
   * once, and replaces it if the provider no longer knows it; then `work` runs again.
   */
  async withCustomer<T>(orgId: OrgId, work: (customerId: string) => Promise<T>): Promise<T> {
    const { topUps, isTestMoney, clock } = this.#deps;
    const { customerId } = await topUps.read(orgId, isTestMoney, clock.nowMs());
    if (customerId === undefined) return await work(await this.#create(orgId, undefined));
    try {
      return await work(customerId);
    } catch (fault) {
      if (!isMissing(fault)) throw fault;
      return await work(await this.#create(orgId, customerId));
    }
  }

  async #create(orgId: OrgId, replaced: string | undefined): Promise<string> {
    const { topUps, cards, isTestMoney } = this.#deps;
    const customerId = await cards.createCustomer(orgId, replaced);
    await topUps.keepCustomer(orgId, isTestMoney, customerId);
    return customerId;
  }

  async openSetup(
    orgId: OrgId,
    visit: { readonly successUrl: string; readonly cancelUrl: string },
  ): Promise<{ readonly checkoutUrl: string }> {
    const { topUps, cards, isTestMoney } = this.#deps;
    const { sessionId, url } = await this.withCustomer(orgId, (customerId) =>
      cards.openSetup({ orgId, customerId }, visit),
    );
    await topUps.beginSetup(orgId, isTestMoney, sessionId);
    return { checkoutUrl: url };
  }

  /** Asks the payment provider how the checkout of a card ended, and stores the card. */
  async checkSetup(orgId: OrgId, sessionId: string): Promise<void> {
    const { topUps, cards, isTestMoney } = this.#deps;
    const update = await cards.setup(sessionId);
    if (update === "open") return;
    if (update === null) await topUps.endSetup(orgId, isTestMoney, sessionId);
    else await this.take(update);
  }

  /** Stores the card that a checkout saved; a repeated report changes nothing. */
  async take(update: CardUpdate): Promise<void> {
    const { topUps, cards, isTestMoney, clock, log } = this.#deps;
    const { orgId, customerId, sessionId, isLive } = update;
    if (isLive === isTestMoney) return;
    const card = await cards.cardOf(update);
    if (card !== undefined) {
      const fromMs = update.openedAtMs;
      const saved = { orgId, isTestMoney, customerId, card, fromMs, nowMs: clock.nowMs() };
      const isNew = await topUps.saveCard(saved, PROVIDER);
      if (isNew) log.info({ orgId, sessionId }, "a card was saved for automatic top-up");
    }
    await topUps.endSetup(orgId, isTestMoney, sessionId);
  }

  /**
   * Removes the card, so that it is not charged any more. If the payment provider cannot detach it
   * now, a later run of the top-up job does.
   */
  async remove(orgId: OrgId, by: ChangedBy): Promise<boolean> {
    const { topUps, isTestMoney } = this.#deps;
    const isRemoved = await topUps.removeCard(orgId, isTestMoney, by);
    if (isRemoved) await this.detachRemoved();
    return isRemoved;
  }

  async detachRemoved(): Promise<void> {
    const { topUps, cards, isTestMoney, log } = this.#deps;
    for (const cardId of await topUps.takeDetachments(isTestMoney, DETACHED_PER_ROUND)) {
      try {
        await cards.detach(cardId);
        await topUps.endDetachment(cardId);
      } catch (fault) {
        log.warn({ err: fault }, "a removed card could not be detached; this will be retried");
      }
    }
  }
}
