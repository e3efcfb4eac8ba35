import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";

import { formatUsd, microUsd } from "../../../src/kernel/core/money.ts";
import { until } from "../../support/books.ts";
import { deepTest, expectAccessible, hasChromium, withBrowser } from "../../support/browser.ts";
import {
  ask,
  callGateway,
  giveCredit,
  makeKey,
  newcomer,
  type Newcomer,
  pageShown,
  pageOpener,
} from "../../support/console-steps.ts";
import {
  readCsv,
  readMoney,
  readTable,
  sumOfCounts,
  sumOfMoney,
} from "../../support/console-tables.ts";
import { withConsole } from "../../support/console-fixture.ts";
import { textAt } from "../../support/http-call.ts";
import { readSql, runSql } from "../../support/sql.ts";
import { makeTraffic, TRAFFIC_MANIFESTS, type Traffic } from "../../support/usage-traffic.ts";

const KEYS = 54;
/** With so many more keys, the page that shows all draws only some of them at once. */
const LONG_ROWS = 60;
const HOUR_MS = 3_600_000;
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
/** The height of a row with two short lines, such as a name and a kind, with its border. */
const ROW_PX_MAX = 52;

const fixture = withConsole({ manifests: TRAFFIC_MANIFESTS });
const open = pageOpener(fixture);
const browser = withBrowser();

/** An account with traffic, which the tests of this file share. */
let ann: Newcomer;
let traffic: Traffic;
/** The amount that left the wallet, computed from the attempts themselves. */
let spent: bigint;
beforeAll(async () => {
  if (!hasChromium) return;
  ann = await newcomer(fixture, browser, { name: "usage", usd: "5" });
  traffic = await makeTraffic(fixture, ann.page);
  const sql = "select coalesce(sum(debit), 0)::text as spent from attempt where org_id = $1";
  const [row] = await readSql(fixture.gateway, sql, [ann.orgId]);
  spent = BigInt(String(row?.["spent"]));
});

describe.skipIf(!hasChromium)("the overview", () => {
  test("counts the steps to the first request until all three are done", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "steps" });
    await page.goto(fixture.consoleUrl);
    // The first step is done, because the sign-in made the trial key.
    await page.getByText("1 of 3 done").waitFor();
    await giveCredit(fixture, page, "5");
    await page.goto(fixture.consoleUrl);
    await page.getByText("2 of 3 done").waitFor();
    const { secret } = await makeKey(fixture, page, { name: "first" });
    expect((await callGateway(fixture, secret)).status).toBe(200);
    await page.goto(fixture.consoleUrl);
    await page.getByRole("heading", { name: "Top models" }).waitFor();
    await expect.poll(() => page.getByText("of 3 done").count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test("shows the ledger's spend of each day, and a bar of the chart opens the usage of its day", async () => {
    const { page, orgId } = ann;
    await open(page, "/");
    const month = await fixture.gateway.backend.recordStore.monthSpend(orgId);
    expect(month.spentMicroUsd).toBe(spent);
    const asTable = page.getByRole("switch", { name: "Show as table" });
    await asTable.check({ force: true });
    const days = await readTable(page, "Spend by model, per day, as a table");
    expect(sumOfMoney(days.column("Total"))).toBe(spent);
    expect(sumOfMoney(days.column("test/a"))).toBeGreaterThan(0n);
    await asTable.uncheck({ force: true });
    await page.getByRole("slider", { name: "Spend by model, per day, bar by bar" }).press("Enter");
    await page.waitForURL(({ pathname }) => pathname === "/usage");
    const search = new URL(page.url()).searchParams;
    const [from, to] = [search.get("from"), search.get("to")].map((at) => Date.parse(`${at}Z`));
    expect((to ?? 0) - (from ?? 0)).toBe(86_400_000);
  });

  test("says by how much its figures differ from those of the 24 hours before", async () => {
    const { page, orgId } = ann;
    const said = page.getByText("100% higher than in the 24 hours before");
    await open(page, "/");
    await expect.poll(() => said.count()).toBe(0);
    await runSql(
      fixture.gateway,
      "insert into refused_minute values ($1, date_trunc('minute', now() - interval '30 hours'), 'k', 0, $2)",
      [orgId, traffic.requests / 2],
    );
    for (const path of ["/", "/usage"]) {
      await open(page, path);
      await said.waitFor();
    }
  });
});

