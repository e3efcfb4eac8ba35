import {
  byGateway,
  byProviderNews,
  createRecordId,
  instant,
  type PauseReason,
  workOnEach,
} from "../../kernel/index.ts";
import type { ChargeUpdate } from "./billing.ts";
import type { StripeTopUps } from "./stripe-top-ups.ts";
import type { PurchaseService } from "./purchase-service.ts";
import type { BillingParts } from "./stripe-payments.ts";
import type { ChargeAnswer } from "./stripe-cards.ts";
import { monthStartMs, type TopUpCharge, type TopUpTimes } from "./top-up-store.ts";

const MINUTE_MS = 60_000;
const STARTED_PER_ROUND = 50;
const REPAIRED_PER_ROUND = 50;
const ASK_PAUSE_MS = 20_000;
const WARN_EVERY_MS = 60 * MINUTE_MS;
/** A charge is first sent within this time of its commit; later, `#repair` decides about it. */
const FIRST_SEND_WITHIN_MS = MINUTE_MS;
/**
 * `#repair` sends a charge only within this time after the purchase began, well below the day for
 * which Stripe recognizes a repeated idempotency key.
 */
const SEND_WITHIN_MS = 60 * MINUTE_MS;
/**
 * A purchase whose card was replaced, or whose rule or automatic top-up is off, expires after this
 * time if the payment provider knows no charge of it. No request can be in flight for that long.
 */
const UNWANTED_AFTER_MS = 10 * MINUTE_MS;
const GIVEN_UP_AFTER_MS = SEND_WITHIN_MS + UNWANTED_AFTER_MS;
/** The expiry stored with a purchase: later than the times at which `#repair` ends the purchase. */
const EXPIRES_AFTER_MS = 2 * SEND_WITHIN_MS;
/** After this many failures in a row the provider counts as down: the next run does the rest. */
const FAILURES_MAX = 3;

const TOP_UP = byGateway("top-up");
const PROVIDER = byProviderNews("stripe");

interface TopUpChargesDeps extends BillingParts {
  readonly detachRemoved: StripeTopUps["detachRemoved"];
  readonly service: PurchaseService;
  /** False: no purchase is started, but those that were started are brought to an end. */
  readonly isOn: boolean;
}

/**
 * The purchase is committed before the charge is sent, and its id is the charge's idempotency key.
 * A process that finds an undecided purchase asks the payment provider first, and sends the charge
 * again only if the provider has no such charge.
 */
export class TopUpCharges {
  readonly #deps: TopUpChargesDeps;

  constructor(deps: TopUpChargesDeps) {
    this.#deps = deps;
  }

  /** Ends open purchases and starts due ones. Row locks let several instances call it at once. */
  async round(isClosed: () => boolean = () => false): Promise<void> {
    const { topUps, isTestMoney, isOn, detachRemoved, clock } = this.#deps;
    const beforeMs = clock.nowMs() - ASK_PAUSE_MS;
    const open = await topUps.takeOpen({ isTestMoney, beforeMs, limit: REPAIRED_PER_ROUND });
    await this.#onEach(open, (charge) => this.#repair(charge), isClosed);
    if (isOn) await this.#onEach(this.#started(), (charge) => this.#sendFirst(charge), isClosed);
    await detachRemoved();
  }

