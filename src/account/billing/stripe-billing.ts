import {
  type ChangedBy,
  type ConsoleConfig,
  createRecordId,
  defined,
  isLiveKey,
  Job,
  type Logger,
  type MicroUsd,
  type OrgId,
  type Public,
  warnWith,
} from "../../kernel/index.ts";
import { orgPage } from "../identity/console-address.ts";
import { type PurchaseBounds, PurchaseFault } from "./billing.ts";
import { amountProblem, pauseBetweenAsks, StripeTopUps, type TopUps } from "./stripe-top-ups.ts";
import type { Company } from "./company.ts";
import type { PurchaseStore } from "./postgres-purchase-store.ts";
import { PurchaseReconciler } from "./purchase-reconciler.ts";
import { PurchaseService } from "./purchase-service.ts";
import type { KnownPurchase, PurchaseRecord } from "./purchase-store.ts";
import { type RecoveredPayments, recoverPayments } from "./recover-payments.ts";
import { type BillingParts, type StripeAccount, StripePayments } from "./stripe-payments.ts";
import { TopUpCharges } from "./top-up-charges.ts";
import type { TopUpPause } from "./top-up-store.ts";
import type { TopUpStore } from "./postgres-top-up-store.ts";

/** How long a payer can pay; Stripe accepts from 30 minutes to 24 hours. */
const CHECKOUT_OPEN_MS = 45 * 60_000;
const HOUR_MS = 3_600_000;
const PURCHASES_PER_HOUR_MAX = 30;
const TOP_UP_TICK_MS = 5_000;

export interface BillingOptions extends Pick<
  BillingParts,
  "store" | "consoleUrl" | "seller" | "clock" | "log"
> {
  readonly config: Pick<
    ConsoleConfig,
    | "stripeSecretKey"
    | "stripeWebhookSecret"
    | "stripeApiUrl"
    | "purchaseMinUsd"
    | "purchaseMaxUsd"
    | "autoTopUp"
  >;
  /** Called at each use, so that a secret can be replaced without a restart. Default: `config`. */
  readonly secrets?: () => Pick<ConsoleConfig, "stripeSecretKey" | "stripeWebhookSecret">;
  /** If set, this test checkout replaces the Stripe account of `config`. */
  readonly testCheckout?: Readonly<Record<"url" | "secretKey" | "webhookSecret", string>>;
  readonly topUpStore: TopUpStore;
}

interface StripeBillingOptions extends BillingOptions {
  readonly account: StripeAccount;
  readonly bounds: PurchaseBounds;
}

/** Sells credit through Stripe's checkout, or through a test server with the same API. */
export class StripeBilling {
  readonly mode: "stripe" | "test" | "none";
  readonly minMicroUsd: MicroUsd;
  readonly maxMicroUsd: MicroUsd;
  readonly #options: StripeBillingOptions;
  readonly #parts: BillingParts;
  readonly #service: PurchaseService;
  readonly #reconciler: PurchaseReconciler;
  readonly #charges: TopUpCharges;
  readonly #topUps: StripeTopUps;
  readonly #topUpJob: Job;
  readonly #mayAsk: (id: string) => boolean;

  constructor(options: StripeBillingOptions) {
    const { account, bounds, topUpStore, clock, log } = options;
    // Money of a Stripe sandbox is test money too.
    this.mode = isLiveKey(account.secretKey()) ? "stripe" : "test";
    this.minMicroUsd = bounds.minMicroUsd;
    this.maxMicroUsd = bounds.maxMicroUsd;
    this.#options = options;
    this.#mayAsk = pauseBetweenAsks(clock);
    const payments = new StripePayments(account, clock);
    const isTestMoney = this.mode === "test";
    const parts = { ...options, topUps: topUpStore, payments, cards: payments.cards, isTestMoney };
    this.#parts = parts;
    const topUps = new StripeTopUps(parts);
    this.#topUps = topUps;
    const takeCard = topUps.takeCard.bind(topUps);
    const takeCharge: TopUpCharges["takeCharge"] = (charge) => this.#charges.takeCharge(charge);
    const service = new PurchaseService({ ...parts, takeCard, takeCharge });
    this.#service = service;
    const isOn = options.config.autoTopUp;
    const detachRemoved = topUps.detachRemoved.bind(topUps);
    const charges = new TopUpCharges({ ...parts, service, detachRemoved, isOn });
    this.#charges = charges;
    this.#reconciler = new PurchaseReconciler({ ...parts, service, charges });
    const failed = warnWith(log, "automatic top-ups could not be checked; this will be retried");
    this.#topUpJob = new Job(TOP_UP_TICK_MS, (isStopping) => charges.round(isStopping), failed);
  }

