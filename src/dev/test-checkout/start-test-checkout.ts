import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import { type Clock, type PlainPage, asText } from "../../kernel/index.ts";
import { listen } from "../listen.ts";
import { CheckoutApi } from "./checkout-api.ts";
import { CheckoutBook } from "./checkout-book.ts";
import type { CheckoutEvent, CheckoutSession } from "./checkout-objects.ts";
import { readForm, textAt } from "./form-body.ts";
import { payPage, receiptPage, unknownPage } from "./pay-page.ts";
import { WebhookSender } from "./webhook-sender.ts";

const BODY_BYTES_MAX = 64 * 1024;
/** Maximum wait for the delivery of all events before a payer is sent back. */
const RETURN_WAIT_MS = 3_000;

export interface TestCheckoutOptions {
  /** Returns the URL to which events are sent. It is called before each try. */
  readonly webhookUrl: () => string;
  readonly clock: Clock;
  /** Delay in ms of each copy of the event; an empty list sends none. Default: one copy at once. */
  readonly delivery?: (event: CheckoutEvent) => readonly number[];
}

/**
 * The fault of a call that charges a card. `lost_before`, `lost_after`: the connection breaks
 * before or after the charge. `busy`: answers 429. `broken`: answers 500. The last two charge
 * nothing.
 */
export type ChargeFault = "lost_before" | "lost_after" | "busy" | "broken" | "none";

export interface TestCheckout {
  readonly url: string;
  readonly secretKey: string;
  readonly webhookSecret: string;
  /** For tests: the faults of the next calls that charge a card, in the order of the calls. */
  readonly chargeFaults: ChargeFault[];
  /** For tests, which act through it as the payers and their banks. */
  readonly book: CheckoutBook;
  readonly webhooks: WebhookSender;
  close(): Promise<void>;
}

/** Starts a server with the parts of Stripe's API that purchases need, and a page to pay on. */
export async function startTestCheckout(options: TestCheckoutOptions): Promise<TestCheckout> {
  const secretKey = `sk_test_${randomBytes(24).toString("hex")}`;
  const webhookSecret = `whsec_${randomBytes(24).toString("hex")}`;
  let url = "";
  const { webhookUrl, clock, delivery = () => [0] } = options;
  const webhooks = new WebhookSender({ webhookUrl, webhookSecret, clock, delivery });
  const book = new CheckoutBook({
    clock,
    address: () => url,
    notify: (event) => webhooks.notify(event),
  });
  const chargeFaults: ChargeFault[] = [];
  const routes = new CheckoutRoutes({ secretKey, book, webhooks, chargeFaults });
  const server = createServer((request, response) => void routes.receive(request, response));
  const listening = await listen(server);
  ({ url } = listening);
  return {
    url,
    secretKey,
    webhookSecret,
    chargeFaults,
    book,
    webhooks,
    close: async () => {
      await Promise.all([listening.close(), webhooks.close()]);
    },
  };
}

class CheckoutRoutes {
  readonly #checkout: Omit<TestCheckout, "url" | "webhookSecret" | "close">;
  readonly #api: CheckoutApi;

  constructor(checkout: Omit<TestCheckout, "url" | "webhookSecret" | "close">) {
    this.#checkout = checkout;
    this.#api = new CheckoutApi(checkout.book);
  }

  async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const url = new URL(request.url ?? "/", "http://checkout");
      const text = await readBody(request);
      if (text === undefined)
        sendJson(response, 413, { error: { message: "the body is too long" } });
      else if (url.pathname.startsWith("/v1/")) this.#serveApi(request, response, { url, text });
      else await this.#servePayer(request, response, { url, text });
    } catch {
      response.destroy();
    }
  }

  #serveApi(
    request: IncomingMessage,
    response: ServerResponse,
    { url, text }: { readonly url: URL; readonly text: string },
  ): void {
    if (!this.#isOurs(request.headers.authorization)) {
      const message = "the secret key is not the one of this checkout";
      sendJson(response, 401, { error: { type: "invalid_request_error", message } });
      return;
    }
    const isCharge = request.method === "POST" && url.pathname === "/v1/payment_intents";
    const fault = isCharge ? (this.#checkout.chargeFaults.shift() ?? "none") : "none";
    if (fault === "lost_before") return void response.destroy();
    if (fault === "busy" || fault === "broken") {
      const error = { type: "api_error", message: "this is a fault of a test" };
      return sendJson(response, fault === "busy" ? 429 : 500, { error });
    }
    const { status, body } = this.#api.answer({
      method: request.method ?? "GET",
      path: url.pathname.slice("/v1/".length),
      query: readForm(url.search.slice(1)),
      form: readForm(text),
      text,
      idempotencyKey: asText(request.headers["idempotency-key"]),
    });
    if (fault === "lost_after") response.destroy();
    else sendJson(response, status, body);
  }

  #isOurs(authorization: string | undefined): boolean {
    const given = Buffer.from(authorization ?? "");
    const ours = Buffer.from(`Bearer ${this.#checkout.secretKey}`);
    return given.length === ours.length && timingSafeEqual(given, ours);
  }

  async #servePayer(
    request: IncomingMessage,
    response: ServerResponse,
    { url, text }: { readonly url: URL; readonly text: string },
  ): Promise<void> {
    const [, noun, id = "", action] = url.pathname.split("/");
    const charge = noun === "receipt" ? this.#checkout.book.charges.get(id) : undefined;
    const session = noun === "pay" ? this.#checkout.book.session(id) : undefined;
    if (charge !== undefined) sendPage(response, 200, receiptPage(charge));
    else if (session === undefined) sendPage(response, 404, unknownPage());
    else if (request.method === "POST") {
      await this.#decide(response, session, { action, last4: textAt(readForm(text), "card") });
    } else sendPage(response, 200, payPage(session));
  }

  async #decide(
    response: ServerResponse,
    session: CheckoutSession,
    { action, last4 }: { readonly action: string | undefined; readonly last4: string | undefined },
  ): Promise<void> {
    const isPayment = action === "pay" || action === "fail";
    if (isPayment && session.status === "open") {
      if (session.mode === "setup") this.#checkout.book.saveCard(session, last4);
      else this.#checkout.book.pay(session, {}, action === "fail", last4);
      if (action === "fail") this.#checkout.book.finish(session, false);
      await Promise.race([
        this.#checkout.webhooks.settled(),
        sleep(RETURN_WAIT_MS, undefined, { ref: false }),
      ]);
    }
    const isOver = session.status === "complete";
    response.writeHead(303, {
      location: isPayment && isOver ? session.success_url : session.cancel_url,
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
    });
    response.end();
  }
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

function sendPage(response: ServerResponse, status: number, page: PlainPage): void {
  response.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": page.policy,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
  });
  response.end(page.html);
}