describe.skipIf(!hasChromium)("the page of a request", () => {
  test("shows each attempt and why the gateway tried the next, and copies all without the prompt", async () => {
    const { page } = ann;
    const id = traffic.threeAttemptsId;
    await open(page, `/requests/${id}`);
    await page.getByRole("heading", { name: "3 attempts", exact: true }).waitFor();
    const heads = page.getByRole("heading", { level: 3 });
    await expect.poll(() => heads.allInnerTexts()).toEqual(["1. first", "2. second", "3. third"]);
    await page.getByText(/^first .*status 503.* so the gateway continued with second\.$/).waitFor();
    await page.getByText(/^second .* so the gateway continued with third\.$/).waitFor();
    await expect
      .poll(() => page.getByText(/the gateway (?:continued|tried again)/).count())
      .toBe(2);
    const ran = page.getByRole("list", { name: "When each attempt ran" }).getByRole("listitem");
    await expect
      .poll(() => ran.allInnerTexts())
      .toEqual([
        expect.stringMatching(/^1\. first\s+\+\d+ ms, took /),
        expect.stringMatching(/^2\. second\s+\+\d+ ms, took /),
        expect.stringMatching(/^3\. third\s+\+\d+ ms, took .*first token after /),
      ]);
    await page.getByRole("button", { name: "Copy for support" }).click();
    await page.getByRole("button", { name: "Copied", exact: true }).waitFor();
    const text = String(await page.evaluate("navigator.clipboard.readText()"));
    const { json } = await ask(fixture, page, `GET /api/console/requests/${id}`);
    expect(text).toContain(`Request ${id}`);
    expect(text).toContain(`Cost $${textAt(json, "request.cost_usd")}`);
    const attempts = text.match(/^Attempt \d: \w+/gm);
    expect(attempts).toEqual(["Attempt 1: first", "Attempt 2: second", "Attempt 3: third"]);
    expect(text).not.toContain("Hello");
  });

  test("explains a failed and a refused request, and says that the refused request cost nothing", async () => {
    const { page } = ann;
    await open(page, `/requests/${traffic.failedId}`);
    await page.getByText("upstream_error", { exact: true }).first().waitFor();
    await page
      .getByText("Every provider of the model failed or took too long", { exact: false })
      .waitFor();
    await open(page, `/requests/${traffic.refusedId}`);
    await page.getByText("No provider was asked, so this request cost nothing.").waitFor();
    await page
      .getByText("Raise the cap, or ask for fewer output", { exact: false })
      .first()
      .waitFor();
    expect(ann.complaints).toEqual([]);
  });
});