  get topUps(): TopUps | undefined {
    return this.#options.config.autoTopUp ? this.#topUps : undefined;
  }

  async topUpPause(orgId: OrgId): Promise<TopUpPause | undefined> {
    return this.topUps === undefined ? undefined : await this.#options.topUpStore.pauseOf(orgId);
  }

  /** Starts due automatic purchases and ends open ones. Several instances may call it at once. */
  topUpRound(): Promise<void> {
    return this.#charges.round(() => this.#topUpJob.isStopping);
  }

  /** Rejects with `PurchaseFault`. Credit is granted only after the payment is reported. */
  async startPurchase(
    wanted: {
      readonly orgId: OrgId;
      readonly amountMicroUsd: MicroUsd;
      readonly email: string;
      /** The page to which a paid or canceled checkout leads in the end. Default: `billing`. */
      readonly backTo?: "billing" | "welcome";
      readonly savesCard?: boolean;
      readonly company?: Company;
    },
    by: ChangedBy,
  ): Promise<{ readonly purchase: PurchaseRecord; readonly checkoutUrl: string }> {
    const problem = amountProblem(wanted.amountMicroUsd, this.#options.bounds);
    if (problem !== undefined) throw new PurchaseFault("bad_amount", problem);
    const purchase = await this.#create(wanted, by);
    const { purchaseId, isTestMoney } = purchase;
    const { topUpStore } = this.#options;
    const page = (path: string): string => orgPage(this.#options.consoleUrl(), path, wanted.orgId);
    const { backTo = "billing", company } = wanted;
    const next = backTo === "welcome" ? "?next=welcome" : "";
    try {
      const visit = defined({
        email: wanted.email,
        successUrl: page(`/billing/return/${purchaseId}${next}`),
        cancelUrl: page(`/${backTo}`),
        company,
      });
      const savesCard = wanted.savesCard === true && this.topUps !== undefined;
      const { sessionId, url } = savesCard
        ? await this.#topUps.withCustomer(wanted.orgId, (customerId) =>
            this.#parts.payments.openCheckout(purchase, { ...visit, customerId }),
          )
        : await this.#parts.payments.openCheckout(purchase, visit);
      await this.#options.store.attachSession(purchaseId, sessionId);
      if (savesCard) await topUpStore.beginSetup(wanted.orgId, isTestMoney, sessionId);
      return { purchase, checkoutUrl: url };
    } catch (fault) {
      this.#options.log.warn({ purchaseId, err: fault }, "a checkout could not be created");
      await this.#options.store.decide(purchaseId, "failed");
      const message =
        "the payment provider did not create a checkout; nothing was charged, try again";
      throw new PurchaseFault("provider_failed", message, fault);
    }
  }

  async #create(
    wanted: { readonly orgId: OrgId; readonly amountMicroUsd: MicroUsd },
    by: ChangedBy,
  ): Promise<KnownPurchase> {
    const { store, clock } = this.#options;
    const { orgId, amountMicroUsd } = wanted;
    const purchaseId = createRecordId("pur");
    const nowMs = clock.nowMs();
    const begun = {
      purchaseId,
      orgId,
      amountMicroUsd,
      isTestMoney: this.mode === "test",
      nowMs,
      expiresAtMs: nowMs + CHECKOUT_OPEN_MS,
      purchasesMax: PURCHASES_PER_HOUR_MAX,
      countedFromMs: nowMs - HOUR_MS,
    };
    const created = await store.create(begun, by);
    const purchase = created === "created" ? await store.find(purchaseId) : undefined;
    if (purchase !== undefined) return purchase;
    const message = `${PURCHASES_PER_HOUR_MAX} purchases were started in the last hour; try again later`;
    throw new PurchaseFault("too_many", message);
  }

