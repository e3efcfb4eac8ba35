import { createHash } from "node:crypto";

import type { CheckoutCharge, CheckoutSession } from "./checkout-objects.ts";
import { TEST_CARDS } from "./test-cards.ts";

export interface Page {
  readonly html: string;
  readonly contentSecurityPolicy: string;
}

const CENTS_PER_USD = 100;

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center;
  background: light-dark(#f4f5f7, #16181c); color: light-dark(#1c1f24, #eceef1); }
main { width: min(26rem, calc(100vw - 2rem)); padding: 2rem; border-radius: 12px;
  background: light-dark(#fff, #23262c); border: 1px solid light-dark(#d5d9df, #3a3f48); }
h1 { margin: 0 0 .5rem; font-size: 1.25rem; }
.note { margin: 0 0 1.5rem; padding: .5rem .75rem; border-radius: 8px;
  background: light-dark(#fff3cd, #4a3a08); color: light-dark(#5c4400, #ffe69c); }
.amount { margin: 0 0 1.5rem; font-size: 2rem; font-weight: 600; }
fieldset { margin: 0 0 1rem; padding: .5rem .75rem; border-radius: 8px;
  border: 1px solid light-dark(#d5d9df, #3a3f48); }
label { display: block; margin: .25rem 0; }
form { margin: 0 0 .75rem; }
button { width: 100%; padding: .7rem; font: inherit; border-radius: 8px; cursor: pointer;
  border: 1px solid light-dark(#7a8290, #8b93a1); background: transparent; color: inherit; }
button.pay { background: #0b5cad; border-color: #0b5cad; color: #fff; font-weight: 600; }
:focus-visible { outline: 3px solid light-dark(#0b5cad, #8ec5ff); outline-offset: 2px; }
a { color: light-dark(#0b5cad, #8ec5ff); }
small { color: light-dark(#555c66, #b5bcc7); }
`;

const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");

/** Where test money is paid, and test cards are saved. */
export function payPage(session: CheckoutSession): Page {
  const action = (name: string): string => `/pay/${session.id}/${name}`;
  const isSetup = session.mode === "setup";
  const cards = isSetup || session.saves_card ? cardChoice() : "";
  const button = isSetup ? "Save this card" : "Pay with test money";
  const fail = `
    <form method="post" action="${action("fail")}"><button>Let the payment fail</button></form>`;
  const open = `
    <p class="amount">${isSetup ? "Save a card" : money(session.amount_total, session.currency)}</p>
    <form method="post" action="${action("pay")}">${cards}<button class="pay">${button}</button></form>${isSetup ? "" : fail}
    <form method="post" action="${action("close")}"><button>Close without ${isSetup ? "saving" : "paying"}</button></form>
    <small>For ${escaped(session.customer_email ?? session.customer ?? "nobody")}</small>`;
  const over = `
    <p>This checkout is ${session.status === "expired" ? "expired" : "finished"}.</p>
    <p><a href="${escaped(session.cancel_url)}">Back to the console</a></p>`;
  const targets = [session.success_url, session.cancel_url].map((url) => new URL(url).origin);
  return page(session.status === "open" ? open : over, targets);
}

/** Which test card is saved: what each does later. */
function cardChoice(): string {
  const choices = TEST_CARDS.map(
    ({ last4, does }, index) => `
      <label><input type="radio" name="card" value="${last4}"${index === 0 ? " checked" : ""}>
        Card ending in ${last4}: ${escaped(does)}</label>`,
  );
  return `
    <fieldset><legend>Test card, saved for automatic top-up</legend>${choices.join("")}
    </fieldset>`;
}

/** The receipt of a payment with test money. */
export function receiptPage(charge: CheckoutCharge): Page {
  return page(
    `<p class="amount">${money(charge.amount, charge.currency)}</p>
    <p>Received with thanks, payment ${escaped(charge.payment_intent)}.</p>`,
    [],
  );
}

export function unknownPage(): Page {
  return page(
    "<p>There is no such checkout. It lives as long as the program that began it: begin another in the console.</p>",
    [],
  );
}

function page(content: string, formTargets: readonly string[]): Page {
  const html = `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Test checkout</title>
  <style>${STYLE}</style>
</head>
<body>
  <main>
    <h1>Test checkout</h1>
    <p class="note"><strong>Test money:</strong> no card is asked for, nothing is charged.</p>${content}
  </main>
</body>
</html>
`;
  // A browser holds a form to this list after a redirect too.
  const formAction = ["'self'", ...new Set(formTargets)].join(" ");
  const contentSecurityPolicy =
    `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action ${formAction}; ` +
    "base-uri 'none'; frame-ancestors 'none'";
  return { html, contentSecurityPolicy };
}

function money(cents: number, currency: string): string {
  const whole = Math.trunc(cents / CENTS_PER_USD);
  const rest = String(cents % CENTS_PER_USD).padStart(2, "0");
  return `${currency === "usd" ? "$" : ""}${whole}.${rest} ${escaped(currency.toUpperCase())}`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.codePointAt(0)};`);
}