describe.skipIf(!hasChromium)("the usage page", () => {
  test("has the ledger's totals to the micro-dollar in its groups, chart, request log and CSV file", async () => {
    const { page } = ann;
    expect(spent).toBeGreaterThan(0n);
    await open(page, "/usage?by=provider");
    await page.getByText(`Exactly $${formatUsd(microUsd(spent))}`).waitFor();
    await page.getByRole("switch", { name: "Show as table" }).check({ force: true });
    const drawn = await readTable(page, "Spend by provider, per hour, as a table");
    expect(sumOfMoney(drawn.column("Total"))).toBe(spent);
    const metric = page.getByRole("group", { name: "Metric" });
    await metric.getByRole("radio", { name: "Requests" }).check({ force: true });
    const requests = await readTable(page, "Requests by provider, per hour, as a table");
    expect(sumOfCounts(requests.column("Total"))).toBe(traffic.requests);
    await page.getByRole("radio", { name: "Status", exact: true }).check({ force: true });
    await page.waitForURL((url) => url.searchParams.get("by") === "status");
    await pageShown(page);
    const groups = await readTable(page, "Figures by status");
    expect(sumOfMoney(groups.column("Spend"))).toBe(spent);
    expect(readMoney(groups.total("Spend") ?? "")).toBe(spent);
    expect(sumOfCounts(groups.column("Requests"))).toBe(traffic.requests);
    expect(groups.total("Requests")).toBe(String(traffic.requests));

    const log = await readTable(page, "Requests, newest first");
    expect(log.rows).toHaveLength(traffic.requests);
    // A request that reached no provider has no cost, and every other one has.
    const refused = log.column("Status").filter((text) => text.startsWith("Rejected by gateway"));
    expect(log.column("Cost").filter((text) => text === "–")).toHaveLength(refused.length);
    const rows = await downloadedRows(page);
    expect(rows.map((row) => row["attempts"])).toContain("3");
    expect(sumOfMoney(rows.map((row) => row["cost_usd"] ?? ""))).toBe(spent);
    const costs = rows.map((row) => (row["attempts"] === "0" ? "–" : `$${row["cost_usd"]}`));
    expect(costs).toEqual(log.column("Cost"));
  });

  deepTest("keeps its filters in the address, over a reload and Back", async () => {
    const { page } = ann;
    const { keyId } = traffic.keys.alpha;
    const body = { key_ids: [keyId], tags: ["ci"] };
    await ask(fixture, page, "POST /api/console/keys/change", body);
    await open(page, "/usage?by=key&range=7d");
    await choose(page, "Status", "Succeeded", "Cancelled");
    await choose(page, "Key", /^alpha /);
    await choose(page, "Tag", "ci");
    await page.getByText("A tag includes the keys that have it now").waitFor();
    await choose(page, "Model", "test/a");
    await choose(page, "Provider", "prov-a");
    await page.waitForURL(({ searchParams: set }) => {
      return set.get("tag") === "ci" && set.get("provider") === "prov-a";
    });
    await page.reload();
    await pageShown(page);
    await until("the log follows the filters", async () => {
      const log = await readTable(page, "Requests, newest first");
      return log.column("Model").join() === "test/a" && log.column("Key").join() === "alpha";
    });
    expect((await readTable(page, "Figures by key")).total("Requests")).toBe("1");
    await expect.poll(() => downloadedRows(page)).toHaveLength(1);
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.waitForURL((url) => !url.searchParams.has("status"));
    // Going back once undoes all boxes that were checked in one menu.
    await page.goBack();
    await page.waitForURL((url) => url.searchParams.get("status") === "succeeded,cancelled");
    await page.getByRole("button", { name: "Remove the filter Status: Cancelled" }).click();
    await page.waitForURL((url) => url.searchParams.get("status") === "succeeded");
  });

  test("moves its range with time while open, and keeps its figures while it reads", async () => {
    // The clock is that of the whole context, so no other test may use this one.
    const own = await browser.newContext({ storageState: await ann.context.storageState() });
    const page = await own.newPage();
    const nowMs = Date.now();
    await page.clock.install({ time: nowMs - 3 * HOUR_MS });
    await open(page, "/usage?range=1h");
    const log = page.getByRole("table", { name: "Requests, newest first" });
    await log.waitFor();
    await page.route("**/api/console/requests?*", () => undefined);
    await page.clock.fastForward(3 * HOUR_MS);
    const link = page.getByRole("link", { name: "Download CSV" });
    await until("the hour is the last one", async () => {
      const search = new URLSearchParams((await link.getAttribute("href"))?.split("?")[1]);
      return Date.parse(search.get("from") ?? "") >= nowMs - HOUR_MS - 60_000;
    });
    expect(await log.count()).toBe(1);
    await page.unroute("**/api/console/requests?*");

    await page.clock.setSystemTime(nowMs - 48 * HOUR_MS);
    await open(page, "/usage?range=7d");
    await page.getByText("No requests match").waitFor();
    await page.clock.setSystemTime(nowMs);
    await page.evaluate(`dispatchEvent(new Event("focus"))`);
    await log.waitFor();
  });

  test("opens a day from the table, and refuses a range that ends before it starts", async () => {
    const { page } = ann;
    await open(page, "/usage?by=day&range=7d");
    const days = page.getByRole("cell").getByRole("button");
    const day = await days.first().innerText();
    await days.first().click();
    await page.waitForURL((url) => url.searchParams.get("from") === `${day}T00:00`);
    await pageShown(page);
    await expect.poll(() => page.getByLabel("From (UTC)").inputValue()).toBe(`${day}T00:00`);
    await page.getByLabel("To (UTC)").fill("2020-01-01T00:00");
    await page.getByRole("button", { name: "Show", exact: true }).click();
    const alert = page.getByRole("alert");
    await alert.getByText("The end must be after the start.").waitFor();
    await expectAccessible(page, "a wrong range of one's own");
  });
});