  /** While the purchase is unfinished, asks the payment provider first and applies the answer. */
  async checkPurchase(orgId: OrgId, purchaseId: string): Promise<PurchaseRecord | undefined> {
    const { store, log } = this.#options;
    const purchase = await store.findOwn(orgId, purchaseId);
    if (purchase === undefined || !isUnfinished(purchase) || purchase.sessionId === null) {
      return purchase;
    }
    if (!this.#mayAsk(purchaseId)) return purchase;
    try {
      await this.#reconciler.check(purchase);
    } catch (fault) {
      // An event, the next poll or the reconciler will report the purchase's end.
      log.warn({ purchaseId, err: fault }, "the payment provider did not answer");
    }
    return await store.findOwn(orgId, purchaseId);
  }

  /** For `POST /webhooks/stripe`: `done` only after the commit; `bad_signature` becomes a 400. */
  async webhook(asked: {
    readonly body: Buffer;
    readonly signature: string | undefined;
  }): Promise<"done" | "bad_signature" | "not_configured"> {
    const { account, store } = this.#options;
    if (account.webhookSecrets().length === 0) return "not_configured";
    const event = this.#parts.payments.event(asked.body, asked.signature ?? "");
    if (event === undefined) return "bad_signature";
    const { eventId, type, update } = event;
    const isDone = await store.isEventDone(eventId);
    if (!isDone) {
      await this.#service.take(update);
      if (update.kind !== "other") await store.markEventDone({ eventId, kind: type });
    }
    return "done";
  }

  start(): void {
    const { account, store, log } = this.#options;
    if (account.webhookSecrets().length === 0) {
      const message =
        "stripe.webhook_secret is not set: purchases are noticed when the browser returns or within " +
        "ten minutes, refunds and disputes within a day";
      log.warn({}, message);
    }
    if (this.mode === "stripe") void announceTestMoney(store, log);
    this.#reconciler.job.start();
    this.#topUpJob.start();
  }

  /** Polls the purchases, refunds and disputes that are due, even if another instance does so. */
  reconcileAll(): Promise<void> {
    return this.#reconciler.reconcileAll();
  }

  /** After a restore, applies what the provider recorded since `sinceMs` and the ledger lacks. */
  async recover(sinceMs: number, by: ChangedBy): Promise<RecoveredPayments> {
    const recovery = { ...this.#parts, service: this.#service, by };
    const recovered = await recoverPayments(recovery, sinceMs);
    // Also ends purchases and claims that began before `sinceMs`.
    await this.#reconciler.reconcileAll();
    return recovered;
  }

  async close(): Promise<void> {
    await this.#topUpJob.close();
    await this.#reconciler.job.close();
    this.#parts.payments.close();
  }
}

export type Billing = Public<StripeBilling>;

function isUnfinished({ state, receiptUrl }: KnownPurchase): boolean {
  return state === "created" || state === "pending" || (state === "paid" && receiptUrl === null);
}

/** Warns of credit from test money: it buys service that costs the operator real money. */
async function announceTestMoney(store: PurchaseStore, log: Logger): Promise<void> {
  try {
    const { purchases, orgIds } = await store.testMoney();
    if (purchases === 0) return;
    const message =
      "wallets have credit that was bought with TEST MONEY, and real payments are on: use another " +
      "database, or disable the keys of these organizations";
    log.error({ purchases, orgIds }, message);
  } catch (fault) {
    log.warn({ err: fault }, "it could not be checked whether wallets have test money");
  }
}
