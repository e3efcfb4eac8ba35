import { randomBytes } from "node:crypto";

import type { Clock } from "../../kernel/index.ts";
import type {
  CheckoutCard,
  CheckoutCharge,
  CheckoutCustomer,
  CheckoutDispute,
  CheckoutEvent,
  CheckoutPayment,
  CheckoutRefund,
  CheckoutReturn,
  CheckoutSession,
  CheckoutSetup,
} from "./checkout-objects.ts";
import { testCard } from "./test-cards.ts";

/** A new card expires in December of the year that is this many years from now. */
const CARD_YEARS = 3;
const DECEMBER = 12;

/** Maximum number of objects of each kind that are kept in memory. The oldest is dropped first. */
const KEPT_MAX = 10_000;

export interface NewSession {
  /** Default: `payment`. `savesCard` needs a `customer`. */
  readonly mode?: "payment" | "setup";
  readonly customer?: string | null;
  readonly savesCard?: boolean;
  readonly cents: number;
  readonly currency: string;
  readonly orgId: string | null;
  readonly email: string | null;
  readonly metadata: Record<string, string>;
  readonly paymentMetadata: Record<string, string>;
  readonly invoiceFields?: Readonly<Record<string, string>>;
  readonly successUrl: string;
  readonly cancelUrl: string;
  readonly expiresAtSeconds: number;
}

/** Replaces parts of a payment, so that tests see how the gateway treats a wrong one. */
export interface OddPayment {
  readonly cents?: number;
  readonly currency?: string;
  readonly isLive?: boolean;
}

export class CheckoutBook {
  readonly sessions = new Map<string, CheckoutSession>();
  readonly payments = new Map<string, CheckoutPayment>();
  readonly charges = new Map<string, CheckoutCharge>();
  readonly refunds = new Map<string, CheckoutRefund>();
  readonly disputes = new Map<string, CheckoutDispute>();
  readonly customers = new Map<string, CheckoutCustomer>();
  readonly cards = new Map<string, CheckoutCard>();
  readonly setups = new Map<string, CheckoutSetup>();
  readonly #clock: Clock;
  readonly #address: () => string;
  readonly #notify: (event: CheckoutEvent) => void;

  constructor(options: {
    readonly clock: Clock;
    readonly address: () => string;
    readonly notify: (event: CheckoutEvent) => void;
  }) {
    this.#clock = options.clock;
    this.#address = options.address;
    this.#notify = options.notify;
  }

  createSession(wanted: NewSession): CheckoutSession {
    const id = newId("cs_test");
    const session: CheckoutSession = {
      id,
      object: "checkout.session",
      mode: wanted.mode ?? "payment",
      status: "open",
      payment_status: "unpaid",
      amount_total: wanted.cents,
      currency: wanted.currency,
      livemode: false,
      client_reference_id: wanted.orgId,
      customer_email: wanted.email,
      metadata: wanted.metadata,
      payment_metadata: wanted.paymentMetadata,
      invoice_fields: wanted.invoiceFields ?? {},
      payment_intent: null,
      setup_intent: null,
      customer: wanted.customer ?? null,
      saves_card: wanted.savesCard ?? false,
      success_url: wanted.successUrl,
      cancel_url: wanted.cancelUrl,
      url: `${this.#address()}/pay/${id}`,
      created: this.nowSeconds(),
      expires_at: wanted.expiresAtSeconds,
    };
    keep(this.sessions, session);
    return session;
  }

  /** The session in its present state. A session that was not paid in time expires here. */
  session(id: string): CheckoutSession | undefined {
    const session = this.sessions.get(id);
    if (session?.status === "open" && session.expires_at <= this.nowSeconds()) this.expire(session);
    return session;
  }

  expire(session: CheckoutSession): void {
    session.status = "expired";
    session.url = null;
    this.#happened("checkout.session.expired", session);
  }

