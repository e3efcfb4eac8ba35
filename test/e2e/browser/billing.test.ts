import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";

import { assert } from "../../../src/kernel/core/assert.ts";
import { until } from "../../support/books.ts";
import {
  expectAccessible,
  expectPrintFits,
  hasChromium,
  withBrowser,
} from "../../support/browser.ts";
import {
  ask,
  callGateway,
  callUntil,
  makeKey,
  newcomer,
  pageShown,
  pageOpener,
} from "../../support/console-steps.ts";
import { withConsole } from "../../support/console-fixture.ts";
import { textAt, type HttpAnswer } from "../../support/http-call.ts";

const BANNER_MS = 5_000;
const UNFUNDED = "20 requests per minute until you add credit.";

const MONTH = new Date().toLocaleDateString("en-US", {
  month: "long",
  year: "numeric",
  timeZone: "UTC",
});

const fixture = withConsole();
const open = pageOpener(fixture);
const browser = withBrowser();

describe.skipIf(!hasChromium)("buying credit", () => {
  test("with test money fills the balance, and the unfunded limit is over within seconds", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "buyer" });
    await open(page, "/billing");
    await page.getByText(UNFUNDED).waitFor();
    await page.getByRole("link", { name: "Balance: $0.00 available" }).waitFor();
    await page.getByText("Other").click();
    await page.getByLabel("Amount in dollars").fill("1");
    await page.getByText("The minimum purchase is").waitFor();
    await expectAccessible(page, "an amount that is too small");
    await page.getByLabel("Amount in dollars").fill("12.5");
    await page.getByText("One charge of $12.50").waitFor();
    await page.getByRole("button", { name: "Pay $12.50" }).click();

    await page.waitForURL(`${fixture.checkout.url}/pay/*`);
    await page.getByText("$12.50 USD").waitFor();
    await page.getByRole("button", { name: "Pay with test money" }).click();
    await page.waitForURL(`${fixture.consoleUrl}/billing/return/*`);
    await page.getByText("Payment confirmed. The credit is in your balance.").waitFor();
    await page.getByText(UNFUNDED).waitFor({ state: "detached", timeout: BANNER_MS });
    await page.getByRole("link", { name: "Balance: $12.50 available" }).waitFor();

    await page.getByRole("link", { name: "Back to billing" }).click();
    const row = page.getByRole("table", { name: "All purchases" }).getByRole("row").nth(1);
    await row.getByText("Paid", { exact: true }).waitFor();
    await row.getByRole("link", { name: "Receipt TEST-000001" }).click();
    await page.getByRole("heading", { name: "Receipt TEST-000001" }).waitFor();
    await page.getByText("Visa 4242").waitFor();
    await page.getByText("$12.50").first().waitFor();
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "PDF" }).click();
    expect((await download).suggestedFilename()).toBe("receipt-test-000001.pdf");
    await expectPrintFits(page);
    expect(complaints).toEqual([]);
  });

  test("that fails or is abandoned adds nothing, and only the purchase decides that it is paid", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "poor" });
    await open(page, "/billing");
    await page.getByRole("button", { name: "Pay $25.00" }).click();
    await page.getByRole("button", { name: "Let the payment fail" }).click();
    await page.getByText("The payment failed. Nothing was charged").waitFor();
    await page.getByRole("link", { name: "Back to billing" }).click();
    await page.getByRole("button", { name: "Pay $25.00" }).click();
    await page.getByRole("button", { name: "Close without paying" }).click();
    await page.waitForURL(`${fixture.consoleUrl}/billing*`);
    await pageShown(page);
    const left = page.getByRole("row", { name: "Not paid" });
    await left.getByText("Not paid").waitFor();
    // The payer opens the return address without having paid.
    await left.getByRole("link", { name: "Check again" }).click();
    await page.getByText("has not confirmed a payment yet").waitFor();
    await page.getByText("This page updates automatically").waitFor();
    await expect.poll(() => page.getByText("Payment confirmed").count()).toBe(0);
    await page.getByText(UNFUNDED).waitFor();
    await page.getByRole("link", { name: "Balance: $0.00 available" }).waitFor();
    expect(complaints).toEqual([]);
  });

  test("and getting it refunded or disputed takes it out of the balance, visibly", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "back" });
    const sessionId = await buy(page, "25");
    const { book, webhooks } = fixture.checkout;
    const payment = book.payments.get(book.session(sessionId)?.payment_intent ?? "");
    assert(payment !== undefined, "the session was paid");
    book.refund(payment, 1_000);
    await webhooks.settled();
    const dispute = book.dispute(payment, 1_500);
    await webhooks.settled();
    await open(page, "/billing");
    await page.getByRole("link", { name: "Balance: $0.00 available" }).waitFor();
    const row = page.getByRole("table", { name: "All purchases" }).getByRole("row").nth(1);
    await row.getByText("Disputed", { exact: true }).waitFor();
    await row.getByText("refunded $10.00").waitFor();
    await row.getByText("disputed $15.00").waitFor();
    await page.getByRole("row", { name: "Refund" }).getByText("−$10.000000").waitFor();
    await page.getByRole("row", { name: "Dispute" }).getByText("−$15.000000").waitFor();
    book.closeDispute(dispute, "won");
    await webhooks.settled();
    await page.reload();
    await page.getByRole("link", { name: "Balance: $15.00 available" }).waitFor();
    await page.getByRole("row", { name: "Dispute won" }).getByText("+$15.000000").waitFor();
    // An organization that had credit once does not get the unfunded limit again.
    await expect.poll(() => page.getByText(UNFUNDED).count()).toBe(0);
    expect(complaints).toEqual([]);
  });
});

