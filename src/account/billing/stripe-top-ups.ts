import {
  byProviderNews,
  type ChangedBy,
  type Clock,
  ExpiringCache,
  formatUsd,
  type MicroUsd,
  type OrgId,
} from "../../kernel/index.ts";
import {
  type CardUpdate,
  type PurchaseBounds,
  PurchaseFault,
  TopUpFault,
  type TopUpView,
} from "./billing.ts";
import { orgPage } from "../identity/console-address.ts";
import { MICRO_PER_CENT } from "./stripe-updates.ts";
import { monthStartMs, type TopUpRule } from "./top-up-store.ts";
import { isMissing } from "./stripe-cards.ts";
import type { BillingParts } from "./stripe-payments.ts";

const DETACHED_PER_ROUND = 10;
const PROVIDER = byProviderNews("stripe");

/** The payment provider stores the card, the database its id and what the console shows of it. */
export class StripeTopUps {
  readonly #deps: BillingParts;
  readonly #mayAsk: (id: string) => boolean;

  constructor(deps: BillingParts) {
    this.#deps = deps;
    this.#mayAsk = pauseBetweenAsks(deps.clock);
  }

  async read(orgId: OrgId): Promise<TopUpView> {
    const { topUps, isTestMoney, clock, log } = this.#deps;
    const monthMs = monthStartMs(clock.nowMs());
    let state = await topUps.read(orgId, isTestMoney, monthMs);
    const { setupSessionId } = state;
    if (setupSessionId !== undefined && this.#mayAsk(setupSessionId)) {
      try {
        await this.#checkSetup(orgId, setupSessionId);
      } catch (fault) {
        // The stored state is shown; an event or the next read will report the card.
        log.warn({ orgId, err: fault }, "the payment provider did not answer");
      }
      state = await topUps.read(orgId, isTestMoney, monthMs);
    }
    const { rule, pause, card, monthMicroUsd, hasOpenPurchase } = state;
    const isCardPending = state.setupSessionId !== undefined;
    return { rule, pause, card, isCardPending, monthMicroUsd, hasOpenPurchase };
  }

  /** Rejects with `TopUpFault` if amounts are invalid, or if a rule that is on lacks a card. */
  async setRule(orgId: OrgId, rule: TopUpRule, by: ChangedBy): Promise<void> {
    const { topUps, bounds, isTestMoney, clock } = this.#deps;
    const month = monthStartMs(clock.nowMs());
    const { card, rule: saved } = await topUps.read(orgId, isTestMoney, month);
    // Amounts saved before the operator changed the bounds must not prevent turning the rule off.
    if (rule.isOn || !hasSameAmounts(rule, saved)) checkRule(rule, bounds);
    if (rule.isOn && card === undefined) {
      throw new TopUpFault("card", "save a card before you turn on automatic top-up");
    }
    await topUps.setRule(orgId, rule, by);
  }

  /** Opens the payment provider's page that saves a card; rejects with `PurchaseFault`. */
  async openCardCheckout(orgId: OrgId): Promise<{ readonly checkoutUrl: string }> {
    const { topUps, cards, isTestMoney, consoleUrl, log } = this.#deps;
    const page = (path: string): string => orgPage(consoleUrl(), path, orgId);
    const visit = { successUrl: page("/billing?card=saved"), cancelUrl: page("/billing") };
    try {
      const { sessionId, url } = await this.withCustomer(orgId, (customerId) =>
        cards.openSetup({ orgId, customerId }, visit),
      );
      await topUps.beginSetup(orgId, isTestMoney, sessionId);
      return { checkoutUrl: url };
    } catch (fault) {
      log.warn({ orgId, err: fault }, "a checkout for a card could not be created");
      const message = "the payment provider did not create a page for the card; try again";
      throw new PurchaseFault("provider_failed", message, fault);
    }
  }