  /** If `isSlow`, the payment is open until `finish` is called; otherwise it succeeds at once. */
  pay(
    session: CheckoutSession,
    odd: OddPayment = {},
    isSlow = false,
    last4?: string,
  ): CheckoutPayment {
    const payment = this.#newPayment({
      amount: odd.cents ?? session.amount_total,
      currency: odd.currency ?? session.currency,
      status: "processing",
      livemode: odd.isLive ?? false,
      customer: session.customer,
      payment_method: null,
      last_payment_error: null,
      metadata: session.payment_metadata,
    });
    if (session.saves_card) payment.payment_method = this.#newCard(session.customer, last4).id;
    session.status = "complete";
    session.url = null;
    session.payment_intent = payment.id;
    session.amount_total = payment.amount;
    session.currency = payment.currency;
    session.livemode = odd.isLive ?? false;
    if (!isSlow) this.#chargeSession(session, payment);
    this.#happened("checkout.session.completed", session);
    return payment;
  }

  finish(session: CheckoutSession, isPaid: boolean): void {
    const payment = this.payments.get(session.payment_intent ?? "");
    if (payment?.status !== "processing") return;
    if (isPaid) this.#chargeSession(session, payment);
    else payment.status = "requires_payment_method";
    const outcome = isPaid ? "succeeded" : "failed";
    this.#happened(`checkout.session.async_payment_${outcome}`, session);
  }

  createCustomer(metadata: Record<string, string>): CheckoutCustomer {
    return this.#kept(this.customers, "cus", { object: "customer", metadata });
  }

  saveCard(session: CheckoutSession, last4?: string): CheckoutCard {
    const card = this.#newCard(session.customer, last4);
    const setup = this.#kept(this.setups, "seti", {
      object: "setup_intent",
      status: "succeeded",
      customer: session.customer,
      payment_method: card.id,
    });
    session.status = "complete";
    session.url = null;
    session.setup_intent = setup.id;
    this.#happened("checkout.session.completed", session);
    return card;
  }

  chargeCard(wanted: {
    readonly card: CheckoutCard;
    readonly cents: number;
    readonly currency: string;
    readonly metadata: Record<string, string>;
  }): CheckoutPayment {
    const { card, cents, currency, metadata } = wanted;
    const { decline = null } = testCard(card.card.last4);
    const payment = this.#newPayment({
      amount: cents,
      currency,
      status: "requires_payment_method",
      livemode: false,
      customer: card.customer,
      payment_method: decline === null ? card.id : null,
      last_payment_error: decline,
      metadata,
    });
    if (decline === null) this.#charge(payment);
    const outcome = decline === null ? "succeeded" : "payment_failed";
    this.#happened(`payment_intent.${outcome}`, payment);
    return payment;
  }

  /** Refunds `cents`; default: all that is left. Undefined if the payment does not cover that. */
  refund(payment: CheckoutPayment, cents?: number): CheckoutRefund | undefined {
    const refunded = [...this.refunds.values()]
      .filter((each) => each.payment_intent === payment.id && each.status === "succeeded")
      .reduce((sum, each) => sum + each.amount, 0);
    const left = payment.amount - refunded;
    const amount = cents ?? left;
    if (amount <= 0 || amount > left || payment.status !== "succeeded") return undefined;
    const refund = this.#kept(this.refunds, "re", {
      object: "refund",
      status: "succeeded",
      ...takenBack(payment, amount),
    });
    this.#happened("refund.created", refund);
    return refund;
  }

  /** Fails a refund, as if the payer's bank had returned the money. */
  failRefund(refund: CheckoutRefund): void {
    if (refund.status !== "succeeded") return;
    refund.status = "failed";
    this.#happened("refund.failed", refund);
  }

  dispute(payment: CheckoutPayment, cents: number): CheckoutDispute {
    const dispute = this.#kept(this.disputes, "dp", {
      object: "dispute",
      status: "needs_response",
      ...takenBack(payment, cents),
    });
    this.#happened("charge.dispute.created", dispute);
    return dispute;
  }

  closeDispute(dispute: CheckoutDispute, status: "won" | "lost" | "warning_closed"): void {
    if (dispute.status !== "needs_response") return;
    dispute.status = status;
    this.#happened("charge.dispute.closed", dispute);
  }

  #newPayment(
    about: Omit<CheckoutPayment, "id" | "object" | "created" | "latest_charge">,
  ): CheckoutPayment {
    return this.#kept(this.payments, "pi", {
      object: "payment_intent",
      latest_charge: null,
      ...about,
    });
  }

  #newCard(customer: string | null, last4: string | undefined): CheckoutCard {
    const { brand, last4: digits } = testCard(last4);
    const year = new Date(this.#clock.nowMs()).getUTCFullYear() + CARD_YEARS;
    return this.#kept(this.cards, "pm", {
      object: "payment_method",
      type: "card",
      customer,
      card: { brand, last4: digits, exp_month: DECEMBER, exp_year: year },
    });
  }

  #chargeSession(session: CheckoutSession, payment: CheckoutPayment): void {
    this.#charge(payment);
    session.payment_status = "paid";
  }

  #charge(payment: CheckoutPayment): void {
    const id = newId("ch");
    keep(this.charges, {
      id,
      object: "charge",
      amount: payment.amount,
      currency: payment.currency,
      payment_intent: payment.id,
      receipt_url: `${this.#address()}/receipt/${id}`,
      payment_method_details: { type: "card", card: { brand: "visa", last4: "4242" } },
    });
    payment.status = "succeeded";
    payment.latest_charge = id;
  }

  #kept<T extends { readonly id: string; readonly created: number }>(
    kept: Map<string, T>,
    prefix: string,
    about: Omit<T, "id" | "created">,
  ): T {
    const made = { ...about, id: newId(prefix), created: this.nowSeconds() } as T;
    keep(kept, made);
    return made;
  }

  /** Reports an event. It contains a copy of the object, because the object may change later. */
  #happened(type: string, object: CheckoutEvent["data"]["object"]): void {
    this.#notify({
      id: newId("evt"),
      object: "event",
      type,
      created: this.nowSeconds(),
      livemode: "livemode" in object && object.livemode,
      data: { object: structuredClone(object) },
    });
  }

  nowSeconds(): number {
    return Math.floor(this.#clock.nowMs() / 1000);
  }
}

function takenBack(payment: CheckoutPayment, amount: number): CheckoutReturn {
  const { currency, latest_charge: charge, id } = payment;
  return { amount, currency, charge, payment_intent: id };
}

function newId(prefix: string): string {
  return `${prefix}_${randomBytes(12).toString("hex")}`;
}

function keep<T extends { readonly id: string }>(kept: Map<string, T>, item: T): void {
  kept.set(item.id, item);
  const [oldest] = kept.keys();
  if (kept.size > KEPT_MAX && oldest !== undefined) kept.delete(oldest);
}