describe.skipIf(!hasChromium)("a statement", () => {
  test("has the company data that were typed, and prints without the rest of the console", async () => {
    const who = { name: "acme", usd: "25" } as const;
    const { page, complaints } = await newcomer(fixture, browser, who);
    const { secret } = await makeKey(fixture, page, { name: "a key with quite a long name" });
    expect((await callGateway(fixture, secret)).status).toBe(200);
    await page.goto(`${fixture.consoleUrl}/billing/company`);
    await page.getByLabel("Legal name").fill("Acme Ltd");
    await page.getByLabel("Address").fill("1 Main St\nFloor 2");
    await page.getByLabel("City").fill("London");
    await page.getByLabel("Country code").fill("GB");
    await page.getByLabel("Tax ID", { exact: true }).fill("US1");
    await page.getByRole("button", { name: "Save company data" }).click();
    await page.getByText("The tax ID does not have the format of this type").first().waitFor();
    await page.getByLabel("Tax ID", { exact: true }).fill("DE 123456789");
    await page.getByRole("button", { name: "Save company data" }).click();
    await page.getByText("Company data was saved").waitFor();

    await page.goto(`${fixture.consoleUrl}/billing/statements`);
    await page.getByRole("link", { name: MONTH }).click();
    await page.getByText("This month so far").waitFor();
    await page.getByText("Acme Ltd").waitFor();
    await page.getByText("Tax ID DE 123456789").waitFor();
    await pageShown(page);

    await page.emulateMedia({ media: "print" });
    const around = page.locator("header, nav").filter({ visible: true });
    await expect.poll(() => around.count()).toBe(0);
    await expect.poll(() => page.getByText("Closing balance").isVisible()).toBe(true);
    await expect.poll(() => page.getByRole("button", { name: "Print" }).isVisible()).toBe(false);
    await expectPrintFits(page);
    expect(complaints).toEqual([]);
  });
});

