import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { describe, expect, test } from "vitest";

import type { ShownChanges, TopUp } from "../../../src/account/console-api/contract.ts";
import { until } from "../../support/books.ts";
import {
  deepTest,
  expectAccessible,
  hasChromium,
  newVisitor,
  withBrowser,
} from "../../support/browser.ts";
import { withConsole } from "../../support/console-fixture.ts";
import { ask, makeKey, newcomer, pageOpener } from "../../support/console-steps.ts";
import { readTable } from "../../support/console-tables.ts";
import { runSql } from "../../support/sql.ts";
import { simulatorManifest, textModel } from "../../support/gateway.ts";
import { at, textAt } from "../../support/http-call.ts";
import { imageManifest, imageModel } from "../../support/image-models.ts";
import { SEARCH } from "../console/provider-fixture.ts";

const TEXTS = simulatorManifest({
  provider: "texts",
  dialect: "wire_a",
  models: [
    ...["test/low", "test/mid", "test/two"].map((id) => textModel(id)),
    textModel("test/dear", {
      pricing: [
        { type: "prompt", unit: "token", cost_usd_per_million: "100" },
        { type: "completion", unit: "token", cost_usd_per_million: "100" },
      ],
    }),
  ],
});
const PICTURES = imageManifest({
  provider: "pictures",
  baseUrl: "{simulator}/img/v1",
  models: [imageModel("test/picture")],
});

const fixture = withConsole({ manifests: [TEXTS, PICTURES] });
const open = pageOpener(fixture);
const browser = withBrowser();

describe.skipIf(!hasChromium)("the guides", () => {
  test("run a request on their page, and show its cost before and after", async () => {
    const who = { name: "reader", usd: "5" };
    const { page, complaints, orgId } = await newcomer(fixture, browser, who);
    await page.goto(`${fixture.consoleUrl}/docs/quick-start`);
    await page.getByLabel("Model", { exact: true }).selectOption("test/dear");
    const code = page.getByRole("group", { name: "curl example" }).first();
    await expect.poll(() => code.innerText()).toContain('"model":"test/dear"');
    await page.getByRole("button", { name: "Run" }).first().click();
    await page.getByText(/^This request costs at most \$0\.0\d+, from/).waitFor();
    expect(fixture.gateway.simulator.calls()).toEqual([]);
    await expectAccessible(page, "a request with its cost");
    await page.getByRole("button", { name: "Run now" }).click();
    await page
      .getByRole("group", { name: "Answer", exact: true })
      .getByText(/You said/)
      .waitFor();
    await page.getByText(/^Cost \$0\.0/).waitFor();
    const sent = fixture.gateway.simulator.calls();
    expect(sent).toHaveLength(1);
    expect(sent[0]?.body).toMatchObject({ model: "test/dear", max_tokens: 64 });
    await until("the call is paid", async () => {
      const { settledMicroUsd } = await fixture.gateway.backend.recordStore.balance(orgId);
      return settledMicroUsd < 5_000_000n;
    });
    expect(complaints).toEqual([]);
  });

  test("say before a request that it would be refused, and after the refusal how to add credit", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "poor" });
    await page.goto(`${fixture.consoleUrl}/docs/quick-start`);
    await page.getByLabel("Model", { exact: true }).selectOption("test/dear");
    await page.getByRole("button", { name: "Run" }).first().click();
    await page.getByText(/^This request would be rejected: /).waitFor();
    await page.getByRole("button", { name: "Run anyway" }).click();
    const alert = page.getByRole("alert");
    await alert.getByText("insufficient_quota", { exact: true }).waitFor();
    await alert.getByRole("link", { name: "Add credit" }).waitFor();
    expect(complaints).toEqual([]);
  });

  test("write a pasted key into the code, and send it in no request", async () => {
    const { page, complaints } = await newVisitor(browser);
    const rawKey = `tm_vk_${"0f1e2d3c".repeat(4)}`;
    const seen: string[] = [];
    page.on("request", (request) => seen.push(`${request.url()} ${request.postData() ?? ""}`));
    await page.goto(`${fixture.consoleUrl}/docs/quick-start`);
    await page.getByRole("link", { name: "Sign in to run" }).first().waitFor();
    await page.getByLabel("Key in the code").selectOption("Paste a key");
    await page.getByLabel("Pasted key").fill("tm_vk_x; rm");
    await page.getByText("Enter a whole key.").waitFor();
    await page.getByLabel("Pasted key").fill(rawKey);
    const code = page.getByRole("group", { name: "curl example" }).first();
    await code.getByText(rawKey).waitFor();
    // Another guide forgets the key, also one that this tab has shown before.
    for (const guide of ["Streaming", "Quick start"]) {
      await page.getByRole("link", { name: guide, exact: true }).click();
      await page.getByRole("heading", { name: guide, level: 1 }).waitFor();
      await expect.poll(() => page.content()).not.toContain(rawKey);
      await page.getByLabel("Key in the code").selectOption("Paste a key");
      await page.getByLabel("Pasted key").fill(rawKey);
      await code.getByText(rawKey).waitFor();
    }
    await page.getByRole("link", { name: "Streaming", exact: true }).click();
    await page.getByRole("heading", { name: "Streaming", level: 1 }).waitFor();
    await expect.poll(() => page.content()).not.toContain(rawKey);
    expect(seen.filter((each) => each.includes(rawKey))).toEqual([]);
    const stored = await page.evaluate<string>(
      "JSON.stringify([{ ...localStorage }, { ...sessionStorage }])",
    );
    expect(stored).not.toContain(rawKey);
    expect(complaints).toEqual([]);
  });
});

