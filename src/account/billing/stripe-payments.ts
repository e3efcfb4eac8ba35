import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";

import { Stripe } from "stripe";

import type { Clock, Logger } from "../../kernel/index.ts";
import { type Company, type Seller, toInvoiceData } from "./company.ts";
import type {
  ClaimUpdate,
  FoundCheckout,
  PaymentEvent,
  PurchaseBounds,
  SessionUpdate,
} from "./billing.ts";
import type { PurchaseStore } from "./postgres-purchase-store.ts";
import type { TopUpStore } from "./postgres-top-up-store.ts";
import type { KnownPurchase, OpenClaim } from "./purchase-store.ts";
import { createdSince, orMissing, StripeCards } from "./stripe-cards.ts";
import { readDispute, readEvent, readRefund, readSession, SAVE_CARD } from "./stripe-updates.ts";

const REQUEST_TIMEOUT_MS = 15_000;
const NETWORK_RETRIES = 1;
const SOCKETS_MAX = 16;
const WEBHOOK_TOLERANCE_SECONDS = 300;
const RECEIPT: string[] = ["payment_intent.latest_charge"];

/** The credentials are functions, so that a new key or secret works without a restart. */
export interface StripeAccount {
  readonly secretKey: () => string;
  /** Several secrets are valid while one replaces another; without any, no event is accepted. */
  readonly webhookSecrets: () => readonly string[];
  /** `http://host:port` of a test server; empty for Stripe itself. */
  readonly apiUrl: string;
}

export interface BillingParts {
  readonly store: PurchaseStore;
  readonly topUps: TopUpStore;
  readonly payments: StripePayments;
  readonly cards: StripeCards;
  readonly isTestMoney: boolean;
  readonly bounds: PurchaseBounds;
  readonly seller: () => Seller;
  /** Called at each checkout, for the console address to which payers return. */
  readonly consoleUrl: () => string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Makes the calls to Stripe, together with `cards`. Each request ends or fails within a minute. */
export class StripePayments {
  readonly cards: StripeCards;
  readonly #stripe: Stripe;
  readonly #agent: HttpAgent | HttpsAgent;
  readonly #account: StripeAccount;
  readonly #clock: Clock;

  constructor(account: StripeAccount, clock: Clock) {
    const address = apiAddress(account.apiUrl);
    const sockets = { keepAlive: true, maxSockets: SOCKETS_MAX };
    this.#agent = address?.protocol === "http" ? new HttpAgent(sockets) : new HttpsAgent(sockets);
    this.#account = account;
    this.#clock = clock;
    this.#stripe = new Stripe("", {
      ...address,
      authenticator: async ({ headers }) => {
        headers["Authorization"] = `Bearer ${account.secretKey()}`;
      },
      httpAgent: this.#agent,
      maxNetworkRetries: NETWORK_RETRIES,
      timeout: REQUEST_TIMEOUT_MS,
      telemetry: false,
    });
    this.cards = new StripeCards(this.#stripe);
  }

