import { execFile } from "node:child_process";
import { promisify } from "node:util";

import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";

import type {
  KeyList,
  Overview,
  RequestDetail,
  ShownChanges,
  TopUp,
  Usage,
} from "../../../src/account/console-api/contract.ts";
import { until } from "../../support/books.ts";
import {
  deepTest,
  expectAccessible,
  hasChromium,
  newVisitor,
  withBrowser,
} from "../../support/browser.ts";
import { chatBody } from "../../support/chat-bodies.ts";
import { withConsole } from "../../support/console-fixture.ts";
import {
  ask,
  callGateway,
  everythingKept,
  giveCredit,
  makeKey,
  newcomer,
  pageShown,
  signIn,
  pageOpener,
} from "../../support/console-steps.ts";
import { readTable } from "../../support/console-tables.ts";
import { runSql } from "../../support/sql.ts";
import { dollars, simulatorManifest, textModel } from "../../support/gateway.ts";
import { at, textAt, type HttpAnswer } from "../../support/http-call.ts";
import { imageManifest, imageModel } from "../../support/image-models.ts";

/** Dollars per million tokens of the provider that is tried first, and of a cheaper later one. */
const PRICES = {
  "test/two": { first: ["3", "9"], later: ["1", "2"] },
  "test/mid": { first: ["2", "4"], later: undefined },
  "test/low": { first: ["1.5", "80"], later: undefined },
} as const;
const FIRST = simulatorManifest({
  provider: "first",
  dialect: "wire_a",
  models: Object.entries(PRICES).map(([id, { first }]) =>
    textModel(id, { pricing: pricing(first) }),
  ),
});
const PICTURES = imageManifest({
  provider: "pictures",
  baseUrl: "{simulator}/img/v1",
  models: [imageModel("test/picture")],
});
const LATER = simulatorManifest({
  provider: "later",
  dialect: "wire_a",
  priority: 1,
  models: [textModel("test/two", { pricing: pricing(PRICES["test/two"].later) })],
});

function pricing([prompt, completion]: readonly [string, string]): readonly object[] {
  return Object.entries({ prompt, completion }).map(([type, cost_usd_per_million]) => ({
    type,
    unit: "token",
    cost_usd_per_million,
  }));
}

const fixture = withConsole({ manifests: [FIRST, LATER, PICTURES] });
const open = pageOpener(fixture);
const browser = withBrowser();

