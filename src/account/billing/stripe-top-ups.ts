import {
  type ChangedBy,
  type Clock,
  formatUsd,
  type Logger,
  type MicroUsd,
  type OrgId,
} from "../../kernel/index.ts";
import type { PurchaseBounds } from "./billing-mode.ts";
import { PurchaseFault, TopUpFault, type TopUps, type TopUpView } from "./billing.ts";
import type { CardKeeper } from "./card-keeper.ts";
import { monthStartMs, type TopUpRule } from "./top-up-store.ts";
import type { TopUpStore } from "./postgres-top-up-store.ts";

const MICRO_PER_CENT = 10_000n;
/** A page that waits for its card asks often; the payment provider is not asked each time. */
const CHECK_PAUSE_MS = 2_000;
const CHECKS_KEPT_MAX = 10_000;

export interface StripeTopUpsDeps {
  readonly topUps: TopUpStore;
  readonly keeper: CardKeeper;
  readonly bounds: PurchaseBounds;
  readonly isTestMoney: boolean;
  readonly consoleUrl: () => string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The actions of owners on their card and their rule. */
export class StripeTopUps implements TopUps {
  readonly #deps: StripeTopUpsDeps;
  /** By checkout: when it was last asked about, by the monotonic clock. */
  readonly #checks = new Map<string, number>();

  constructor(deps: StripeTopUpsDeps) {
    this.#deps = deps;
  }

  async read(orgId: OrgId): Promise<TopUpView> {
    const { topUps, keeper, isTestMoney, clock, log } = this.#deps;
    const monthMs = monthStartMs(clock.nowMs());
    let state = await topUps.read(orgId, isTestMoney, monthMs);
    const { setupSessionId } = state;
    if (setupSessionId !== undefined && this.#mayCheck(setupSessionId)) {
      try {
        await keeper.checkSetup(orgId, setupSessionId);
      } catch (fault) {
        // The known state is shown; an event or the next read will report the card.
        log.warn({ orgId, err: fault }, "the payment provider did not answer");
      }
      state = await topUps.read(orgId, isTestMoney, monthMs);
    }
    const { rule, pause, card, monthMicroUsd, hasOpenPurchase } = state;
    const isCardPending = state.setupSessionId !== undefined;
    return { rule, pause, card, isCardPending, monthMicroUsd, hasOpenPurchase };
  }

  #mayCheck(sessionId: string): boolean {
    const nowMs = this.#deps.clock.monotonicMs();
    const lastMs = this.#checks.get(sessionId);
    if (lastMs !== undefined && nowMs - lastMs < CHECK_PAUSE_MS) return false;
    if (this.#checks.size >= CHECKS_KEPT_MAX) this.#checks.clear();
    this.#checks.set(sessionId, nowMs);
    return true;
  }

  async setRule(orgId: OrgId, rule: TopUpRule, by: ChangedBy): Promise<void> {
    const { topUps, bounds, isTestMoney, clock } = this.#deps;
    checkRule(rule, bounds);
    const { card } = await topUps.read(orgId, isTestMoney, monthStartMs(clock.nowMs()));
    if (rule.isOn && card === undefined) {
      throw new TopUpFault("card", "save a card before you turn on automatic top-up");
    }
    await topUps.setRule(orgId, rule, by);
  }

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

  removeCard(orgId: OrgId, by: ChangedBy): Promise<boolean> {
    return this.#deps.keeper.remove(orgId, by);
  }
}

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

function inCents(amount: MicroUsd): string {
  return formatUsd(amount).slice(0, -"0000".length);
}
