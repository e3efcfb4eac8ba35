import { escapeHtml, plainPage, type PlainPage } from "../../kernel/index.ts";
import type { CheckoutCharge, CheckoutSession } from "./checkout-objects.ts";
import { TEST_CARDS } from "./test-cards.ts";

const CENTS_PER_USD = 100;

export function payPage(session: CheckoutSession): PlainPage {
  const action = (name: string): string => `/pay/${session.id}/${name}`;
  const isSetup = session.mode === "setup";
  const cards = isSetup || session.saves_card ? cardChoice() : "";
  const button = isSetup ? "Save this card" : "Pay with test money";
  const fail = `
    <form method="post" action="${action("fail")}"><button class="other">Let the payment fail</button></form>`;
  const open = `
    <p class="amount">${isSetup ? "Save a card" : money(session.amount_total, session.currency)}</p>
    <form method="post" action="${action("pay")}">${cards}<button>${button}</button></form>${isSetup ? "" : fail}
    <form method="post" action="${action("close")}"><button class="other">Close without ${isSetup ? "saving" : "paying"}</button></form>
    <p class="small">For ${escapeHtml(session.customer_email ?? session.customer ?? "a payer without an email address")}</p>`;
  const over = `
    <p>This checkout ${session.status === "expired" ? "ended without a payment" : "is complete"}.</p>
    <p><a href="${escapeHtml(session.cancel_url)}">Back to the console</a></p>`;
  const targets = [session.success_url, session.cancel_url].map((url) => new URL(url).origin);
  return page(session.status === "open" ? open : over, targets);
}

function cardChoice(): string {
  const choices = TEST_CARDS.map(
    ({ last4, does }, index) => `
      <label><input type="radio" name="card" value="${last4}"${index === 0 ? " checked" : ""}>
        Card ending in ${last4}: ${escapeHtml(does)}</label>`,
  );
  return `
    <fieldset><legend>Test card, saved for automatic top-up</legend>${choices.join("")}
    </fieldset>`;
}

export function receiptPage(charge: CheckoutCharge): PlainPage {
  return page(
    `<p class="amount">${money(charge.amount, charge.currency)}</p>
    <p>Payment received, thank you. Payment ID: <code>${escapeHtml(charge.payment_intent)}</code></p>`,
    [],
  );
}

export function unknownPage(): PlainPage {
  return page(
    "<p>This checkout no longer exists: it ends when the program that started it stops. Start another one in the console.</p>",
    [],
  );
}

function page(content: string, formTargets: readonly string[]): PlainPage {
  return plainPage({
    title: "Test checkout",
    formTargets,
    body: `<div class="card">
    <h1>Test checkout</h1>
    <p class="note warn"><strong>Test money:</strong> no card is needed, and nothing is charged.</p>${content}
</div>`,
  });
}

function money(cents: number, currency: string): string {
  const whole = Math.trunc(cents / CENTS_PER_USD);
  const rest = String(cents % CENTS_PER_USD).padStart(2, "0");
  return `${currency === "usd" ? "$" : ""}${whole}.${rest} ${escapeHtml(currency.toUpperCase())}`;
}
