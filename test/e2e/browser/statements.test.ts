import { describe, expect, test } from "vitest";

import {
  expectAccessible,
  expectFits,
  expectPrintFits,
  hasChromium,
  withBrowser,
} from "../../support/browser.ts";
import { callGateway, makeKey, newcomer, pageShown } from "../../support/console-steps.ts";
import { withConsole } from "../../support/console-fixture.ts";

const MONTH = new Date().toLocaleDateString("en-US", {
  month: "long",
  year: "numeric",
  timeZone: "UTC",
});
const fixture = withConsole();
const browser = withBrowser();

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
    await expectAccessible(page, "company data");

    await page.goto(`${fixture.consoleUrl}/billing/statements`);
    await page.getByRole("link", { name: MONTH }).click();
    await page.getByText("This month so far").waitFor();
    await page.getByText("Acme Ltd").waitFor();
    await page.getByText("Tax ID DE 123456789").waitFor();
    await pageShown(page);
    await expectAccessible(page, "a statement");
    await expectFits(page);

    await page.emulateMedia({ media: "print" });
    const around = page.locator("header, nav").filter({ visible: true });
    await expect.poll(() => around.count()).toBe(0);
    await expect.poll(() => page.getByText("Closing balance").isVisible()).toBe(true);
    await expect.poll(() => page.getByRole("button", { name: "Print" }).isVisible()).toBe(false);
    await expectPrintFits(page);
    expect(complaints).toEqual([]);
  });
});
