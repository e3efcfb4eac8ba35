import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";

import { formatUsd, microUsd } from "../../../src/kernel/core/money.ts";
import { until } from "../../support/books.ts";
import { deepTest, expectAccessible, hasChromium, withBrowser } from "../../support/browser.ts";
import {
  ask,
  callGateway,
  newcomer,
  pageShown,
  type Newcomer,
  pageOpener,
} from "../../support/console-steps.ts";
import {
  readCsv,
  readMoney,
  type ShownTable,
  readTable,
  sumOfCounts,
  sumOfMoney,
} from "../../support/console-tables.ts";
import { withConsole } from "../../support/console-fixture.ts";
import { at, bearer, httpCall, listAt } from "../../support/http-call.ts";
import { readSql, runSql } from "../../support/sql.ts";
import { makeTraffic, TRAFFIC_MANIFESTS, type Traffic } from "../../support/usage-traffic.ts";

const GROUPS = ["Model", "Key", "Provider", "Day", "Status"] as const;

const fixture = withConsole({ manifests: TRAFFIC_MANIFESTS });
const open = pageOpener(fixture);
const browser = withBrowser();

describe.skipIf(!hasChromium)("the usage page", () => {
  let ann: Newcomer;
  let traffic: Traffic;
  /** The amount that left the wallet, from the attempts themselves. */
  let spent: bigint;
  beforeAll(async () => {
    ann = await newcomer(fixture, browser, { name: "usage", usd: "5" });
    traffic = await makeTraffic(fixture, ann.page);
    spent = await spentInSql(ann);
  });

  test("has the ledger's totals to the micro-dollar, for every grouping", async () => {
    const { page } = ann;
    expect(spent).toBeGreaterThan(0n);
    expect(await spentByGatewayApi(traffic)).toBe(spent);
    await open(page, "/usage");
    await page.getByText(`Exactly ${shown(spent)}`).waitFor();
    for (const group of GROUPS) {
      await page.getByRole("radio", { name: group, exact: true }).check({ force: true });
      const by = group.toLowerCase();
      await page.waitForURL((url) => (url.searchParams.get("by") ?? "model") === by);
      await pageShown(page);
      const table = await readTable(page, `Figures by ${by}`);
      expect(sumOfMoney(table.column("Spend")), by).toBe(spent);
      expect(readMoney(table.total("Spend") ?? ""), by).toBe(spent);
      expect(sumOfCounts(table.column("Requests")), by).toBe(traffic.requests);
      expect(table.total("Requests"), by).toBe(String(traffic.requests));
      expect(sumOfCounts(table.column("Failed")), by).toBe(1);
      await expectAccessible(page, `usage by ${by}`);
    }
  });

  test("draws the same figures as the chart's table shows", async () => {
    const { page } = ann;
    await open(page, "/usage?by=provider");
    const asTable = page.getByRole("switch", { name: "Show as table" });
    await asTable.check({ force: true });
    const name = "Spend by provider, per hour, as a table";
    expect(sumOfMoney((await readTable(page, name)).column("Total"))).toBe(spent);
    await expectAccessible(page, "the chart as a table");
    const metric = page.getByRole("group", { name: "Metric" });
    await metric.getByRole("radio", { name: "Requests" }).check({ force: true });
    const requests = await readTable(page, "Requests by provider, per hour, as a table");
    expect(sumOfCounts(requests.column("Total"))).toBe(traffic.requests);
    expect(new URL(page.url()).searchParams.get("metric")).toBe("requests");
  });

  test("says by how much its figures differ from those of the time range before", async () => {
    const { page, orgId } = ann;
    await open(page, "/usage");
    const said = page.getByText("100% higher than in the 24 hours before");
    await expect.poll(() => said.count()).toBe(0);
    await runSql(
      fixture.gateway,
      "insert into refused_minute values ($1, date_trunc('minute', now() - interval '30 hours'), 'k', 0, $2)",
      [orgId, traffic.requests / 2],
    );
    await page.reload();
    await said.waitFor();
    await expectAccessible(page, "usage with something to compare");
  });

  test("lists every request once, and its file has the same rows and sum", async () => {
    const { page } = ann;
    await open(page, "/usage");
    const log = await readTable(page, "Requests, newest first");
    expect(log.rows).toHaveLength(traffic.requests);
    expect(sumOfMoney(costsOf(log))).toBe(spent);
    // A request that no provider got has no cost, and every other one has.
    const refused = log.column("Status").filter((text) => text.startsWith("Rejected by gateway"));
    expect(log.rows.length - costsOf(log).length).toBe(refused.length);
    const rows = await downloadedRows(page);
    expect(rows.map((row) => row["attempts"])).toContain("3");
    expect(sumOfMoney(rows.map((row) => row["cost_usd"] ?? ""))).toBe(spent);
    const costs = rows.map((row) => (row["attempts"] === "0" ? "–" : `$${row["cost_usd"]}`));
    expect(costs).toEqual(log.column("Cost"));
    expect(new Set(rows.map((row) => row["request_id"])).size).toBe(traffic.requests);
  });

  deepTest("keeps range, filters and grouping in its address, and comes back so", async () => {
    const { page } = ann;
    const body = { key_ids: [traffic.keys.alpha.keyId], tags: ["ci"] };
    await ask(fixture, page, "POST /api/console/keys/change", body);
    await open(page, "/usage");
    await check(page, "Time range", "7 days");
    await check(page, "Group by", "Key");
    await choose(page, "Status", "Succeeded", "Cancelled");
    await choose(page, "Key", /^alpha /);
    await choose(page, "Tag", "ci");
    await page.getByText("A tag includes the keys that have it now").waitFor();
    await choose(page, "Model", "test/a");
    await choose(page, "Provider", "prov-a");
    const expected = {
      range: "7d",
      status: "succeeded,cancelled",
      by: "key",
      key: traffic.keys.alpha.keyId,
      tag: "ci",
      model: "test/a",
      provider: "prov-a",
    };
    await until("all of it is in the address", () => {
      const search = Object.fromEntries(new URL(page.url()).searchParams);
      return JSON.stringify(sorted(search)) === JSON.stringify(sorted(expected));
    });
    const expectView = async (): Promise<void> => {
      await pageShown(page);
      await expect.poll(() => isChecked(page, "Time range", "7 days")).toBe(true);
      await expect.poll(() => isChecked(page, "Group by", "Key")).toBe(true);
      for (const chip of ["Model: test/a", "Status: Succeeded", "Status: Cancelled"]) {
        await page.getByRole("button", { name: `Remove the filter ${chip}` }).waitFor();
      }
      const log = await readTable(page, "Requests, newest first");
      expect(log.column("Model")).toEqual(["test/a"]);
      expect(log.column("Key")).toEqual(["alpha"]);
      expect((await readTable(page, "Figures by key")).total("Requests")).toBe("1");
      await expect.poll(() => downloadedRows(page)).toHaveLength(1);
    };
    await until("the log follows the filters", async () => {
      const log = await readTable(page, "Requests, newest first");
      return log.rows.length === 1;
    });
    await expectView();
    await expectAccessible(page, "filtered usage");
    await page.reload();
    await expectView();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.waitForURL((url) => !url.searchParams.has("status"));
    // Several boxes checked in one menu are one step of Back.
    await page.goBack();
    await page.waitForURL((url) => url.searchParams.get("status") === "succeeded,cancelled");
    await page.getByRole("button", { name: "Remove the filter Status: Cancelled" }).click();
    await page.waitForURL((url) => url.searchParams.get("status") === "succeeded");
  });

  test("opens a day from the table, and keeps it in the address", async () => {
    const { page } = ann;
    await open(page, "/usage?by=day&range=7d");
    const days = page.getByRole("cell").getByRole("button");
    const day = await days.first().innerText();
    await days.first().click();
    await page.waitForURL((url) => url.searchParams.get("from") === `${day}T00:00`);
    await pageShown(page);
    await expect.poll(() => page.getByLabel("From (UTC)").inputValue()).toBe(`${day}T00:00`);
    await page.reload();
    await pageShown(page);
    await expect.poll(() => page.getByLabel("From (UTC)").inputValue()).toBe(`${day}T00:00`);
    await page.getByLabel("To (UTC)").fill("2020-01-01T00:00");
    await page.getByRole("button", { name: "Show", exact: true }).click();
    const alert = page.getByRole("alert");
    await alert.getByText("The end must be after the start.").waitFor();
    await expectAccessible(page, "a wrong range of one's own");
  });

  deepTest("shows a key's spend on its own page as it does here", async () => {
    const { page } = ann;
    for (const name of ["alpha", "beta"] as const) {
      await open(page, "/usage?by=key");
      const { rows, column } = await readTable(page, "Figures by key");
      const place = rows.findIndex(([first]) => first === name);
      const spend = readMoney(column("Spend")[place] ?? "");
      await open(page, `/keys/${traffic.keys[name].keyId}`);
      await page.getByRole("switch", { name: "Show as table" }).check({ force: true });
      const days = await readTable(page, "Spend with this key by UTC day, as a table");
      expect(sumOfMoney(days.column("Spent")), name).toBe(spend);
      const last = await readTable(page, "Latest requests of this key");
      expect(sumOfMoney(costsOf(last)), name).toBe(spend);
    }
    await expectAccessible(page, "a key's page");
  });

  deepTest("sorts all requests, and follows new ones where it is asked to", async () => {
    const { page } = ann;
    await open(page, "/usage?range=1h&rows=25&sort=cost.desc");
    const byCost = await readTable(page, "Requests, sorted");
    const costs = costsOf(byCost).map((text) => readMoney(text));
    expect(costs).toEqual(costs.toSorted((a, b) => (a > b ? -1 : a < b ? 1 : 0)));
    await expect.poll(() => page.getByRole("switch", { name: "Live" }).isDisabled()).toBe(true);
    await open(page, "/usage?range=1h");
    const log = await readTable(page, "Requests, newest first");
    await page.getByRole("switch", { name: "Live" }).check({ force: true });
    await callGateway(fixture, traffic.keys.alpha.secret);
    await until("the new request is in the log", async () => {
      const now = await readTable(page, "Requests, newest first");
      return now.rows.length === log.rows.length + 1;
    });
  });

  test("has no errors in the browser's console", () => {
    expect(ann.complaints).toEqual([]);
  });
});