describe.skipIf(!hasChromium)("the tables of the console", () => {
  beforeAll(async () => {
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

  test("keep sort order, page and page size in the address, and Back undoes one at a time", async () => {
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

  test("remember the chosen columns over a reload, and copy the rows without formulas", async () => {
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
    // A spreadsheet must not run a key's name as a formula, from a file or from the clipboard.
    expect(copied.filter((row) => /^'?=1\+1/.test(row))).toEqual([expect.stringMatching(/^'=/)]);
    await page.getByRole("button", { name: "Columns" }).click();
    await page.getByRole("button", { name: "Reset columns" }).click();
    await header.waitFor();
    // A page this long draws only the rows that are visible.
    await copyKey("=1+1", LONG_ROWS);
    await open(page, "/keys?rows=all");
    const drawn = page.getByRole("table", { name: "Keys" }).getByRole("row");
    await expect.poll(() => drawn.count()).toBeLessThan(40);
    const box = page.getByRole("group", { name: "Keys" });
    await box.evaluate((of) => of.scrollTo(0, 600));
    // The rows that appear are higher than estimated: the browser corrects the position.
    await page.evaluate(
      "new Promise((end) => requestAnimationFrame(() => requestAnimationFrame(end)))",
    );
    const scrolled = await box.evaluate((of) => of.scrollTop);
    await page.getByRole("button", { name: /^Cop(y|ied) the rows$/ }).click();
    const readCopied = async (): Promise<string[]> =>
      String(await page.evaluate("navigator.clipboard.readText()")).split("\n");
    await expect
      .poll(async () => (await readCopied()).filter((row) => row.startsWith("copy ")).length)
      .toBe(LONG_ROWS);
    const all = await readCopied();
    expect(all.filter((row) => row.split("\t").length !== 7)).toEqual([]);
    await expect.poll(() => drawn.count()).toBeLessThan(40);
    expect(await box.evaluate((of) => of.scrollTop)).toBe(scrolled);
    await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error())");
    await page.getByRole("button", { name: /^Cop(y|ied) the rows$/ }).click();
    // The rows that are not drawn cannot be selected.
    await page.getByText("Copying did not work.", { exact: true }).waitFor();
  });

  test("move from row to row with the arrow keys", async () => {
    const { page } = ann;
    await open(page, "/keys?sort=name.asc");
    const links = page.getByRole("table", { name: "Keys" }).locator("td:first-child a");
    await links.first().focus();
    const focused = page.locator(":focus");
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => links.nth(1).and(focused).count()).toBe(1);
    await page.keyboard.press("ArrowUp");
    await expect.poll(() => links.first().and(focused).count()).toBe(1);
  });

  test("have, like the other pages of this account, no errors in the browser's console", () => {
    expect(ann.complaints).toEqual([]);
  });
});

/** Adds copies of the key of this name. */
async function copyKey(name: string, copies: number): Promise<void> {
  await runSql(
    fixture.gateway,
    `insert into api_key select (jsonb_populate_record(k, jsonb_build_object('name', 'copy ' || n,
         'key_id', 'key_copy' || n, 'digest', '\\x' || encode(sha256(n::text::bytea), 'hex')))).*
       from api_key k, generate_series(1, $2::int) n where k.name = $1`,
    [name, copies],
  );
}

async function choose(
  page: Page,
  filter: string,
  ...options: readonly (string | RegExp)[]
): Promise<void> {
  const filters = page.getByRole("group", { name: "Filters" });
  await filters.getByRole("button", { name: filter, exact: true }).click();
  const menu = page.getByRole("dialog", { name: filter });
  for (const name of options) await menu.getByRole("checkbox", { name, exact: true }).check();
  await page.keyboard.press("Escape");
  await menu.waitFor({ state: "detached" });
}

async function downloadedRows(page: Page): Promise<ReturnType<typeof readCsv>> {
  const link = page.getByRole("link", { name: "Download CSV" });
  const address = new URL((await link.getAttribute("href")) ?? "", fixture.consoleUrl);
  expect(address.searchParams.get("org")).toBe(ann.orgId);
  return readCsv(await (await page.request.get(address.href)).text());
}

/** The width of the part of the table that is hidden at its right, in pixels. */
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