  /** A call repeated for the same purchase and customer returns the same checkout. */
  async openCheckout(
    purchase: Pick<KnownPurchase, "purchaseId" | "orgId" | "cents" | "expiresAtMs">,
    visit: {
      readonly email: string;
      readonly successUrl: string;
      readonly cancelUrl: string;
      /** If set, the card is saved with this customer. */
      readonly customerId?: string;
      readonly company?: Company;
    },
  ): Promise<{ readonly sessionId: string; readonly url: string }> {
    const { purchaseId, orgId } = purchase;
    const metadata = { purchase_id: purchaseId, org_id: orgId };
    const { customerId } = visit;
    const session = await this.#stripe.checkout.sessions.create(
      {
        mode: "payment",
        line_items: [
          {
            quantity: 1,
            price_data: {
              currency: "usd",
              unit_amount: Number(purchase.cents),
              product_data: { name: "Prepaid API credit" },
            },
          },
        ],
        client_reference_id: orgId,
        ...(customerId === undefined
          ? { customer_email: visit.email, metadata, payment_intent_data: { metadata } }
          : {
              customer: customerId,
              allowed_payment_method_types: ["card" as const],
              metadata: { ...metadata, [SAVE_CARD]: "1" },
              payment_intent_data: { metadata, setup_future_usage: "off_session" as const },
            }),
        invoice_creation: {
          enabled: true,
          ...(visit.company === undefined ? {} : { invoice_data: toInvoiceData(visit.company) }),
        },
        expires_at: Math.floor(purchase.expiresAtMs / 1000),
        success_url: visit.successUrl,
        cancel_url: visit.cancelUrl,
      },
      { idempotencyKey: [purchaseId, customerId ?? []].flat().join(":") },
    );
    if (session.url === null) throw new Error("the checkout session has no address");
    return { sessionId: session.id, url: session.url };
  }

  async session(sessionId: string): Promise<SessionUpdate | undefined> {
    return await orMissing(async () =>
      readSession(await this.#stripe.checkout.sessions.retrieve(sessionId, { expand: RECEIPT })),
    );
  }

  async *sessionsSince(sinceMs: number): AsyncGenerator<FoundCheckout> {
    const asked = { ...createdSince(sinceMs), expand: RECEIPT.map((path) => `data.${path}`) };
    for await (const session of this.#stripe.checkout.sessions.list(asked)) {
      const createdAtMs = session.created * 1000;
      yield { session: readSession(session), createdAtMs, expiresAtMs: session.expires_at * 1000 };
    }
  }

  async purchaseOfPayment(paymentId: string): Promise<string | undefined> {
    return await orMissing(async () => {
      const intent = await this.#stripe.paymentIntents.retrieve(paymentId);
      return intent.metadata["purchase_id"];
    });
  }

  async claim(claim: OpenClaim): Promise<ClaimUpdate | undefined> {
    return await orMissing(async () =>
      claim.kind === "refund"
        ? readRefund(await this.#stripe.refunds.retrieve(claim.claimId))
        : readDispute(await this.#stripe.disputes.retrieve(claim.claimId)),
    );
  }

  /** Yields the few disputes before the refunds, so a caller with a limit gets all disputes. */
  async *claimsSince(sinceMs: number): AsyncGenerator<ClaimUpdate> {
    const range = createdSince(sinceMs);
    for await (const dispute of this.#stripe.disputes.list(range)) {
      const update = readDispute(dispute);
      if (update !== undefined) yield update;
    }
    for await (const refund of this.#stripe.refunds.list(range)) {
      const update = readRefund(refund);
      if (update !== undefined) yield update;
    }
  }

  /** Undefined if no secret matches, or if the event is older than five minutes or malformed. */
  event(body: Buffer, signature: string): PaymentEvent | undefined {
    for (const secret of this.#account.webhookSecrets()) {
      const event = this.#provenEvent(body, signature, secret);
      if (event !== undefined) return readEvent(event);
    }
    return undefined;
  }

  #provenEvent(body: Buffer, signature: string, secret: string): Stripe.Event | undefined {
    const { webhooks } = this.#stripe;
    const tolerance = WEBHOOK_TOLERANCE_SECONDS;
    const nowMs = this.#clock.nowMs();
    try {
      return webhooks.constructEvent(body, signature, secret, tolerance, undefined, nowMs);
    } catch {
      // The next secret may match the signature.
      return undefined;
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}

function apiAddress(
  apiUrl: string,
): { readonly host: string; readonly port: string; readonly protocol: "http" | "https" } | null {
  if (apiUrl === "") return null;
  const url = new URL(apiUrl);
  const protocol = url.protocol === "http:" ? "http" : "https";
  const port = url.port === "" ? (protocol === "http" ? "80" : "443") : url.port;
  return { host: url.hostname, port, protocol };
}