describe.skipIf(!hasChromium)("the limits page", () => {
  test("lowers a key's limit, never raises it, and restores the ceiling", async () => {
    const who = { name: "lower", usd: "5", theme: "dark" } as const;
    const { page, complaints } = await newcomer(fixture, browser, who);
    await makeKey(fixture, page, { name: "batch" });
    await open(page, "/limits");
    const row = limitsTable(page).getByRole("row", { name: "batch" });
    const dialog = page.getByRole("dialog", { name: "Limits of “batch”" });
    const field = dialog.getByLabel("Requests per minute");
    const edit = row.getByRole("button", { name: "Edit the limits of batch" });

    await edit.click();
    await dialog.getByText("1 to 300. Leave blank to keep it unchanged.").waitFor();
    for (const tooMuch of ["301", "many"]) {
      await field.fill(tooMuch);
      await save(dialog);
      await dialog.getByText("from 1 to 300. Limits can be lowered, not raised").waitFor();
    }
    await expectAccessible(page, "a limit that is too high");
    await field.fill("2");
    await save(dialog);
    await dialog.waitFor({ state: "detached" });
    await row.getByText("of 2").waitFor();
    await edit.click();
    await expect.poll(() => field.getAttribute("placeholder")).toBe("2");
    await dialog.getByLabel("Remove my limit of 2").check();
    await save(dialog);
    await dialog.waitFor({ state: "detached" });
    await row.getByText("of 300").waitFor();
    expect(complaints).toEqual([]);
  });

  test("asks before a cap stops requests, then says on every page that it does", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "stop", usd: "5" });
    const { secret } = await makeKey(fixture, page, { name: "app" });
    expect((await callGateway(fixture, secret)).status).toBe(200);
    await open(page, "/limits");
    const row = page
      .getByRole("table", { name: "Caps of the organization" })
      .getByRole("row", { name: "Organization" });
    await row.getByRole("button", { name: "Edit the monthly cap of" }).click();
    const dialog = page.getByRole("dialog", { name: "Organization cap" });
    const field = dialog.getByLabel("Monthly cap in dollars");
    const anyway = dialog.getByRole("button", { name: "Set it anyway" });
    await field.fill("0.000002");
    await save(dialog);
    await dialog.getByText(/^This stops all requests until 1 /).waitFor();
    await expectAccessible(page, "a cap that stops requests");
    // Another amount needs another confirmation.
    await field.fill("0.000001");
    await save(dialog);
    await dialog.getByText("of $0.000001 is already spent").waitFor();
    await anyway.click();
    await dialog.waitFor({ state: "detached" });

    const refused = await refusedInTheEnd(() => callGateway(fixture, secret));
    const requestId = await recorded(page, refused);
    await open(page, "/usage");
    const notices = page.getByRole("region", { name: "Notices" });
    await notices.getByText("The organization's monthly cap of $0.000001 is used up").waitFor();
    await notices.getByText("rejected in the last hour").waitFor();
    await page.getByLabel("Find a request by its ID").fill("nonsense");
    await page.getByRole("button", { name: "Find" }).click();
    await page.getByText("Paste the whole x-request-id").waitFor();
    await page.getByLabel("Find a request by its ID").fill(requestId);
    await page.getByRole("button", { name: "Find" }).click();
    await page.waitForURL(`${fixture.consoleUrl}/requests/${requestId}`);
    await page.getByText("The organization's monthly cap of $0.000001 would have been").waitFor();
    await open(page, "/");
    await page.getByText("over the organization's cap").waitFor();
    await notices.getByRole("link", { name: "Raise cap" }).click();
    await page.waitForURL(`${fixture.consoleUrl}/limits`);
    await row.getByRole("button", { name: "Edit the monthly cap of" }).click();
    await field.fill("0");
    await save(dialog);
    await dialog.waitFor({ state: "detached" });
    await notices.getByText("monthly cap").waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
  });
});

/** Buys credit as the pages do, without opening them; returns the id of the checkout's session. */
async function buy(page: Page, usd: string): Promise<string> {
  const bought = await ask(fixture, page, "POST /api/console/purchases", { amount_usd: usd });
  const checkoutUrl = textAt(bought.json, "checkout_url");
  const paid = await fetch(`${checkoutUrl}/pay`, { method: "POST", redirect: "manual" });
  expect(paid.status).toBe(303);
  const route = `GET /api/console/purchases/${textAt(bought.json, "purchase.purchase_id")}`;
  await until("the purchase is paid", async () => {
    const { json } = await ask(fixture, page, route);
    return textAt(json, "status") === "paid";
  });
  return new URL(checkoutUrl).pathname.split("/").at(-1) ?? "";
}

function limitsTable(page: Page): Locator {
  return page.getByRole("table", { name: /^Limits:/ });
}

async function save(dialog: Locator): Promise<void> {
  await dialog.getByRole("button", { name: "Save" }).click();
}

/** The id of an answered request once its record, which is written later, can be read. */
async function recorded(page: Page, answer: HttpAnswer): Promise<string> {
  const requestId = String(answer.headers["x-request-id"]);
  await until("the request is recorded", async () => {
    const { json } = await ask(fixture, page, `GET /api/console/requests/${requestId}`);
    const outcome = textAt(json, "request.outcome");
    return outcome !== "" && outcome !== "in_flight";
  });
  return requestId;
}

async function refusedInTheEnd(call: () => Promise<HttpAnswer>): Promise<HttpAnswer> {
  const refused = await callUntil("a call is refused", call, ({ status }) => status !== 200);
  expect(refused.status).toBe(429);
  return refused;
}
