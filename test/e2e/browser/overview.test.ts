import { describe, expect, test } from "vitest";

import { expectAccessible, hasChromium, newVisitor, withBrowser } from "../../support/browser.ts";
import { giveCredit, newcomer, pageShown, signIn } from "../../support/console-steps.ts";
import { readCsv, sumOfMoney } from "../../support/console-tables.ts";
import { withConsole } from "../../support/console-fixture.ts";
import { makeTraffic, TRAFFIC_MANIFESTS } from "../../support/usage-traffic.ts";

describe.skipIf(!hasChromium)("the first page", () => {
  const fixture = withConsole({ manifests: TRAFFIC_MANIFESTS });
  const browser = withBrowser();
  test("the way to the first answer is walked step by step", async () => {
    const visitor = await newVisitor(browser);
    const { page } = visitor;
    await signIn(fixture, visitor, "steps@example.com");
    await page.goto(fixture.consoleUrl);
    // The trial key came with the sign-in.
    await page.getByText("1 of 3 done").waitFor();
    await expectAccessible(page, "the first page of an empty account");
    await giveCredit(fixture, page, "5");
    await page.goto(fixture.consoleUrl);
    await page.getByText("2 of 3 done").waitFor();
    await makeTraffic(fixture, page);
    await page.goto(fixture.consoleUrl);
    await page.getByRole("heading", { name: "Top models" }).waitFor();
    expect(await page.getByText("of 3 done").count()).toBe(0);
    expect(visitor.complaints).toEqual([]);
  });

  test("its figures and the wallet's file are those of the books", async () => {
    const ann = await newcomer(fixture, browser, { name: "figures", usd: "5" });
    const { page, orgId } = ann;
    await makeTraffic(fixture, page);
    await page.goto(fixture.consoleUrl);
    await pageShown(page);
    const { backend } = fixture.gateway;
    const balance = await backend.recordStore.balance(orgId);
    const csv = await page.request.get(`${fixture.consoleUrl}/api/console/credit-ledger.csv`);
    const amounts = readCsv(await csv.text()).map((row) => row["amount_usd"] ?? "");
    expect(amounts.length).toBeGreaterThan(1);
    expect(sumOfMoney(amounts)).toBe(balance.settledMicroUsd);
    const answer = await page.request.get(`${fixture.consoleUrl}/api/console/overview`);
    const overview = (await answer.json()) as { readonly spent_month_usd: string };
    const month = await backend.recordStore.monthSpend(orgId);
    expect(sumOfMoney([overview.spent_month_usd])).toBe(month.spentMicroUsd);
    expect(month.spentMicroUsd).toBeGreaterThan(0n);
    await expectAccessible(page, "the first page with traffic");
    expect(ann.complaints).toEqual([]);
  });
});
