import type { CheckoutBook } from "./checkout-book.ts";
import type { CheckoutPayment, CheckoutSession } from "./checkout-objects.ts";
import { textAt, textsAt, type FormFields } from "./form-body.ts";

export interface ApiAnswer {
  readonly status: number;
  readonly body: object;
}

export interface ApiAsked {
  readonly method: string;
  /** The part of the path after `/v1/`. */
  readonly path: string;
  readonly query: FormFields;
  readonly form: FormFields;
  /** The form as the client sent it. Two calls with one idempotency key must have equal texts. */
  readonly text: string;
  readonly idempotencyKey: string | undefined;
}

const KEYS_KEPT_MAX = 10_000;
const PAGE_ITEMS_MAX = 100;
const CENTS_MIN = 50;
const DAY_SECONDS = 86_400;

/** Answers those calls of Stripe's API that purchases need. */
export class CheckoutApi {
  readonly #book: CheckoutBook;
  readonly #answers = new Map<string, { readonly text: string; readonly answer: ApiAnswer }>();

  constructor(book: CheckoutBook) {
    this.#book = book;
  }

  answer(asked: ApiAsked): ApiAnswer {
    const key = asked.idempotencyKey;
    if (asked.method !== "POST" || key === undefined) return this.#route(asked);
    const known = this.#answers.get(key);
    if (known !== undefined) {
      if (known.text === asked.text) return known.answer;
      const message = "this idempotency key was used with other parameters";
      return refused(400, { type: "idempotency_error", message });
    }
    const answer = this.#route(asked);
    if (this.#answers.size >= KEYS_KEPT_MAX) this.#answers.clear();
    this.#answers.set(key, { text: asked.text, answer });
    return answer;
  }

  #route(asked: ApiAsked): ApiAnswer {
    const [noun = "", second = "", third] = asked.path.split("/");
    const isPost = asked.method === "POST";
    if (noun === "checkout" && second === "sessions") {
      if (isPost && third === undefined) return this.#createSession(asked.form);
      if (isPost) return missing(asked.path);
      if (third === undefined) return this.#listSessions(asked.query);
      return this.#showSession(third, asked.query);
    }
    if (noun === "payment_intents") return this.#answerPayments(asked, second);
    if (noun === "customers") return this.#answerCustomers(asked, second);
    if (noun === "setup_intents" && !isPost) return this.#showSetup(second, asked.query);
    if (noun === "payment_methods") return this.#answerCards(isPost, second, third);
    if (noun === "refunds" && isPost && second === "") return this.#createRefund(asked.form);
    if (noun === "refunds" && !isPost) return listOrOne(this.#book.refunds, second, asked.query);
    if (noun === "disputes" && !isPost) return listOrOne(this.#book.disputes, second, asked.query);
    return missing(asked.path);
  }

  #answerPayments({ method, form, query }: ApiAsked, id: string): ApiAnswer {
    if (method === "POST") return id === "" ? this.#chargeCard(form) : missing(id);
    if (id !== "") {
      const payment = this.#book.payments.get(id);
      return payment === undefined ? missing(id) : shown(this.#shownPayment(payment, query));
    }
    const customer = textAt(query, "customer");
    if (customer !== undefined && !this.#book.customers.has(customer)) return missing(customer);
    const all = [...this.#book.payments.values()].filter(
      (payment) => customer === undefined || payment.customer === customer,
    );
    const expanded = all.map((payment) => this.#shownPayment(payment, query));
    return listOf(expanded, query);
  }

  #shownPayment(payment: CheckoutPayment, query: FormFields): Listed {
    const charge = this.#book.charges.get(payment.latest_charge ?? "") ?? null;
    const card = this.#book.cards.get(payment.payment_method ?? "") ?? null;
    // In a request for a list, the paths to expand begin with `data.`.
    const has = (what: string) => expandedPaths(query).some((path) => path.endsWith(what));
    return {
      ...payment,
      ...(has("latest_charge") && { latest_charge: charge }),
      ...(has("payment_method") && { payment_method: card }),
    };
  }

  #chargeCard(form: FormFields): ApiAnswer {
    const card = this.#book.cards.get(textAt(form, "payment_method") ?? "");
    const customer = textAt(form, "customer") ?? "";
    if (!this.#book.customers.has(customer)) return missing("customer");
    if (card === undefined) return missing("payment_method");
    if (card.customer !== customer) return invalid("payment_method", "card of the customer");
    const cents = Number(textAt(form, "amount"));
    if (!Number.isInteger(cents) || cents < CENTS_MIN) return invalid("amount", "amount");
    const isOffSession = textAt(form, "off_session") === "true";
    if (!isOffSession || textAt(form, "confirm") !== "true") return invalid("off_session", "way");
    const currency = textAt(form, "currency") ?? "usd";
    const metadata = textsAt(form, "metadata");
    const payment = this.#book.chargeCard({ card, cents, currency, metadata });
    const { last_payment_error: decline } = payment;
    if (decline === null) return shown(this.#shownPayment(payment, form));
    return refused(402, { ...decline, payment_intent: payment });
  }

  #answerCustomers({ method, form }: ApiAsked, id: string): ApiAnswer {
    if (method !== "POST") return shown(this.#book.customers.get(id));
    return id === "" ? shown(this.#book.createCustomer(textsAt(form, "metadata"))) : missing(id);
  }

  #showSetup(id: string, query: FormFields): ApiAnswer {
    const setup = this.#book.setups.get(id);
    if (setup === undefined) return missing(id);
    if (!expandedPaths(query).includes("payment_method")) return shown(setup);
    return shown({ ...setup, payment_method: this.#book.cards.get(setup.payment_method) });
  }

  #answerCards(isPost: boolean, id: string, action: string | undefined): ApiAnswer {
    const card = this.#book.cards.get(id);
    if (card === undefined) return missing(id);
    if (!isPost) return shown(card);
    if (action !== "detach") return missing(id);
    if (card.customer === null) return invalid("payment_method", "card of a customer");
    card.customer = null;
    return shown(card);
  }

  #createSession(form: FormFields): ApiAnswer {
    const isSetup = textAt(form, "mode") === "setup";
    const customer = textAt(form, "customer") ?? null;
    if (customer !== null && !this.#book.customers.has(customer)) return missing("customer");
    if (isSetup && customer === null) return invalid("customer", "customer");
    const price = ["line_items", "0", "price_data"] as const;
    const cents = Number(textAt(form, ...price, "unit_amount"));
    const successUrl = textAt(form, "success_url") ?? "";
    const cancelUrl = textAt(form, "cancel_url") ?? "";
    const isAmount = Number.isInteger(cents) && cents >= CENTS_MIN;
    if (!isSetup && !isAmount) return invalid("line_items", "amount");
    if (!isWebAddress(successUrl)) return invalid("success_url", "address");
    if (!isWebAddress(cancelUrl)) return invalid("cancel_url", "address");
    const invoiceFields = readInvoiceFields(form);
    if (invoiceFields === undefined) return invalid("invoice_creation", "list of fields");
    const usage = textAt(form, "payment_intent_data", "setup_future_usage");
    const session = this.#book.createSession({
      mode: isSetup ? "setup" : "payment",
      customer,
      savesCard: customer !== null && usage === "off_session",
      cents: isSetup ? 0 : cents,
      currency: textAt(form, ...price, "currency") ?? "usd",
      orgId: textAt(form, "client_reference_id") ?? null,
      email: textAt(form, "customer_email") ?? null,
      metadata: textsAt(form, "metadata"),
      paymentMetadata: textsAt(form, "payment_intent_data", "metadata"),
      invoiceFields,
      successUrl,
      cancelUrl,
      expiresAtSeconds: Number(textAt(form, "expires_at") ?? this.#book.nowSeconds() + DAY_SECONDS),
    });
    return shown(session);
  }

  #listSessions(query: FormFields): ApiAnswer {
    const sessions = [...this.#book.sessions.keys()].flatMap((id) => this.#book.session(id) ?? []);
    const expanded = sessions.map((session) => this.#expanded(session));
    return listOf(expanded, query);
  }

  #showSession(id: string, query: FormFields): ApiAnswer {
    const session = this.#book.session(id);
    if (session === undefined) return missing(id);
    const isWhole = expandedPaths(query).includes("payment_intent.latest_charge");
    return shown(isWhole ? this.#expanded(session) : session);
  }

  #expanded(session: CheckoutSession) {
    const payment = this.#book.payments.get(session.payment_intent ?? "");
    if (payment === undefined) return session;
    const charge = this.#book.charges.get(payment.latest_charge ?? "") ?? null;
    return { ...session, payment_intent: { ...payment, latest_charge: charge } };
  }

  #createRefund(form: FormFields): ApiAnswer {
    const payment = this.#book.payments.get(textAt(form, "payment_intent") ?? "");
    if (payment === undefined) return missing("payment_intent");
    const cents = textAt(form, "amount");
    const refund = this.#book.refund(payment, cents === undefined ? undefined : Number(cents));
    return refund === undefined ? invalid("amount", "amount") : shown(refund);
  }
}

function expandedPaths(query: FormFields): readonly string[] {
  return Object.values(textsAt(query, "expand"));
}

interface Listed {
  readonly id: string;
  readonly created: number;
}

function listOrOne(kept: ReadonlyMap<string, Listed>, id: string, query: FormFields): ApiAnswer {
  return id === "" ? listOf([...kept.values()], query) : shown(kept.get(id));
}

function listOf(kept: readonly Listed[], query: FormFields): ApiAnswer {
  const since = Number(textAt(query, "created", "gte") ?? 0);
  const limit = Math.min(Number(textAt(query, "limit") ?? 10), PAGE_ITEMS_MAX);
  const newest = kept.filter(({ created }) => created >= since).reverse();
  const after = textAt(query, "starting_after");
  const first = after === undefined ? 0 : newest.findIndex((each) => each.id === after) + 1;
  const data = newest.slice(first, first + limit);
  const has_more = first + data.length < newest.length;
  return { status: 200, body: { object: "list", data, has_more, url: "/v1" } };
}

function isWebAddress(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text);
}

function shown(object: object | undefined): ApiAnswer {
  return object === undefined ? missing("this object") : { status: 200, body: object };
}

function missing(what: string): ApiAnswer {
  const message = `no such thing here: ${what}`;
  return refused(404, { type: "invalid_request_error", code: "resource_missing", message });
}

function invalid(param: string, what: string): ApiAnswer {
  const message = `${param} holds no such ${what} as is possible here`;
  return refused(400, { type: "invalid_request_error", param, message });
}

function refused(status: number, error: object): ApiAnswer {
  return { status, body: { error } };
}

const INVOICE_FIELDS_MAX = 4;
const FIELD_NAME_MAX = 40;
const FIELD_VALUE_MAX = 140;

/** Reads an invoice's custom fields. Undefined if Stripe would refuse their number or length. */
function readInvoiceFields(form: FormFields): Readonly<Record<string, string>> | undefined {
  const fields: Record<string, string> = {};
  const path = ["invoice_creation", "invoice_data", "custom_fields"] as const;
  for (let at = 0; ; at += 1) {
    const name = textAt(form, ...path, String(at), "name");
    const value = textAt(form, ...path, String(at), "value");
    if (name === undefined || value === undefined) return fields;
    const isLong = name.length > FIELD_NAME_MAX || value.length > FIELD_VALUE_MAX;
    if (at >= INVOICE_FIELDS_MAX || isLong) return undefined;
    fields[name] = value;
  }
}
