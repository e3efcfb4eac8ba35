import {
  type ChangedBy,
  type Clock,
  ExpiringCache,
  formatUsd,
  type MicroUsd,
  type OrgId,
  type Public,
} from "../../kernel/index.ts";
import type { PurchaseBounds } from "./billing-mode.ts";
import { PurchaseFault, TopUpFault, type TopUpView } from "./billing.ts";
import type { CardKeeper, CardKeeperDeps } from "./card-keeper.ts";
import { MICRO_PER_CENT } from "./stripe-updates.ts";
import { monthStartMs, type TopUpRule } from "./top-up-store.ts";

const ASK_PAUSE_MS = 2_000;
const ASKED_KEPT_MAX = 10_000;

/** Limits calls to the payment provider: a page that waits for a purchase's end polls often. */
export class AskPauses {
  readonly #clock: Clock;
  readonly #asked = new ExpiringCache<true>(ASK_PAUSE_MS, ASKED_KEPT_MAX);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  mayAsk(id: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const isAsked = this.#asked.get(id, nowMs) !== undefined;
    if (!isAsked) this.#asked.set(id, true, nowMs);
    return !isAsked;
  }
}

export interface StripeTopUpsDeps extends Omit<CardKeeperDeps, "cards"> {
  readonly keeper: CardKeeper;
  readonly bounds: PurchaseBounds;
  readonly consoleUrl: () => string;
}

export class StripeTopUps {
  readonly #deps: StripeTopUpsDeps;
  readonly #checks: AskPauses;

  constructor(deps: StripeTopUpsDeps) {
    this.#deps = deps;
    this.#checks = new AskPauses(deps.clock);
  }

  async read(orgId: OrgId): Promise<TopUpView> {
    const { topUps, keeper, isTestMoney, clock, log } = this.#deps;
    const monthMs = monthStartMs(clock.nowMs());
    let state = await topUps.read(orgId, isTestMoney, monthMs);
    const { setupSessionId } = state;
    if (setupSessionId !== undefined && this.#checks.mayAsk(setupSessionId)) {
      try {
        await keeper.checkSetup(orgId, setupSessionId);
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

  /**
   * Rejects with `TopUpFault` if the rule is invalid or lacks a card. Turning it on ends a pause.
   */
  async setRule(orgId: OrgId, rule: TopUpRule, by: ChangedBy): Promise<void> {
    const { topUps, bounds, isTestMoney, clock } = this.#deps;
    const month = monthStartMs(clock.nowMs());
    const { card, rule: saved } = await topUps.read(orgId, isTestMoney, month);
    // The operator may have changed the bounds since, and turning the rule off must still work.
    if (rule.isOn || !hasSameAmounts(rule, saved)) checkRule(rule, bounds);
    if (rule.isOn && card === undefined) {
      throw new TopUpFault("card", "save a card before you turn on automatic top-up");
    }
    await topUps.setRule(orgId, rule, by);
  }

  /** Opens the payment provider's page that saves a card; rejects with `PurchaseFault`. */
  async openCardCheckout(orgId: OrgId): Promise<{ readonly checkoutUrl: string }> {
    const { keeper, log } = this.#deps;
    const page = `${this.#deps.consoleUrl().replace(/\/+$/, "")}/billing`;
    const visit = { successUrl: `${page}?card=saved`, cancelUrl: page };
    try {
      return await keeper.openSetup(orgId, visit);
    } catch (fault) {
      log.warn({ orgId, err: fault }, "a checkout for a card could not be created");
      const message = "the payment provider did not create a page for the card; try again";
      throw new PurchaseFault("provider_failed", message, fault);
    }
  }

  /** Also turns the rule off; false if there is no card. */
  removeCard(orgId: OrgId, by: ChangedBy): Promise<boolean> {
    return this.#deps.keeper.remove(orgId, by);
  }
}

export type TopUps = Public<StripeTopUps>;

function checkRule(rule: TopUpRule, { minMicroUsd, maxMicroUsd }: PurchaseBounds): void {
  const { belowMicroUsd, amountMicroUsd, monthMaxMicroUsd } = rule;
  if (belowMicroUsd <= 0n) throw new TopUpFault("below_usd", "below_usd must be above 0");
  const isWhole = amountMicroUsd % MICRO_PER_CENT === 0n;
  if (!isWhole || amountMicroUsd < minMicroUsd || amountMicroUsd > maxMicroUsd) {
    const range = `from ${inCents(minMicroUsd)} to ${inCents(maxMicroUsd)}`;
    throw new TopUpFault("amount_usd", `amount_usd must be whole cents ${range}`);
  }
  if (monthMaxMicroUsd < amountMicroUsd) {
    throw new TopUpFault("month_max_usd", "month_max_usd must be at least amount_usd");
  }
}

function hasSameAmounts(rule: TopUpRule, other: TopUpRule | undefined): boolean {
  return (
    rule.belowMicroUsd === other?.belowMicroUsd &&
    rule.amountMicroUsd === other.amountMicroUsd &&
    rule.monthMaxMicroUsd === other.monthMaxMicroUsd
  );
}

export function inCents(amount: MicroUsd): string {
  return formatUsd(amount).slice(0, -"0000".length);
}
