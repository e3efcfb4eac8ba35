import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";

import { assert } from "../../../src/kernel/core/assert.ts";
import { microUsd } from "../../../src/kernel/core/money.ts";
import { until } from "../../support/books.ts";
import {
  deepTest,
  expectAccessible,
  expectPrintFits,
  hasChromium,
  newVisitor,
  withBrowser,
  type Visitor,
} from "../../support/browser.ts";
import {
  ask,
  callGateway,
  callUntil,
  makeKey,
  newcomer,
  pageShown,
  pageOpener,
  signIn,
} from "../../support/console-steps.ts";
import { withConsole } from "../../support/console-fixture.ts";
import { at, listAt, textAt } from "../../support/http-call.ts";
import { serveYesterday } from "../../support/served-yesterday.ts";
import { runSql } from "../../support/sql.ts";
import { testOperator } from "../../support/test-operator.ts";

const UNFUNDED = "20 requests per minute until you add credit.";

const MONTH = new Date().toLocaleDateString("en-US", {
  month: "long",
  year: "numeric",
  timeZone: "UTC",
});

const fixture = withConsole({ settings: { operators: "boss@example.com" } });
const open = pageOpener(fixture);
const browser = withBrowser();

describe.skipIf(!hasChromium)("a purchase of credit", () => {
  test("with test money fills the balance, and the notice of the unfunded limit ends without a reload", async () => {
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
    await page.getByText(UNFUNDED).waitFor({ state: "detached" });
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

  test("is listed among the newest thousand, and the page says where the older ones are", async () => {
    const { page, orgId } = await newcomer(fixture, browser, { name: "many" });
    const add = async (from: number, to: number): Promise<void> =>
      await runSql(
        fixture.gateway,
        `insert into purchase (purchase_id, org_id, micro_usd, cents, state, is_test_money,
           created_at, expires_at)
         select 'pur_many' || n, $1, 10000, 1, 'expired', true, now(), now()
         from generate_series($2::int, $3::int) n`,
        [orgId, from, to],
      );
    await add(1, 999);
    await open(page, "/billing");
    await page.getByRole("table", { name: "All purchases" }).waitFor();
    const note = page.getByText("The newest 1,000 are listed. Older ones, if any, are in");
    expect(await note.count()).toBe(0);
    await add(1_000, 1_001);
    await open(page, "/billing");
    await note.waitFor();
    await page.getByRole("table", { name: "Newest purchases" }).waitFor();
    expect(
      listAt((await ask(fixture, page, "GET /api/console/billing")).json, "purchases"),
    ).toHaveLength(1_000);
  });

  test("that fails or is abandoned adds no credit, and its return page confirms no payment", async () => {
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

  test("that is refunded or disputed leaves the balance, and a won dispute returns to it", async () => {
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
    // An organization that has ever had credit does not get the unfunded limit again.
    await expect.poll(() => page.getByText(UNFUNDED).count()).toBe(0);
    expect(complaints).toEqual([]);
  });
});

describe.skipIf(!hasChromium)("company data", () => {
  test("that another member changed appear in the open form, which keeps them", async () => {
    const { page } = await newcomer(fixture, browser, { name: "two-hands" });
    const path = "/api/console/company";
    const before = {
      legal_name: "Acme Ltd",
      address_lines: ["1 Main St"],
      postal_code: "",
      city: "London",
      country: "GB",
      tax_id: null,
      purchase_order: "PO-1",
    };
    const theirs = { ...before, purchase_order: "PO-2" };
    await ask(fixture, page, `POST ${path}`, before);
    await page.goto(`${fixture.consoleUrl}/billing/company`);
    const order = page.getByLabel("Purchase order");
    await expect.poll(() => order.inputValue()).toBe("PO-1");
    await ask(fixture, page, `POST ${path}`, theirs);
    // The page reads the data again after a change whose answer it lost.
    await page.route(`**${path}`, (route) =>
      route.request().method() === "GET" ? route.fallback() : route.abort(),
    );
    await page.getByRole("button", { name: "Save company data" }).click();
    await expect.poll(() => order.inputValue()).toBe("PO-2");
    await page.unroute(`**${path}`);
    await page.getByLabel("City").fill("Leeds");
    await page.getByRole("button", { name: "Save company data" }).click();
    await page.getByText("Company data was saved").waitFor();
    const { json } = await ask(fixture, page, `GET ${path}`);
    expect(at(json, "company")).toEqual({ ...theirs, city: "Leeds" });
  });
});

describe.skipIf(!hasChromium)("a statement", () => {
  test("has the company data that were entered, and prints without header and navigation", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "acme", usd: "25" });
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
  test("lowers a key's limit, refuses one above the ceiling, and restores the ceiling", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "lower", usd: "5" });
    await makeKey(fixture, page, { name: "batch" });
    await open(page, "/limits");
    const row = page.getByRole("table", { name: /^Limits:/ }).getByRole("row", { name: "batch" });
    const dialog = page.getByRole("dialog", { name: "Limits of “batch”" });
    const field = dialog.getByLabel("Requests per minute");
    const edit = row.getByRole("button", { name: "Edit the limits of batch" });

    await edit.click();
    await dialog.getByText("1 to 300. Leave blank to keep it unchanged.").waitFor();
    await field.fill("301");
    await save(dialog);
    await dialog.getByText("from 1 to 300. Limits can be lowered, not raised").waitFor();
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

  test("asks before a cap stops all requests, and a notice names the cap until it is removed", async () => {
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

    const refused = await callUntil(
      "a call is refused",
      () => callGateway(fixture, secret),
      ({ status }) => status === 429,
    );
    const requestId = String(refused.headers["x-request-id"]);
    await until("the refusal is written down", async () => {
      const { status } = await ask(fixture, page, `GET /api/console/requests/${requestId}`);
      return status === 200;
    });
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

async function save(dialog: Locator): Promise<void> {
  await dialog.getByRole("button", { name: "Save" }).click();
}

async function openBoss(): Promise<Visitor> {
  const boss = await newVisitor(browser);
  await signIn(fixture, boss, "boss@example.com");
  return boss;
}

describe.skipIf(!hasChromium)("an operator at the console", () => {
  test("grants credit and lifts a restriction, each after a dialog", async () => {
    const { orgId } = await newcomer(fixture, browser, { name: "customer" });
    const { creditStore, usageHoldStore } = fixture.gateway.backend;
    const amountMicroUsd = microUsd(1_000_000n);
    await creditStore.grant({ orgId, amountMicroUsd, ref: "try", isTrial: true }, testOperator);
    const span = { ageMs: 1_000, limitedMs: 600_000, repeatMs: 600_000 };
    await usageHoldStore.record({ orgId, family: "chat", reason: "900 refused", ...span });
    const { page, complaints } = await openBoss();
    await page.goto(`${fixture.consoleUrl}/operator/organizations/${orgId}`);

    await page.getByRole("button", { name: "Grant credit" }).click();
    const grant = page.getByRole("dialog", { name: "Grant credit" });
    await grant.getByLabel("Dollars").fill("0");
    await grant.getByLabel("Reference").fill("wire-1");
    await grant.getByRole("button", { name: "Grant credit" }).click();
    await grant.getByText("must be dollars above 0").waitFor();
    await expectAccessible(page, "the dialog of a grant");
    await grant.getByLabel("Dollars").fill("25.00");
    await grant.getByRole("button", { name: "Grant credit" }).click();
    await page.getByText("$25.00 was granted").waitFor();
    await grant.waitFor({ state: "detached" });

    await page.getByRole("button", { name: "Lift restrictions" }).click();
    const lift = page.getByRole("dialog", { name: "Lift restrictions" });
    await lift.getByLabel("Reason").fill("a load test they announced");
    await lift.getByRole("button", { name: "Lift restrictions" }).click();
    await page.getByText("The restrictions were lifted").waitFor();
    await page.getByRole("button", { name: "Lift restrictions" }).waitFor({ state: "detached" });
    expect(await usageHoldStore.list({ orgId, isWithPast: false })).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test("may grant a parked purchase, amount unset, unless it was refunded in full", async () => {
    const customer = await newcomer(fixture, browser, { name: "parker" });
    const { purchaseStore } = fixture.gateway.backend;
    const { orgId } = customer;
    const [amountMicroUsd, nowMs] = [microUsd(20_000_000n), Date.now()];
    const times = { nowMs, expiresAtMs: nowMs + 60_000, countedFromMs: nowMs, purchasesMax: 5 };
    for (const purchaseId of ["pur_open", "pur_partly", "pur_refunded"]) {
      const made = { purchaseId, orgId, amountMicroUsd, isTestMoney: false, ...times };
      await purchaseStore.create(made, testOperator);
      await purchaseStore.decide(purchaseId, "parked");
    }
    const refund = { claimId: "re_1", kind: "refund", isReversed: false, isOver: true } as const;
    const back = { ...refund, purchaseId: "pur_refunded", amountMicroUsd };
    await purchaseStore.claim(back);
    const part = { ...refund, claimId: "re_2", purchaseId: "pur_partly" };
    await purchaseStore.claim({ ...part, amountMicroUsd: microUsd(10_000n) });
    const { page, complaints } = await openBoss();
    await page.goto(`${fixture.consoleUrl}/operator/review`);
    const purchases = page.getByRole("table", { name: "Purchases that are not credited" });
    await purchases.getByText("Refunded $20.00", { exact: true }).waitFor();
    await purchases.getByText("Refunded $0.01", { exact: true }).waitFor();
    await expect.poll(() => purchases.getByText("Parked", { exact: true }).count()).toBe(2);
    const grants = purchases.getByRole("button", { name: /^Grant credit/ });
    await expect.poll(() => grants.count()).toBe(2);
    await page.getByRole("button", { name: "Grant credit for pur_open" }).click();
    const grant = page.getByRole("dialog", { name: "Grant credit" });
    await expect.poll(() => grant.getByLabel("Reference").inputValue()).toBe("pur_open");
    await expect.poll(() => grant.getByLabel("Dollars").inputValue()).toBe("");
    await customer.page.goto(`${fixture.consoleUrl}/billing/return/pur_refunded`);
    await customer.page.getByText("was refunded. No credit was added.").waitFor();
    await customer.page.goto(`${fixture.consoleUrl}/billing/return/pur_partly`);
    await customer.page.getByText("no credit was added yet.").waitFor();
    expect(complaints).toEqual([]);
  });

  deepTest("records a deposit, closes a period and compares a statement", async () => {
    await serveYesterday(fixture.gateway, "test/a", ["one", "two words"]);
    const { page, complaints } = await openBoss();
    await page.goto(`${fixture.consoleUrl}/operator/settlement`);

    await page.getByRole("button", { name: "Record deposit" }).click();
    const deposit = page.getByRole("dialog", { name: "Record deposit" });
    await deposit.getByLabel("Provider").fill("prov-bb");
    await deposit.getByLabel("Dollars").fill("500.00");
    await deposit.getByLabel("Reference").fill("wire-2");
    await deposit.getByRole("button", { name: "Record deposit" }).click();
    await deposit.getByText("This provider has no listing and no balance").waitFor();
    await expectAccessible(page, "the dialog of a deposit");
    await deposit.getByLabel("Provider").fill("prov-b");
    await deposit.getByRole("button", { name: "Record deposit" }).click();
    await page.getByText("The deposit wire-2 with prov-b was recorded").waitFor();
    const balances = page.getByRole("table", { name: "Balances with providers" });
    await balances.getByRole("row", { name: /^prov-b\b.*\$500\.00/ }).waitFor();

    await page.getByRole("button", { name: "Close periods" }).click();
    const close = page.getByRole("dialog", { name: "Close periods" });
    await close.getByRole("button", { name: "Close periods" }).click();
    await page.getByText("1 period was closed").waitFor();
    await page.getByRole("link", { name: "Statement" }).click();

    await page.getByRole("button", { name: "Compare statement" }).click();
    const compare = page.getByRole("dialog", { name: "Compare statement" });
    await page.locator('input[type="file"]').setInputFiles({
      name: "theirs.csv",
      mimeType: "text/csv",
      buffer: Buffer.from("attempt_id,cost_usd\n7,1.5\n"),
    });
    await compare.getByRole("button", { name: "Compare" }).click();
    await page.getByText("The statement differs from ours.").waitFor();
    // Requests of earlier tests may be from the same day.
    await page.getByText(/0 differ, 1 only theirs, (?:[2-9]|\d{2,}) only ours/).waitFor();

    const age = "update console_session set started_at = started_at - interval '13 hours'";
    await runSql(fixture.gateway, age, []);
    await page.getByRole("button", { name: "Close periods" }).click();
    await close.getByRole("button", { name: "Close periods" }).click();
    await close.getByText("you signed in more than 12 hours ago").waitFor();
    expect(complaints).toEqual([]);
  });
});
