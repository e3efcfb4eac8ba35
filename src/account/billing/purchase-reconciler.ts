import { Job, warnWith, workOnEach } from "../../kernel/index.ts";
import type { ClaimUpdate } from "./billing.ts";
import type { KnownPurchase } from "./purchase-store.ts";
import type { PurchaseService } from "./purchase-service.ts";
import type { BillingParts } from "./stripe-payments.ts";
import type { TopUpCharges } from "./top-up-charges.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const TICK_MS = MINUTE_MS;
const PURCHASES_EVERY_MS = 10 * MINUTE_MS;
/** Within this time the returning browser or the webhook usually reports the payment. */
const PURCHASE_WAIT_MS = 10 * MINUTE_MS;
/** Older purchases are not reconciled; an event or a customer's check can still find them paid. */
const PURCHASE_AGE_MAX_MS = 30 * DAY_MS;
const PURCHASES_PER_QUERY = 50;
const PURCHASES_PER_ROUND = 500;
const CLAIMS_EVERY_MS = DAY_MS;
/** A refund can be pending for 45 days. It is not stored meanwhile, so each run lists it again. */
const CLAIMS_SINCE_MS = 60 * DAY_MS;
const CLAIMS_PER_ROUND = 5_000;
/** Older claims are not polled: disputes are decided, and refunds fail, within months. */
const OPEN_CLAIM_AGE_MAX_MS = 180 * DAY_MS;
const OPEN_CLAIMS_PER_ROUND = 500;
const EVENTS_KEPT_MS = 40 * DAY_MS;
/** After this many failures in a row the provider counts as down: the next run does the rest. */
const FAILURES_MAX = 5;

interface ReconcilerDeps extends BillingParts {
  readonly service: PurchaseService;
  readonly charges: TopUpCharges;
}

/** Polls for unreported changes. One process does each run; after a crash the next run goes on. */
export class PurchaseReconciler {
  readonly job: Job;
  readonly #deps: ReconcilerDeps;

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps;
    const failed = warnWith(deps.log, "purchases could not be reconciled; this will be retried");
    this.job = new Job(TICK_MS, () => this.#reconcileDue(), failed);
  }

  /** Does one run of each kind now, even if another process is doing the same. */
  async reconcileAll(): Promise<void> {
    await this.#reconcilePurchases();
    await this.#reconcileClaims();
  }

  async #reconcileDue(): Promise<void> {
    const { store, clock } = this.#deps;
    if (await store.claimRun("purchases", clock.nowMs(), PURCHASES_EVERY_MS)) {
      await this.#reconcilePurchases();
    }
    if (await store.claimRun("claims", clock.nowMs(), CLAIMS_EVERY_MS)) {
      await this.#reconcileClaims();
    }
  }

  async #reconcilePurchases(): Promise<void> {
    const named = ({ purchaseId }: KnownPurchase) => ({ purchaseId });
    await this.#onEach(this.#takeUnfinished(), named, (purchase) => this.check(purchase));
  }

  async *#takeUnfinished(): AsyncGenerator<KnownPurchase> {
    const nowMs = this.#deps.clock.nowMs();
    const beforeMs = nowMs - PURCHASE_WAIT_MS;
    const sinceMs = nowMs - PURCHASE_AGE_MAX_MS;
    const range = { beforeMs, sinceMs, nowMs, limit: PURCHASES_PER_QUERY };
    for (let seen = 0; seen < PURCHASES_PER_ROUND; seen += PURCHASES_PER_QUERY) {
      const due = await this.#deps.store.takeUnfinished(range);
      yield* due;
      if (due.length < PURCHASES_PER_QUERY) return;
    }
  }

  async check(purchase: KnownPurchase): Promise<void> {
    const { store, payments, service, charges, isTestMoney, clock, log } = this.#deps;
    const { purchaseId, sessionId } = purchase;
    // Stripe separates test from real money, and the configured key can read only one of the two.
    if (purchase.isTestMoney !== isTestMoney) return;
    if (purchase.isAutomatic) return await charges.check(purchaseId);
    const session = sessionId === null ? undefined : await payments.session(sessionId);
    if (session !== undefined) return await service.takeSession(session);
    if (sessionId === null && clock.nowMs() < purchase.expiresAtMs) return;
    const isNew = await store.decide(purchaseId, "expired");
    if (!isNew || sessionId === null) return;
    log.warn({ purchaseId, sessionId }, "the payment provider does not know this checkout");
  }

  async #reconcileClaims(): Promise<void> {
    const { store, payments, service, clock } = this.#deps;
    const nowMs = clock.nowMs();
    const sinceMs = nowMs - OPEN_CLAIM_AGE_MAX_MS;
    const named = ({ claimId }: Pick<ClaimUpdate, "claimId">) => ({ claimId });
    const isDone =
      (await this.#onEach(this.#recentClaims(nowMs), named, (claim) => service.takeClaim(claim))) &&
      (await this.#onEach(
        await store.takeOpenClaims({ sinceMs, limit: OPEN_CLAIMS_PER_ROUND }),
        named,
        async (claim) => {
          const update = await payments.claim(claim);
          if (update !== undefined) await service.takeClaim(update);
        },
      ));
    if (isDone) await store.forgetEvents(nowMs - EVENTS_KEPT_MS);
  }

  async *#recentClaims(nowMs: number): AsyncGenerator<ClaimUpdate> {
    let seen = 0;
    for await (const claim of this.#deps.payments.claimsSince(nowMs - CLAIMS_SINCE_MS)) {
      if (++seen > CLAIMS_PER_ROUND) return;
      yield claim;
    }
  }

  #onEach<T>(
    items: AsyncIterable<T> | Iterable<T>,
    named: (item: T) => object,
    work: (item: T) => Promise<void>,
  ): Promise<boolean> {
    return workOnEach(items, work, {
      failuresMax: FAILURES_MAX,
      isStopping: () => this.job.isStopping,
      failed: (fault, item) => {
        const message = "a payment could not be checked; this will be retried";
        this.#deps.log.warn({ ...named(item), err: fault }, message);
      },
    });
  }
}
