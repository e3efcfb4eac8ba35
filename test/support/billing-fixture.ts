import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";

import type { Logger } from "../../src/kernel/core/log.ts";
import { openBilling } from "../../src/account/billing/open-billing.ts";
import type { Billing } from "../../src/account/billing/stripe-billing.ts";
import type {
  CheckoutEvent,
  CheckoutPayment,
} from "../../src/dev/test-checkout/checkout-objects.ts";
import {
  startTestCheckout,
  type TestCheckout,
} from "../../src/dev/test-checkout/start-test-checkout.ts";
import type { OrgId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import { addOrg } from "./add-key.ts";
import type { Clock } from "../../src/kernel/core/time.ts";
import { MovableClock } from "./clocks.ts";
import { listenLocally, type LocalServer } from "./local-server.ts";
import { silentLog } from "./silent-log.ts";
import { withResource } from "./with-resource.ts";
import { freshBackend, type FreshBackend } from "./postgres.ts";
import { testOperator, testSeller } from "./test-operator.ts";

interface LogLine {
  readonly level: "info" | "warn" | "error";
  readonly detail: object;
  readonly message: string;
}

export type BillingFixture = Awaited<ReturnType<typeof openBillingFixture>>;
export type Bought = Awaited<ReturnType<typeof buy>>;

export const MICRO_PER_USD = 1_000_000n;

const NO_PROVIDER_CONFIG = {
  stripeSecretKey: "",
  stripeWebhookSecret: "",
  stripeApiUrl: "",
  purchaseMinUsd: "5.00",
  purchaseMaxUsd: "50.00",
  autoTopUp: true,
};

type BillingStores = Pick<FreshBackend, "purchaseStore" | "topUpStore">;

/** Opens billing as in another process; unless `config` names one, it has no payment provider. */
export function openOtherBilling(
  { backend, clock }: { readonly backend: BillingStores; readonly clock: Clock },
  config: Partial<typeof NO_PROVIDER_CONFIG> = {},
  more: Partial<Parameters<typeof openBilling>[0]> = {},
): Billing {
  return openBilling({
    config: { ...NO_PROVIDER_CONFIG, ...config },
    store: backend.purchaseStore,
    topUpStore: backend.topUpStore,
    consoleUrl: () => "http://127.0.0.1:1",
    seller: testSeller,
    clock,
    log: silentLog,
    ...more,
  });
}

export function withBillingFixture(options: BillingFixtureOptions = {}): BillingFixture {
  return withResource(() => openBillingFixture(options));
}

interface BillingFixtureOptions {
  /** Milliseconds to wait before each copy of an event is sent; default: one copy, at once. */
  readonly delivery?: (event: CheckoutEvent) => readonly number[];
}

/** Purchases end to end, with the payment provider's SDK, a checkout over HTTP and PostgreSQL. */
export async function openBillingFixture(options: BillingFixtureOptions = {}) {
  const backend = await freshBackend();
  const clock = new MovableClock();
  const log: LogLine[] = [];
  let door: LocalServer | undefined = undefined;
  const consoleUrl = (): string => door?.url ?? "";
  const checkout = await startTestCheckout({
    clock,
    webhookUrl: () => `${consoleUrl()}/webhooks/stripe`,
    ...options,
  });
  const more = { testCheckout: checkout, consoleUrl, log: noting(log) };
  const open = (): Billing =>
    openOtherBilling({ backend, clock }, { purchaseMaxUsd: "5000.00" }, more);
  const billings = [open(), open()] as const;
  const events: EventDoor = { billings, statuses: [], refusals: 0 };
  const opened = await listenLocally(
    createServer((request, response) => void takeEvent(events, request, response)),
  );
  door = opened;
  return {
    backend,
    checkout,
    clock,
    /** Two billing services on the same purchases, as in two processes. */
    billings,
    log,
    statuses: events.statuses,
    /** Answers the next `count` payment events with 500. */
    refuseEvents: (count: number) => void (events.refusals = count),
    newOrg: () => addOrg(backend),
    buy: (orgId: OrgId, dollars: number) => buy({ billing: billings[0], checkout }, orgId, dollars),
    /** The balance in micro-dollars, as the console shows it; negative if money is owed. */
    balance: async (orgId: OrgId) => (await backend.recordStore.balance(orgId)).settledMicroUsd,
    purchase: async ({ orgId, purchaseId }: Bought) => {
      const found = await backend.purchaseStore.findOwn(orgId, purchaseId);
      if (found === undefined) throw new Error(`no purchase ${purchaseId}`);
      return found;
    },
    /** Returns the audit checks that fail, as JSON. */
    broken: async () => {
      const checks = await backend.audit();
      return checks.filter(({ violations }) => violations > 0).map((each) => JSON.stringify(each));
    },
    close: async () => {
      await checkout.close();
      await Promise.all(billings.map((billing) => billing.close()));
      await opened.close();
      await backend.close();
    },
  };
}

export function paymentOf(fixture: BillingFixture, bought: Bought): CheckoutPayment {
  const { session } = bought;
  const payment = fixture.checkout.book.payments.get(session.payment_intent ?? "");
  if (payment === undefined) throw new Error(`${bought.purchaseId} is not paid`);
  return payment;
}

async function buy(
  { billing, checkout }: { readonly billing: Billing; readonly checkout: TestCheckout },
  orgId: OrgId,
  dollars: number,
) {
  const amountMicroUsd = microUsd(BigInt(dollars) * MICRO_PER_USD);
  const wanted = { orgId, amountMicroUsd, email: "owner@example.com" };
  const { purchase, checkoutUrl } = await billing.startPurchase(wanted, testOperator);
  const session = checkout.book.session(checkoutUrl.split("/").at(-1) ?? "");
  if (session === undefined) throw new Error(`no session at ${checkoutUrl}`);
  return { orgId, purchaseId: purchase.purchaseId, checkoutUrl, session };
}

interface EventDoor {
  readonly billings: readonly Billing[];
  readonly statuses: number[];
  refusals: number;
}

/** Receives a payment event as the console's route does. The `billings` take turns. */
async function takeEvent(events: EventDoor, request: IncomingMessage, response: ServerResponse) {
  const body = await buffer(request);
  const { billings, statuses } = events;
  const signature = request.headers["stripe-signature"];
  const billing = billings[statuses.length % billings.length];
  let status = 500;
  if (events.refusals > 0) {
    events.refusals -= 1;
  } else {
    const asked = { body, signature: typeof signature === "string" ? signature : undefined };
    const answer = await billing?.webhook(asked).catch(() => "failed");
    if (answer !== "failed") status = answer === "done" ? 200 : 400;
  }
  statuses.push(status);
  response.writeHead(status).end();
}

function noting(lines: LogLine[]): Logger {
  const note =
    (level: LogLine["level"]) =>
    (detail: object, message: string): void => {
      lines.push({ level, detail, message });
    };
  return { info: note("info"), warn: note("warn"), error: note("error") };
}