async function check(page: Page, group: string, option: string): Promise<void> {
  await radio(page, group, option).check({ force: true });
}

function isChecked(page: Page, group: string, option: string): Promise<boolean> {
  return radio(page, group, option).isChecked();
}

function radio(page: Page, group: string, option: string): ReturnType<Page["getByRole"]> {
  return page.getByRole("group", { name: group }).getByRole("radio", { name: option, exact: true });
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

function sorted(search: Readonly<Record<string, string>>): readonly unknown[] {
  return Object.entries(search).sort(([a], [b]) => (a < b ? -1 : 1));
}

async function downloadedRows(page: Page): Promise<ReturnType<typeof readCsv>> {
  const link = page.getByRole("link", { name: "Download CSV" });
  const address = new URL((await link.getAttribute("href")) ?? "", fixture.consoleUrl);
  const answer = await page.request.get(address.href);
  expect(answer.headers()["content-disposition"]).toMatch(
    /^attachment; filename="requests-\d{4}-[-\w]+\.csv"$/,
  );
  return readCsv(await answer.text());
}

function shown(amount: bigint): string {
  return `$${formatUsd(microUsd(amount))}`;
}

async function spentInSql({ orgId }: Newcomer): Promise<bigint> {
  const sql = "select coalesce(sum(debit), 0)::text as spent from attempt where org_id = $1";
  const [row] = await readSql(fixture.gateway, sql, [orgId]);
  return BigInt(String(row?.["spent"]));
}

async function spentByGatewayApi({ keys }: Traffic): Promise<bigint> {
  const url = `${fixture.gateway.url}/v1/usage?group_by=key`;
  const { json } = await httpCall(url, { headers: bearer(keys.alpha.secret) });
  const groups = listAt(json, "data");
  return groups.reduce<bigint>((sum, each) => sum + BigInt(Number(at(each, "cost_micro_usd"))), 0n);
}

function costsOf(table: ShownTable): readonly string[] {
  return table.column("Cost").filter((text) => text !== "–");
}