  /**
   * Also turns the rule off; false if there is no card. If the payment provider cannot detach it
   * now, a later run of the top-up job does.
   */
  async removeCard(orgId: OrgId, by: ChangedBy): Promise<boolean> {
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

  /** Runs `work` with the stored customer, or a new one if none is stored or Stripe lost it. */
  async withCustomer<T>(orgId: OrgId, work: (customerId: string) => Promise<T>): Promise<T> {
    const { topUps, isTestMoney, clock } = this.#deps;
    const { customerId } = await topUps.read(orgId, isTestMoney, clock.nowMs());
    if (customerId === undefined) return await work(await this.#createCustomer(orgId, undefined));
    try {
      return await work(customerId);
    } catch (fault) {
      if (!isMissing(fault)) throw fault;
      return await work(await this.#createCustomer(orgId, customerId));
    }
  }

  async #createCustomer(orgId: OrgId, replaced: string | undefined): Promise<string> {
    const { topUps, cards, isTestMoney } = this.#deps;
    const customerId = await cards.createCustomer(orgId, replaced);
    await topUps.keepCustomer(orgId, isTestMoney, customerId);
    return customerId;
  }

  async #checkSetup(orgId: OrgId, sessionId: string): Promise<void> {
    const { topUps, cards, isTestMoney } = this.#deps;
    const update = await cards.setup(sessionId);
    if (update === "open") return;
    if (update === null) await topUps.endSetup(orgId, isTestMoney, sessionId);
    else await this.takeCard(update);
  }

  /** Stores the card that a checkout saved; a repeated report changes nothing. */
  async takeCard(update: CardUpdate): Promise<void> {
    const { topUps, cards, isTestMoney, clock, log } = this.#deps;
    const { orgId, customerId, sessionId, isLive, openedAtMs: fromMs } = update;
    if (isLive === isTestMoney) return;
    const card = await cards.cardOf(update);
    if (card !== undefined) {
      const saved = { orgId, isTestMoney, customerId, card, fromMs, nowMs: clock.nowMs() };
      const isNew = await topUps.saveCard(saved, PROVIDER);
      if (isNew) log.info({ orgId, sessionId }, "a card was saved for automatic top-up");
    }
    await topUps.endSetup(orgId, isTestMoney, sessionId);
  }
}

export type TopUps = Pick<StripeTopUps, "read" | "setRule" | "openCardCheckout" | "removeCard">;

const ASK_PAUSE_MS = 2_000;
const ASKED_KEPT_MAX = 10_000;

/** Limits calls to the payment provider: a page that waits for a purchase's end polls often. */
export function pauseBetweenAsks(clock: Clock): (id: string) => boolean {
  const asked = new ExpiringCache<true>(ASK_PAUSE_MS, ASKED_KEPT_MAX);
  return (id) => {
    const nowMs = clock.monotonicMs();
    const mayAsk = asked.get(id, nowMs) === undefined;
    if (mayAsk) asked.set(id, true, nowMs);
    return mayAsk;
  };
}

function checkRule(rule: TopUpRule, bounds: PurchaseBounds): void {
  const { belowMicroUsd, amountMicroUsd, monthMaxMicroUsd } = rule;
  if (belowMicroUsd <= 0n) throw new TopUpFault("below_usd", "below_usd must be above 0");
  const problem = amountProblem(amountMicroUsd, bounds);
  if (problem !== undefined) throw new TopUpFault("amount_usd", problem);
  if (monthMaxMicroUsd < amountMicroUsd) {
    throw new TopUpFault("month_max_usd", "month_max_usd must be at least amount_usd");
  }
}

export function amountProblem(
  amount: MicroUsd,
  { minMicroUsd, maxMicroUsd }: PurchaseBounds,
): string | undefined {
  const isWhole = amount % MICRO_PER_CENT === 0n;
  if (isWhole && amount >= minMicroUsd && amount <= maxMicroUsd) return undefined;
  return `amount_usd must be whole cents from ${inCents(minMicroUsd)} to ${inCents(maxMicroUsd)}`;
}

function hasSameAmounts(rule: TopUpRule, other: TopUpRule | undefined): boolean {
  return (
    rule.belowMicroUsd === other?.belowMicroUsd &&
    rule.amountMicroUsd === other.amountMicroUsd &&
    rule.monthMaxMicroUsd === other.monthMaxMicroUsd
  );
}

function inCents(amount: MicroUsd): string {
  return formatUsd(amount).slice(0, -"0000".length);
}