describe.skipIf(!hasChromium)("the console's pages agree with the gateway", () => {
  test("the sample code of a key works with that key, whatever models it may call", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "sample", usd: "50" });
    const sampleCode = page.locator("pre").filter({ hasText: "curl" }).first();
    for (const model of ["test/two", "test/picture"]) {
      const { keyId, secret } = await makeKey(fixture, page, { name: model, models: [model] });
      await open(page, `/keys/${keyId}`);
      const code = await sampleCode.innerText();
      expect({ model, status: await statusOf(code, secret) }).toEqual({ model, status: "200" });
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

  deepTest("a viewer sees no button that answers with 403", async () => {
    const who = { name: "eve", usd: "50" };
    const { page, orgId, complaints } = await newcomer(fixture, browser, who);
    const { keyId } = await makeKey(fixture, page, { name: "app" });
    const search = { ...SEARCH, models: ["test/mid", "test/low"] };
    const { json } = await ask(fixture, page, "POST /api/console/optimize", search);
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

  test("automatic top-up is shown as active exactly while its rule is on", async () => {
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
    await page.getByText("Automatic top-up is on", { exact: true }).waitFor();
    await expectSays("Active");
    expect(await rule()).toMatchObject({ is_on: true, below_usd: "10.000000" });
    await panel.getByLabel(/^Buy, in dollars/).fill("1");
    await panel.getByRole("button", { name: "Turn off" }).click();
    await expectSays("Off");
    expect(await rule()).toMatchObject({ is_on: false });
    expect(complaints).toEqual([]);

    async function expectSays(word: string): Promise<void> {
      await panel.getByText(word, { exact: true }).waitFor();
      // The panel shows the rule's state as a word, and has no switch.
      expect(await panel.getByRole("switch").count()).toBe(0);
    }
  });

  test("a switch in the settings changes the stored rule, and the change log says who changed it", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "log", usd: "20" });
    const { keyId } = await makeKey(fixture, page, { name: "nightly" });
    await ask(fixture, page, `PATCH /api/console/keys/${keyId}`, { cap_usd: "12.5" });
    await ask(fixture, page, "PATCH /api/console/settings", { name: "Acme" });
    await open(page, "/settings/organization");
    const powers = page.getByRole("switch", { name: "Let keys lower organization limits" });
    await expect.poll(() => powers.isChecked()).toBe(false);
    await powers.press("Space");
    await page.getByText(/^Settings of .* were saved/).waitFor();
    const { json: settings } = await ask(fixture, page, "GET /api/console/settings");
    expect(at(settings, "org.keys_may_set_org_limits")).toBe(true);
    await page.reload();
    await expect.poll(() => powers.isChecked()).toBe(true);

    await page.getByRole("navigation", { name: "Settings" }).getByText("Changes").click();
    await page.getByText("You changed the monthly cap of the key “nightly” to $12.50").waitFor();
    await page.getByText(/^You renamed the organization from “.*” to “Acme”$/).waitFor();
    const { json } = await ask(fixture, page, "GET /api/console/changes");
    const { data } = json as ShownChanges;
    const table = await readTable(page, "Changes of the organization");
    expect(table.column("Change")).toEqual(data.map(({ actor, says }) => `${actor} ${says}`));
    const shown = table.column("Change").join("\n");
    expect(shown).not.toMatch(/\b(?:org|key|acct|pur)_[0-9a-z]{6}|[a-z]_[a-z]|\.\d{6}|was shown/);
    const day = page.getByLabel("Until this day (UTC)");
    await day.pressSequentially("01312020");
    await page.waitForURL(/until=2020-01-31/);
    expect(await day.inputValue()).toBe("2020-01-31");
    await page.getByText("No changes of this kind").waitFor();
    await page.goBack();
    await expect.poll(() => day.inputValue()).toBe("");
    await page.getByLabel("Type of change").selectOption("Keys");
    await page.getByText("You renamed").waitFor({ state: "detached" });
    await page.getByRole("link", { name: "nightly" }).first().click();
    await page.waitForURL(`${fixture.consoleUrl}/keys/${keyId}`);
    await page.goBack();
    await expect.poll(() => page.getByLabel("Type of change").inputValue()).toBe("key");
    await page.getByText("You renamed").waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
  });

  test("the search of the docs finds a section and a route, says if it finds nothing or cannot search, and the sample call of the reference succeeds", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "docs", usd: "50" });
    await page.setViewportSize({ width: 1440, height: 900 });
    await open(page, "/docs");
    const search = page.getByRole("searchbox", { name: "Search docs" });
    await page.route("**/llms-full.txt", (route) => route.fulfill({ status: 400, body: "{}" }));
    await search.fill("verify by hand");
    const failure = page.getByRole("alert").filter({ hasText: "Something went wrong" });
    await failure.waitFor();
    expect(await page.getByText("No results").count()).toBe(0);
    await page.unroute("**/llms-full.txt");
    await failure.getByRole("button", { name: "Try again" }).click();
    await failure.waitFor({ state: "detached" });
    await search.fill("no such thing anywhere");
    await page.getByRole("status").getByText("No results").waitFor();
    await search.fill("post /v1/chat/completions");
    await page.getByRole("link", { name: /^POST \/v1\/chat\/completions: / }).waitFor();
    await search.fill("verify by hand");
    await page.getByRole("link", { name: "Webhooks: Verify it by hand" }).click();
    await page.waitForURL(/\/docs\/webhooks#verify-it-by-hand$/);
    await page.getByRole("navigation", { name: "On this page" }).waitFor();
    await search.fill("");
    await page.getByRole("link", { name: "All routes" }).click();
    const routes = page.getByRole("table", { name: "Routes of Chat" });
    await routes.getByRole("link", { name: "POST /v1/chat/completions" }).click();
    await page.getByRole("heading", { name: "POST /v1/chat/completions", level: 1 }).waitFor();
    const fields = await readTable(page, "Answer of POST /v1/chat/completions");
    for (const about of fields.column("Description"))
      expect(about).toMatch(/^[A-Z0-9`].{5,}[.”)]$/);
    const { secret } = await makeKey(fixture, page, { name: "reader" });
    const code = await page.locator("pre").filter({ hasText: "curl" }).first().innerText();
    expect(await statusOf(code, secret)).toBe("200");
    expect(complaints).toEqual([]);
  });
});

/** Runs a printed call in a shell, and returns the status of its answer. */
async function statusOf(code: string, key: string): Promise<string> {
  const command = `${code} -o /dev/null -w '%{http_code}'`;
  const env = { ...process.env, TOKEN_MARKET_KEY: key };
  const { stdout } = await promisify(execFile)("sh", ["-c", command], { env });
  return stdout;
}

/** Every page on which a member can change something in the organization. */
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
/** Names of buttons that are not clicked: every member may leave, and the others call no route. */
const NOT_PRESSED = /^$|Leave|Copy|Columns|Get code|Shell|curl|Python|TypeScript/;
