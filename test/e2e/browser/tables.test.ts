import type { Locator, Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";

import { deepTest, hasChromium, withBrowser } from "../../support/browser.ts";
import { makeKey, newcomer, type Newcomer, pageOpener } from "../../support/console-steps.ts";
import { withConsole } from "../../support/console-fixture.ts";
import { makeTraffic, TRAFFIC_MANIFESTS } from "../../support/usage-traffic.ts";

const KEYS = 54;
/** Every page whose main part is a table, with that table's name. */
const TABLES: Readonly<Record<string, string>> = {
  "/keys": "Keys",
  "/usage": "Requests, newest first",
  "/usage?by=key": "Figures by key",
  "/models": "Models",
  "/models/test/three": "Providers of this model, in routing order",
  "/providers": "Providers",
  "/providers/prov-a": "Models of this provider",
};
/** A row of two short lines, such as a name and what it is, its border included. */
const ROW_PX_MAX = 52;

const fixture = withConsole({ manifests: TRAFFIC_MANIFESTS });
const open = pageOpener(fixture);
const browser = withBrowser();

describe.skipIf(!hasChromium)("the tables of the console", () => {
  let ann: Newcomer;
  beforeAll(async () => {
    ann = await newcomer(fixture, browser, { name: "tables", usd: "5" });
    await makeTraffic(fixture, ann.page);
    const make = async (at: number): Promise<unknown> => {
      const name = `a service with quite a long name, number ${String(at).padStart(2, "0")}`;
      return await makeKey(fixture, ann.page, { name });
    };
    // Only the first key must be the oldest; the order of the others does not matter.
    await make(0);
    await Promise.all(Array.from({ length: KEYS - 1 }, (_none, at) => make(at + 1)));
  });

  deepTest("fit at 1280 pixels without scrolling sideways, and use the width at 1920", async () => {
    const { page } = ann;
    for (const [path, name] of Object.entries(TABLES)) {
      await page.setViewportSize({ width: 1280, height: 900 });
      await open(page, path);
      await page.getByRole("table", { name, exact: true }).waitFor();
      await expect.poll(() => hiddenPx(page, name), { message: `${path} at 1280` }).toBe(0);
      expect.soft(await highestRowPx(page, name), path).toBeLessThanOrEqual(ROW_PX_MAX);
      await page.setViewportSize({ width: 1920, height: 1000 });
      await expect.poll(() => hiddenPx(page, name), { message: `${path} at 1920` }).toBe(0);
      expect.soft(await widthPx(page, name), path).toBeGreaterThan(1500);
    }
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  test("keep order, page and size in the address, each as one step of Back", async () => {
    const { page } = ann;
    await open(page, "/keys");
    await page.getByText(/^5\d keys$/).waitFor();
    const names = page.getByRole("table", { name: "Keys" }).locator("tbody tr td:first-child");
    await expect.poll(() => names.count()).toBe(50);
    await page.getByRole("button", { name: "Name and key" }).click();
    await page.waitForURL((url) => url.searchParams.get("sort") === "name.asc");
    await expect.poll(() => names.first().innerText()).toContain("number 00");
    await page.getByRole("button", { name: "Next" }).click();
    await page.waitForURL((url) => url.searchParams.get("page") === "2");
    await page.getByText(/^51–5\d of 5\d$/).waitFor();
    await page.reload();
    await page.getByText(/^51–5\d of 5\d$/).waitFor();
    await expect.poll(() => names.count()).toBeLessThan(10);
    await page.goBack();
    await page.waitForURL((url) => url.searchParams.get("page") === null);
    await expect.poll(() => names.count()).toBe(50);
    await page.goBack();
    await page.waitForURL((url) => url.searchParams.get("sort") === null);
    await expect.poll(() => names.first().innerText()).not.toContain("number 00");
    await page.getByLabel("Rows per page").selectOption("All");
    await page.waitForURL((url) => url.searchParams.get("rows") === "all");
    await expect.poll(() => names.count()).toBeGreaterThan(KEYS);
  });

  test("remember the chosen columns over a reload, and copy what they show", async () => {
    const { page } = ann;
    await makeKey(fixture, page, { name: "=1+1" });
    await open(page, "/keys");
    const header = page.getByRole("columnheader", { name: "Ceiling" });
    await page.getByRole("button", { name: "Columns" }).click();
    await page.getByRole("checkbox", { name: "Ceiling" }).uncheck();
    await header.waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("table", { name: "Keys" }).waitFor();
    await expect.poll(() => header.count()).toBe(0);
    await page.getByRole("button", { name: "Copy the rows" }).click();
    await page.getByRole("button", { name: "Copied the rows" }).waitFor();
    const copied = String(await page.evaluate("navigator.clipboard.readText()")).split("\n");
    expect(copied).toHaveLength(51);
    expect(copied[0]?.split("\t")).toEqual([
      "Name and key",
      "Last used",
      "Your limit",
      "Cap",
      "Spent this month",
      "Actions",
    ]);
    // A spreadsheet must not run the name of a key, neither from a file nor from the clipboard.
    expect(copied.filter((row) => /^'?=1\+1/.test(row))).toEqual([expect.stringMatching(/^'=/)]);
    await page.getByRole("button", { name: "Columns" }).click();
    await page.getByRole("button", { name: "Reset columns" }).click();
    await header.waitFor();
  });

  test("move from row to row with the arrow keys", async () => {
    const { page } = ann;
    await open(page, "/keys?sort=name.asc");
    const links = page.getByRole("table", { name: "Keys" }).locator("td:first-child a");
    await links.first().focus();
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => isFocused(links.nth(1))).toBe(true);
    await page.keyboard.press("ArrowUp");
    await expect.poll(() => isFocused(links.first())).toBe(true);
  });

  test("have no errors in the browser's console", () => {
    expect(ann.complaints).toEqual([]);
  });
});

async function isFocused(target: Locator): Promise<boolean> {
  return (await target.and(target.page().locator(":focus")).count()) > 0;
}

/** The pixels of the table that are hidden at its right. */
async function hiddenPx(page: Page, name: string): Promise<number> {
  const frame = page.getByRole("group", { name, exact: true });
  return await frame.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
}

async function widthPx(page: Page, name: string): Promise<number> {
  return await page
    .getByRole("group", { name, exact: true })
    .evaluate(({ clientWidth }) => clientWidth);
}

async function highestRowPx(page: Page, name: string): Promise<number> {
  const rows = page.getByRole("table", { name, exact: true }).locator("tbody tr");
  return await rows.evaluateAll((all) =>
    Math.max(...all.map((row) => row.getBoundingClientRect().height)),
  );
}
