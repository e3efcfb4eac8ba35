import { Stripe } from "stripe";

import type { OrgId, PauseReason } from "../../kernel/index.ts";
import type { CardUpdate, ChargeUpdate } from "./billing.ts";
import {
  declineReason,
  expanded,
  isTopUp,
  readCard,
  readCharge,
  SAVE_CARD,
  TOP_UP,
} from "./stripe-updates.ts";
import type { SavedCard, TopUpCharge } from "./top-up-store.ts";

const HOUR_MS = 3_600_000;
const PAGE_ITEMS = 100;
const LISTED_MAX = 1_000;
const WITH_CHARGE: string[] = ["latest_charge"];

/** The provider's answer to a charge. If the charge may be sent again, the call rejects instead. */
export type ChargeAnswer =
  | { readonly kind: "charge"; readonly charge: ChargeUpdate }
  | { readonly kind: "refused"; readonly reason: PauseReason };

export class StripeCards {
  readonly #stripe: Stripe;

  constructor(stripe: Stripe) {
    this.#stripe = stripe;
  }

  /** Creates a customer once, and once more for each `replaced` one that the provider lost. */
  async createCustomer(orgId: OrgId, replaced: string | undefined): Promise<string> {
    const customer = await this.#stripe.customers.create(
      { metadata: { org_id: orgId } },
      { idempotencyKey: `customer:${orgId}:${replaced ?? "first"}` },
    );
    return customer.id;
  }

  async openSetup(
    of: { readonly orgId: OrgId; readonly customerId: string },
    visit: { readonly successUrl: string; readonly cancelUrl: string },
  ): Promise<{ readonly sessionId: string; readonly url: string }> {
    const metadata = { org_id: of.orgId, [SAVE_CARD]: "1" };
    const session = await this.#stripe.checkout.sessions.create({
      mode: "setup",
      customer: of.customerId,
      client_reference_id: of.orgId,
      allowed_payment_method_types: ["card"],
      metadata,
      setup_intent_data: { metadata },
      success_url: visit.successUrl,
      cancel_url: visit.cancelUrl,
    });
    if (session.url === null) throw new Error("the checkout session has no address");
    return { sessionId: session.id, url: session.url };
  }

  /** Null if no card was saved. */
  async setup(sessionId: string): Promise<CardUpdate | "open" | null> {
    const session = await orMissing(() => this.#stripe.checkout.sessions.retrieve(sessionId));
    if (session === undefined) return null;
    return session.status === "open" ? "open" : (readCard(session) ?? null);
  }

  /** Undefined if the payer saved a payment method other than a card. */
  async cardOf({ intent }: CardUpdate): Promise<SavedCard | undefined> {
    const expand = { expand: ["payment_method"] };
    const { payment_method: reference } =
      intent.kind === "setup"
        ? await this.#stripe.setupIntents.retrieve(intent.id, expand)
        : await this.#stripe.paymentIntents.retrieve(intent.id, expand);
    const method = expanded(reference);
    if (method?.card === undefined) return undefined;
    const { brand, last4, exp_month: expMonth, exp_year: expYear } = method.card;
    return { cardId: method.id, brand, last4, expMonth, expYear };
  }

  /** Detaches a card; a card that does not exist or has no customer counts as detached. */
  async detach(cardId: string): Promise<void> {
    try {
      await this.#stripe.paymentMethods.detach(cardId);
    } catch (fault) {
      if (fault instanceof Stripe.errors.StripeInvalidRequestError) return;
      throw fault;
    }
  }

  /** Charges the saved card once, since the purchase's id is the idempotency key. */
  async charge(wanted: TopUpCharge): Promise<ChargeAnswer> {
    const { purchaseId, orgId } = wanted;
    try {
      const intent = await this.#stripe.paymentIntents.create(
        {
          amount: Number(wanted.cents),
          currency: "usd",
          customer: wanted.customerId,
          payment_method: wanted.cardId,
          allowed_payment_method_types: ["card"],
          off_session: true,
          confirm: true,
          description: "Prepaid API credit, automatic top-up",
          metadata: { purchase_id: purchaseId, org_id: orgId, [TOP_UP]: "1" },
          expand: WITH_CHARGE,
        },
        { idempotencyKey: purchaseId },
      );
      return { kind: "charge", charge: readCharge(intent) };
    } catch (fault) {
      const reason = toRefusal(fault);
      if (reason === undefined) throw fault;
      return { kind: "refused", reason };
    }
  }

  async findCharge(wanted: TopUpCharge): Promise<ChargeUpdate | undefined> {
    // Begins an hour before the purchase, since the payment provider's clock may differ.
    const since = wanted.createdAtMs - HOUR_MS;
    let seen = 0;
    for await (const charge of this.chargesSince(since, wanted.customerId)) {
      if (charge.session.purchaseId === wanted.purchaseId) return charge;
      if (++seen >= LISTED_MAX) break;
    }
    return undefined;
  }

  /** Yields the charges of automatic purchases created since `sinceMs`, newest first. */
  async *chargesSince(sinceMs: number, customer?: string): AsyncGenerator<ChargeUpdate> {
    const of = customer === undefined ? {} : { customer };
    const expand = WITH_CHARGE.map((path) => `data.${path}`);
    const asked = { ...createdSince(sinceMs), ...of, expand };
    try {
      for await (const intent of this.#stripe.paymentIntents.list(asked)) {
        if (isTopUp(intent)) yield readCharge(intent);
      }
    } catch (fault) {
      if (!isMissing(fault)) throw fault;
    }
  }
}

/** Undefined if a retry may succeed: the network, the provider or the operator's key failed. */
function toRefusal(fault: unknown): PauseReason | undefined {
  if (fault instanceof Stripe.errors.StripeCardError) {
    return declineReason(fault.code, fault.decline_code);
  }
  const isRefused = fault instanceof Stripe.errors.StripeInvalidRequestError;
  if (!isRefused || fault.statusCode === 409 || fault.statusCode === 429) return undefined;
  return fault.code === "resource_missing" ? "card_missing" : "charge_refused";
}

export function isMissing(fault: unknown): boolean {
  return fault instanceof Stripe.errors.StripeError && fault.code === "resource_missing";
}

export async function orMissing<T>(asking: () => Promise<T>): Promise<T | undefined> {
  try {
    return await asking();
  } catch (fault) {
    if (isMissing(fault)) return undefined;
    throw fault;
  }
}

/** The parameters of a list request; Stripe's client fetches further pages automatically. */
export function createdSince(sinceMs: number) {
  return { created: { gte: Math.floor(sinceMs / 1000) }, limit: PAGE_ITEMS };
}
