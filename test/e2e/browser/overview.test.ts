import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";

import { expectAccessible, hasChromium, newVisitor, withBrowser } from "../../support/browser.ts";
import {
  giveCredit,
  newcomer,
  pageShown,
  signIn,
  type Newcomer,
} from "../../support/console-steps.ts";
import { readCsv, readTable, sumOfMoney } from "../../support/console-tables.ts";
import { withConsole } from "../../support/console-fixture.ts";
import { runSql } from "../../support/sql.ts";
import { makeTraffic, TRAFFIC_MANIFESTS } from "../../support/usage-traffic.ts";

describe.skipIf(!hasChromium)("the first page", () => {
  const fixture = withConsole({ manifests: TRAFFIC_MANIFESTS });
  const browser = withBrowser();
  test("leads to the first answer step by step", async () => {
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
    await expect.poll(() => page.getByText("of 3 done").count()).toBe(0);
    expect(visitor.complaints).toEqual([]);
  });

  test("shows the figures of the books, and so does the wallet's file", async () => {
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
    const asTable = page.getByRole("switch", { name: "Show as table" });
    await asTable.check({ force: true });
    const days = await readTable(page, "Spend by model, per day, as a table");
    expect(sumOfMoney(days.column("Total"))).toBe(month.spentMicroUsd);
    expect(sumOfMoney(days.column("test/a"))).toBeGreaterThan(0n);
    await asTable.uncheck({ force: true });
    await expectAccessible(page, "the first page with traffic");
    await expectCompared(ann);
    await expectDayOpens(page);
    expect(ann.complaints).toEqual([]);
  });

  /** Eight requests in the last 24 hours, and four in those before. */
  async function expectCompared({ page, orgId }: Newcomer): Promise<void> {
    const said = page.getByText("100% higher than in the 24 hours before");
    await expect.poll(() => said.count()).toBe(0);
    await runSql(
      fixture.gateway,
      "insert into refused_minute values ($1, date_trunc('minute', now() - interval '30 hours'), 'k', 0, 4)",
      [orgId],
    );
    await page.reload();
    await said.waitFor();
    await page.getByText("75% lower than in the 24 hours before").waitFor();
    await expectAccessible(page, "the first page with something to compare");
  }

  async function expectDayOpens(page: Page): Promise<void> {
    await page.getByRole("slider", { name: "Spend by model, per day, bar by bar" }).press("Enter");
    await page.waitForURL(({ pathname }) => pathname === "/usage");
    const search = new URL(page.url()).searchParams;
    const [from, to] = [search.get("from"), search.get("to")].map((at) => Date.parse(`${at}Z`));
    expect((to ?? 0) - (from ?? 0)).toBe(86_400_000);
    await page.goBack();
    await page.getByRole("heading", { name: "Top models" }).waitFor();
  }
});