  async #warnOfRecovery(): Promise<void> {
    const { topUps, store, clock, log } = this.#deps;
    const sinceMs = await topUps.recoveryDueSince();
    if (sinceMs === undefined) return;
    if (!(await store.claimRun("recovery-warning", clock.nowMs(), WARN_EVERY_MS))) return;
    const command = `tokenmarket billing recover --since ${instant(sinceMs)}`;
    log.warn({ command }, "no automatic top-up starts until this command ends without failures");
  }

  /** Starts due purchases. A yielded charge is committed, but not sent yet. */
  async *#started(): AsyncGenerator<TopUpCharge> {
    const { topUps, isTestMoney, bounds, clock, log } = this.#deps;
    await this.#warnOfRecovery();
    for (const orgId of await topUps.due(isTestMoney, this.#times(), STARTED_PER_ROUND)) {
      const purchaseId = createRecordId("pur");
      const expiresAtMs = clock.nowMs() + EXPIRES_AFTER_MS;
      const wanted = { orgId, purchaseId, isTestMoney, expiresAtMs, ...bounds, ...this.#times() };
      const charge = await topUps.begin(wanted, TOP_UP);
      if (charge === undefined) continue;
      log.info({ purchaseId, orgId }, "an automatic top-up was started");
      yield charge;
    }
  }

  #times(): TopUpTimes {
    const nowMs = this.#deps.clock.nowMs();
    return { nowMs, monthMs: monthStartMs(nowMs) };
  }

  async #sendFirst(charge: TopUpCharge): Promise<void> {
    if (this.#ageMs(charge) >= FIRST_SEND_WITHIN_MS) return;
    await this.#answered(charge, await this.#deps.cards.charge(charge));
  }

  async #onEach(
    charges: AsyncIterable<TopUpCharge> | Iterable<TopUpCharge>,
    work: (charge: TopUpCharge) => Promise<void>,
    isStopping: () => boolean,
  ): Promise<void> {
    await workOnEach(charges, work, {
      failuresMax: FAILURES_MAX,
      isStopping,
      failed: (fault, { purchaseId, orgId }) => {
        const message = "an automatic top-up has no answer yet; this will be retried";
        this.#deps.log.warn({ purchaseId, orgId, err: fault }, message);
      },
    });
  }

  async check(purchaseId: string): Promise<void> {
    const { topUps, cards } = this.#deps;
    const charge = await topUps.charge(purchaseId);
    if (charge === undefined) return;
    if (!charge.isDecided) return await this.#repair(charge);
    const found = await cards.findCharge(charge);
    if (found !== undefined) await this.takeCharge(found);
  }

  async #repair(charge: TopUpCharge): Promise<void> {
    const { topUps, cards, store, isOn } = this.#deps;
    const found = await cards.findCharge(charge);
    if (found !== undefined) return await this.takeCharge(found);
    const ageMs = this.#ageMs(charge);
    // Read again: while others were sent and the provider asked, the rule may have been turned off,
    // or another process may have ended the purchase.
    const known = await topUps.charge(charge.purchaseId);
    if (known === undefined || known.isDecided) return;
    const isWanted = known.isWanted && isOn;
    if (isWanted && ageMs < SEND_WITHIN_MS) {
      return await this.#answered(charge, await cards.charge(charge));
    }
    const endsAfterMs = isWanted ? GIVEN_UP_AFTER_MS : UNWANTED_AFTER_MS;
    if (ageMs >= endsAfterMs) await store.decide(charge.purchaseId, "expired");
  }

  #ageMs({ createdAtMs }: TopUpCharge): number {
    return this.#deps.clock.nowMs() - createdAtMs;
  }

  async #answered(charge: TopUpCharge, answer: ChargeAnswer): Promise<void> {
    if (answer.kind === "charge") await this.takeCharge(answer.charge);
    else await this.#failed(charge.purchaseId, "failed", answer.reason);
  }

  /** Applies the payment provider's report about a charge; a repeated report changes nothing. */
  async takeCharge({ session, failure }: ChargeUpdate): Promise<void> {
    const { purchaseId } = session;
    if (purchaseId === null) return;
    if (failure !== null) return await this.#failed(purchaseId, "failed", failure);
    await this.#deps.service.takeSession(session);
    const purchase = await this.#deps.store.find(purchaseId);
    if (purchase?.state !== "parked") return;
    await this.#failed(purchaseId, "parked", "payment_parked");
  }

  async #failed(
    purchaseId: string,
    state: "failed" | "parked",
    reason: PauseReason,
  ): Promise<void> {
    const { topUps, log } = this.#deps;
    if ((await topUps.fail(purchaseId, state, reason, PROVIDER)) === undefined) return;
    log.warn({ purchaseId, reason }, "an automatic top-up failed; it is paused");
  }
}