describe.skipIf(!hasChromium)("what a page says is what the gateway does", () => {
  test("the price in a row is what a call costs, and models are sorted and filtered by it", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "price", usd: "50" });
    const { secret } = await makeKey(fixture, page, { name: "app" });
    await open(page, "/models?modality=text&sort=prompt.asc");
    const paid: (readonly [string, bigint])[] = [];
    const rows = await readTable(page, "Models");
    for (const [place, name] of rows.column("Model").entries()) {
      const [, id = ""] = /(test\/\w+)/.exec(name) ?? [];
      const [input = "", output = ""] = ["Input / M", "Output / M"].map(
        (label) => /^\$([\d.]+)/.exec(rows.column(label)[place] ?? "")?.[1],
      );
      const { request } = await recorded(page, await callGateway(fixture, secret, chatBody(id)));
      const tokens = request.tokens;
      if (tokens === null) throw new Error(`${id} reported no tokens`);
      const cost =
        dollars(input) * BigInt(tokens.prompt) + dollars(output) * BigInt(tokens.completion);
      expect({ id, cost: dollars(request.cost_usd) }).toEqual({ id, cost: cost / 1_000_000n });
      paid.push([id, dollars(input)]);
    }
    expect(paid.map(([id]) => id)).toEqual(["test/low", "test/mid", "test/two"]);
    expect(paid.map(([, price]) => price)).toEqual([1_500_000n, 2_000_000n, 3_000_000n]);
    await open(page, "/models?modality=text&price=1");
    await page.getByText("No models match these filters.").waitFor();
    expect(rows.column("Input / M").at(-1)).toMatch(/^\$3\.00\s*from \$1\.00$/);
    expect(complaints).toEqual([]);
  });

  test("the sample code of each key works with that key, whatever models it may call", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "sample", usd: "50" });
    const lists = [null, ["test/two"], ["test/mid", "test/two"], ["test/picture"]];
    for (const models of lists) {
      const name = `key of ${models?.join(" and ") ?? "all"}`;
      const body = { name, ...(models === null ? {} : { models }) };
      const { keyId, secret } = await makeKey(fixture, page, body);
      await open(page, `/keys/${keyId}`);
      const code = await page.locator("pre").filter({ hasText: "curl" }).first().innerText();
      expect({ name, status: await statusOf(code, secret) }).toEqual({ name, status: "200" });
    }
    await open(page, "/keys");
    await page.getByRole("button", { name: "Create key" }).click();
    const form = page.getByRole("dialog", { name: "Create key" });
    await form.getByLabel("Name").fill("by form");
    await form.getByText("Limits, expiry, models, and tags").click();
    await form.getByPlaceholder("All models").click();
    await page.getByRole("option", { name: "test/two" }).click();
    await form.getByLabel("Name").focus();
    await page.keyboard.press("Enter");
    const shown = page.getByRole("dialog", { name: "Save your key “by form”" });
    const code = await shown.locator("pre").filter({ hasText: "curl" }).first().innerText();
    expect(code).toContain("test/two");
    expect(await statusOf(code, "")).toBe("200");
    expect(complaints).toEqual([]);
  });

  test("a refusal says whether the key's list or the catalog lacks the model", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "cause", usd: "50" });
    const { keyId, secret } = await makeKey(fixture, page, { name: "few", models: ["test/mid"] });
    const { secret: whole } = await makeKey(fixture, page, { name: "whole" });
    const barred = await callGateway(fixture, secret, chatBody("test/two"));
    expect(barred.text).toContain("this key may not call model");
    expect(barred.headers["x-tm-limit-kind"]).toBe("models");
    const unknown = await callGateway(fixture, whole, chatBody("test/none"));
    expect(unknown.text).toContain("is not listed");
    expect([barred.status, unknown.status]).toEqual([404, 404]);

    await recorded(page, barred);
    await open(page, `/requests/${idOf(barred)}`);
    await page.getByText("This key may call 1 model only, and “test/two” is not among").waitFor();
    await expectAccessible(page, "a request that its key may not make");
    await page.getByRole("link", { name: "Edit key" }).click();
    await page.waitForURL(`${fixture.consoleUrl}/keys/${keyId}`);
    await recorded(page, unknown);
    await open(page, `/requests/${idOf(unknown)}`);
    await page.getByText("“test/none” was not listed here").waitFor();
    await page.getByRole("link", { name: "View models" }).waitFor();
    expect(complaints).toEqual([]);
  });

  test("no cap means no cap of any period, on every page that shows caps", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "caps", usd: "50" });
    const bodies = [
      { name: "free" },
      { name: "daily", cap_day_usd: "4" },
      { name: "weekly", cap_week_usd: "3", cap_usd: "40" },
    ];
    for (const body of bodies) await makeKey(fixture, page, body);
    const { data } = (await ask(fixture, page, "GET /api/console/keys")).json as KeyList;
    await open(page, "/limits");
    const table = await readTable(page, "Caps of the organization and its keys");
    const names = table.column("For");
    for (const key of data) {
      const caps = [key.cap_usd, key.cap_week_usd, key.cap_day_usd].filter((cap) => cap !== null);
      const shown = table.column("Cap").filter((_, place) => names[place] === key.name);
      const words = caps.length === 0 ? ["No cap"] : caps.map((usd) => `$${usd.slice(0, -4)}`);
      expect(shown.toSorted()).toEqual(words.toSorted());
      await open(page, `/keys/${key.key_id}`);
      const isFree = (await page.getByText("No cap", { exact: true }).count()) > 0;
      expect({ name: key.name, isFree }).toEqual({ name: key.name, isFree: caps.length === 0 });
    }
    expect(table.column("Cap")[0]).toBe("$3.00");
    await open(page, "/limits");
    await page.getByRole("button", { name: "Edit the daily cap of daily" }).click();
    const dialog = page.getByRole("dialog", { name: "Daily cap of “daily”" });
    await dialog.getByLabel("Daily cap in dollars").fill("0");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByRole("row", { name: "Key daily – No cap" }).waitFor();
    expect(complaints).toEqual([]);
  });

  test("a viewer sees no button that answers with 403", async () => {
    const { page, orgId, complaints } = await newcomer(fixture, browser, {
      name: "eve",
      usd: "50",
    });
    const { keyId } = await makeKey(fixture, page, { name: "app" });
    const { json } = await ask(fixture, page, "POST /api/console/optimize", {
      name: "which",
      objective: "lowest_cost",
      models: ["test/mid", "test/low"],
      prompts: ["one", "two", "three"],
      max_tokens: 8,
      budget_usd: "1",
    });
    const asViewer = "update org_member set role = 'viewer' where org_id = $1";
    await runSql(fixture.gateway, asViewer, [orgId]);
    const pages = VIEWED.map((path) =>
      path.replace("$key", keyId).replace("$search", textAt(json, "search_id")),
    );
    const refused: string[] = [];
    page.on("response", (answer) => {
      if (answer.status() === 403) refused.push(`${page.url()}: ${answer.url()}`);
    });
    let pressed = 0;
    for (const path of pages) {
      await open(page, path);
      for (const field of await page.locator("main textarea:enabled").all()) await field.fill("x");
      for (const button of await page.locator("main button:enabled:visible").all()) {
        // Another button may have hidden this one.
        const name = await button.innerText({ timeout: 100 }).catch(() => "");
        if (NOT_PRESSED.test(name)) continue;
        await button.click({ timeout: 500 }).catch(() => undefined);
        pressed += 1;
        const sending = page.getByRole("dialog").locator("button[type=submit]:enabled");
        expect(await sending.allInnerTexts(), `${path}: ${name}`).toEqual([]);
        await page.keyboard.press("Escape");
      }
      await page.waitForLoadState("networkidle");
    }
    expect(refused).toEqual([]);
    expect(pressed).toBeGreaterThan(15);
    expect(complaints).toEqual([]);
  });

  test("automatic top-up is shown as on exactly while it buys", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "topup" });
    await open(page, "/billing");
    await page.getByLabel("Save this card for automatic top-up").check();
    await page.getByRole("button", { name: "Pay $25.00" }).click();
    await page.getByRole("button", { name: "Pay with test money" }).click();
    await page.waitForURL(/\/billing\/return\//);
    await open(page, "/billing");
    const panel = page.locator("section").filter({ hasText: "Automatic top-up" }).last();
    const rule = async (): Promise<TopUp["rule"]> =>
      ((await ask(fixture, page, "GET /api/console/top-up")).json as TopUp).rule;
    await panel.getByText("nothing is bought until you turn it on").waitFor();
    expect(await rule()).toBeNull();
    await expectSays("Off");
    await expectAccessible(page, "a saved card");
    await panel.getByRole("button", { name: "Turn on automatic top-up" }).click();
    await expectSays("Active");
    expect(await rule()).toMatchObject({ is_on: true, below_usd: "10.000000" });
    await panel.getByRole("button", { name: "Turn off" }).click();
    await expectSays("Off");
    expect(await rule()).toMatchObject({ is_on: false });
    expect(complaints).toEqual([]);

    async function expectSays(word: string): Promise<void> {
      await panel.getByText(word, { exact: true }).waitFor();
      // Every checked box is a rule in force.
      expect(await panel.getByRole("switch").count()).toBe(0);
    }
  });

  deepTest("the best of a search was chosen by its judge, else nothing is decided", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "judge", usd: "50" });
    await open(page, "/optimize");
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("A contest");
    await page.getByRole("textbox", { name: "Prompts" }).fill("one\ntwo\nthree");
    // The model is found by a part of its id and chosen with Enter.
    for (const id of ["t/two", "t/mid"]) {
      await page.getByRole("combobox", { name: "Models" }).fill(id);
      await page.getByRole("option").first().waitFor();
      await page.keyboard.press("Enter");
    }
    await page.keyboard.press("Escape");
    await page.getByRole("radio", { name: "Best judged" }).check();
    await page.getByRole("combobox", { name: "Judge" }).fill("t/low");
    await page.getByRole("option").first().waitFor();
    await page.keyboard.press("Enter");
    await page.getByLabel("Max output tokens").fill("16");
    await page.getByRole("button", { name: "Start search" }).click();
    await page.waitForURL(/\/optimize\/search_/);
    await page.getByText("Finished", { exact: true }).waitFor();
    const { json } = await ask(fixture, page, "GET /api/console/optimize");
    // The simulated judge answers no letter.
    expect(at(json, "data.0.results.0")).toMatchObject({ win_rate: null, rank: null });
    await page.getByText("Not decided", { exact: true }).waitFor();
    await page.getByText("The judge chose an answer to fewer than half").waitFor();
    await expectAccessible(page, "a search without a winner");
    expect(complaints).toEqual([]);
  });

  test("the causes of rejected requests add up, and the errors below are part of them", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "sums", usd: "50" });
    const { secret } = await makeKey(fixture, page, { name: "app" });
    const { secret: capped } = await makeKey(fixture, page, { name: "tiny", cap_usd: "0.000001" });
    const { secret: slow } = await makeKey(fixture, page, { name: "slow", rpm: 1 });
    const blamed = [{ role: "user", content: "[[fault:status:400]] Hello" }];
    const calls = [
      [secret, chatBody("test/none")],
      [secret, chatBody("test/none")],
      [capped, chatBody("test/mid")],
      [slow, chatBody("test/mid")],
      [slow, chatBody("test/mid")],
      [secret, chatBody("test/mid", { messages: blamed })],
    ] as const;
    for (const [key, body] of calls) await callGateway(fixture, key, body);
    const overview = async (): Promise<Overview> =>
      (await ask(fixture, page, "GET /api/console/overview")).json as Overview;
    await until("all of them are counted", async () => {
      return (await overview()).last_24h.requests === calls.length;
    });
    const { by_status: counts } = (await overview()).last_24h;
    const rejected = counts.rejected_by_gateway + counts.rejected_by_provider;
    await open(page, "/");
    const causes = await page.getByRole("link", { name: /\d+ .* · / }).innerText();
    const sum = [...causes.matchAll(/(\d+) /g)].reduce((all, [, each]) => all + Number(each), 0);
    expect({ causes, sum }).toEqual({ causes, sum: rejected });
    const errors = page.getByRole("table", {
      name: "Latest requests that were rejected or failed",
    });
    await errors.getByRole("row", { name: "test/none" }).first().waitFor();
    expect(complaints).toEqual([]);
  });

  deepTest("the first call works in the order of the page, and a press makes a key", async () => {
    const visitor = await newVisitor(browser);
    const { page, complaints } = visitor;
    await signIn(fixture, visitor, "first-minute@example.com");
    await giveCredit(fixture, page, "5");
    await open(page, "/welcome");
    const code = (): Promise<string> =>
      page.locator("pre").filter({ hasText: "curl" }).first().innerText();
    const trial = await page.locator("[data-secret]").innerText();
    await page.getByRole("button", { name: "I saved it" }).click();
    await page.getByRole("button", { name: "I saved it" }).waitFor({ state: "detached" });
    expect(await code()).toContain(trial);
    await page.getByRole("link", { name: "Go to overview" }).click();
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
    await page.goBack();
    await expect.poll(code).toContain(trial);

    await page.reload();
    await page.getByRole("button", { name: "Create a key and put it in" }).click();
    const made = await page.locator("[data-secret]").innerText();
    expect(made).not.toBe(trial);
    const refused = await callGateway(fixture, made, chatBody("gpt-4o"));
    expect(refused.status).toBe(404);
    await page.getByText("“gpt-4o” was not listed here").waitFor();
    await page.getByText("is a model that answers").waitFor();
    await expectAccessible(page, "a first call that was refused");
    await page.getByText("Stream", { exact: true }).click();
    expect(await code()).toContain('"stream": true');
    expect(await statusOf(await code(), "")).toBe("200");
    await page.getByText(/Your first request succeeded\. test\/\w+ of first answered in/).waitFor();
    expect(complaints).toEqual([]);
  });

  test("the first key is in the sample code after a payment, and kept nowhere beyond the tab", async () => {
    const visitor = await newVisitor(browser);
    const { page, complaints } = visitor;
    await signIn(fixture, visitor, "first-payment@example.com");
    await open(page, "/welcome");
    const secret = await page.locator("[data-secret]").innerText();
    await page.getByRole("button", { name: "I saved it" }).click();
    await page.getByRole("button", { name: "I saved it" }).waitFor({ state: "detached" });
    expect(await everythingKept(visitor)).not.toContain(secret);
    await page.getByRole("button", { name: /^Pay \$/ }).click();
    await page.getByRole("button", { name: "Pay with test money" }).click();
    await page.waitForURL(/\/(billing\/return|welcome)/);
    await pageShown(page);
    expect(await everythingKept(visitor)).not.toContain(secret);
    const back = page.getByRole("link", { name: /first request|welcome/i }).first();
    if (!page.url().endsWith("/welcome")) await back.click();
    await expect.poll(() => page.locator("[data-secret]").innerText()).toBe(secret);
    const code = await page.locator("pre").filter({ hasText: "curl" }).first().innerText();
    expect(code).toContain(secret);
    expect(await statusOf(code, "")).toBe("200");
    await page.reload();
    await page.getByRole("button", { name: "Create a key and put it in" }).waitFor();
    expect(complaints).toEqual([]);
  });

  test("a switch in the settings shows the rule in force, before and after a change", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "rules", usd: "5" });
    await open(page, "/settings/organization");
    const powers = page.getByRole("switch", { name: "Let keys lower organization limits" });
    const isAllowed = async (): Promise<unknown> =>
      at(
        (await ask(fixture, page, "GET /api/console/settings")).json,
        "org.keys_may_set_org_limits",
      );
    expect(await powers.isChecked()).toBe(await isAllowed());
    await powers.press("Space");
    await page.getByText(/^Settings of .* were saved/).waitFor();
    expect(await powers.isChecked()).toBe(await isAllowed());
    await page.reload();
    await expect.poll(() => powers.isChecked()).toBe(await isAllowed());
    expect(complaints).toEqual([]);
  });

  test("the change log says who did what to which thing, with amounts to the cent", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "log", usd: "20" });
    const { keyId } = await makeKey(fixture, page, { name: "nightly" });
    const capped = { cap_usd: "12.5" };
    await ask(fixture, page, `PATCH /api/console/keys/${keyId}`, capped);
    await ask(fixture, page, "PATCH /api/console/settings", { name: "Acme" });
    await open(page, "/settings/changes");
    await page.getByText("You changed the monthly cap of the key “nightly” to $12.50").waitFor();
    await page.getByText(/^You renamed the organization from “.*” to “Acme”$/).waitFor();
    const { json } = await ask(fixture, page, "GET /api/console/changes");
    const { data } = json as ShownChanges;
    const table = await readTable(page, "Changes of the organization");
    expect(table.column("Change")).toEqual(data.map(({ actor, says }) => `${actor} ${says}`));
    const shown = table.column("Change").join("\n");
    expect(shown).not.toMatch(/\b(?:org|key|acct|pur)_[0-9a-z]{6}|[a-z]_[a-z]|\.\d{6}|was shown/);
    await page.getByLabel("Type of change").selectOption("Keys");
    await page.getByText("You renamed").waitFor({ state: "detached" });
    await page.getByLabel("Until this day (UTC)").fill("2020-01-31");
    await page.getByText("No changes of this kind").waitFor();
    await page.getByLabel("Until this day (UTC)").fill("");
    await page.getByRole("link", { name: "nightly" }).first().click();
    await page.waitForURL(`${fixture.consoleUrl}/keys/${keyId}`);
    await open(page, "/settings/changes");
    await expectAccessible(page, "the change log");
    for (const name of ["You", "Organization", "Members", "Alerts"]) {
      await page.getByRole("navigation", { name: "Settings" }).getByRole("link", { name }).click();
      await page.getByRole("heading", { name, level: 1 }).waitFor();
      await expectAccessible(page, `settings: ${name}`);
    }
    expect(complaints).toEqual([]);
  });

  test("the groups of usage add up to its totals, whatever they group by", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "groups", usd: "50" });
    const { secret } = await makeKey(fixture, page, { name: "app" });
    const { secret: other } = await makeKey(fixture, page, { name: "job" });
    for (const id of ["test/mid", "test/two", "test/low"]) {
      await recorded(page, await callGateway(fixture, secret, chatBody(id)));
    }
    await recorded(page, await callGateway(fixture, other, chatBody("test/mid")));
    for (const by of ["model", "key", "provider"]) {
      const { json } = await ask(fixture, page, `GET /api/console/usage?group_by=${by}`);
      const usage = json as Usage;
      const cost = usage.groups.reduce((sum, each) => sum + dollars(each.figures.spent_usd), 0n);
      const requests = usage.groups.reduce((sum, each) => sum + each.figures.requests, 0);
      expect({ by, cost }).toEqual({ by, cost: dollars(usage.totals.spent_usd) });
      expect({ by, requests }).toEqual({ by, requests: usage.totals.requests });
    }
    expect(complaints).toEqual([]);
  });

  test("the documentation links to its sections, and the reference to a call that runs", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "docs", usd: "50" });
    await page.setViewportSize({ width: 1440, height: 900 });
    await open(page, "/docs");
    await expectAccessible(page, "the documentation");
    await page.getByRole("searchbox", { name: "Search docs" }).fill("verify by hand");
    await page.getByRole("link", { name: "Webhooks: Verify it by hand" }).click();
    await page.waitForURL(/\/docs\/webhooks#verify-it-by-hand$/);
    await page.getByRole("navigation", { name: "On this page" }).waitFor();
    await expectAccessible(page, "a guide with its sections");
    await page.getByRole("searchbox", { name: "Search docs" }).fill("");
    await page.getByRole("link", { name: "All routes" }).click();
    const routes = page.getByRole("table", { name: "Routes of Chat" });
    await routes.getByRole("link", { name: "POST /v1/chat/completions" }).click();
    await page.getByRole("heading", { name: "POST /v1/chat/completions", level: 1 }).waitFor();
    const fields = await readTable(page, "Answer of POST /v1/chat/completions");
    for (const about of fields.column("Description"))
      expect(about).toMatch(/^[A-Z0-9`].{5,}[.”)]$/);
    await expectAccessible(page, "a route of the reference");
    const { secret } = await makeKey(fixture, page, { name: "reader" });
    const code = await page.locator("pre").filter({ hasText: "curl" }).first().innerText();
    expect(await statusOf(code, secret)).toBe("200");
    expect(complaints).toEqual([]);
  });
});

/** Runs a printed call in a shell, and returns the status of its answer. */
async function statusOf(code: string, key: string): Promise<string> {
  const { stdout } = await promisify(execFile)(
    "sh",
    ["-c", `${code} -o /dev/null -w '%{http_code}'`],
    {
      env: { ...process.env, TOKEN_MARKET_KEY: key },
    },
  );
  return stdout;
}

/** Every page of an organization that changes something. */
const VIEWED = [
  "/playground",
  "/playground?tab=images",
  "/optimize",
  "/optimize/$search",
  "/keys",
  "/keys/$key",
  "/limits",
  "/connections",
  "/billing",
  "/billing/company",
  "/welcome",
  "/settings/organization",
  "/settings/members",
  "/settings/alerts",
  "/docs/quick-start",
];
/** Names of buttons that call no route, and of the one that every member may press. */
const NOT_PRESSED = /^$|Leave|Copy|Columns|Get code|Shell|curl|Python|TypeScript/;

function idOf({ headers }: HttpAnswer): string {
  return String(headers["x-request-id"]);
}

/** The record of a request once it has ended. */
async function recorded(page: Page, answer: HttpAnswer): Promise<RequestDetail> {
  let detail: RequestDetail | undefined;
  await until("the request is recorded", async () => {
    const { status, json } = await ask(fixture, page, `GET /api/console/requests/${idOf(answer)}`);
    detail = status === 200 ? (json as RequestDetail) : undefined;
    return detail !== undefined && detail.request.status !== "in_flight";
  });
  if (detail === undefined) throw new Error("there is no record");
  return detail;
}
