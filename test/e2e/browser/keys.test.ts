import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";

import { until } from "../../support/books.ts";
import { expectAccessible, hasChromium, withBrowser } from "../../support/browser.ts";
import {
  ask,
  callGateway,
  callUntil,
  everythingKept,
  makeKey,
  newcomer,
  pageOpener,
} from "../../support/console-steps.ts";
import { withConsole } from "../../support/console-fixture.ts";
import { PROVIDER_KEY } from "../../support/gateway.ts";
import { at, textAt } from "../../support/http-call.ts";
import { startWebhookReceiver } from "../../support/webhook-receiver.ts";
import { withResource } from "../../support/with-resource.ts";

/** The simulator shows only this many of the first characters of a call's key. */
const SHOWN_CHARS = 8;
/** A key that the simulated provider accepts, and one that it rejects. */
const OWN_KEY = "customer-own-key-0123456789-wxyz";
const BAD_KEY = "customer-invalid-key-0123456789-abcd";

const encryptionKey = Buffer.alloc(32, 9).toString("base64");
const fixture = withConsole({ settings: { encryptionKey } });
const open = pageOpener(fixture);
const browser = withBrowser();
const receiver = withResource(() => startWebhookReceiver());

describe.skipIf(!hasChromium)("the keys page", () => {
  test("shows a new key once, closes only after it was saved, and never shows it again", async () => {
    const ann = await newcomer(fixture, browser, { name: "once", usd: "5" });
    const { page } = ann;
    const answers = noteAnswers(page);
    await open(page, "/keys");
    await page.getByRole("button", { name: "Create key" }).click();
    const form = page.getByRole("dialog", { name: "Create key" });
    await form.getByLabel("Name").fill(" production ");
    await expectAccessible(page, "the form of a new key");
    await form.getByRole("button", { name: "Create key" }).click();

    const shown = page.getByRole("dialog", { name: "Save your key “production”" });
    const secret = await shown.locator("[data-secret]").innerText();
    expect(secret).toMatch(/^tm_vk_[0-9a-f]{48}$/);
    await expectAccessible(page, "the new key");
    await page.keyboard.press("Escape");
    await page.mouse.click(5, 5);
    await expect.poll(() => shown.locator("[data-secret]").innerText()).toBe(secret);
    // The example call below the key contains the key, so that it runs as it is copied.
    expect((await shown.innerText()).split(secret)).toHaveLength(3);
    await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error())");
    await shown.getByRole("button", { name: "Copy" }).first().click();
    await page.getByText("Copying did not work. Select the text and copy it.").waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => shown.locator("[data-secret]").innerText()).toBe(secret);
    await page.evaluate("delete navigator.clipboard.writeText");
    await shown.getByRole("button", { name: "Copy" }).first().click();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(secret);
    expect((await callGateway(fixture, secret)).status).toBe(200);
    await shown.getByRole("button", { name: "I saved it" }).click();
    await shown.waitFor({ state: "detached" });

    const [made, ...others] = (await answers.all()).filter(({ text }) => text.includes(secret));
    expect(others).toEqual([]);
    expect(made?.route).toBe("POST /api/console/keys");
    expect(made?.cacheControl).toBe("no-store");
    const part = secret.slice(0, 13);
    for (const path of ["/keys", `/keys/${await keyIdOf(page, "production")}`, "/keys"]) {
      expect(await page.content()).not.toContain(part);
      expect(await everythingKept(ann)).not.toContain(part);
      await answers.all();
      await open(page, path);
    }
    expect(await page.content()).toContain(secret.slice(0, 12));
    const reported = (await answers.all()).filter(({ text }) => text.includes(part));
    expect(reported).toEqual([made]);
    expect(ann.complaints).toEqual([]);
  });

  test("a copy that succeeds late does not count for the next secret", async () => {
    const { page } = await newcomer(fixture, browser, { name: "late" });
    await open(page, "/keys");
    const create = async (name: string): Promise<Locator> => {
      await page.getByRole("button", { name: "Create key" }).first().click();
      const form = page.getByRole("dialog", { name: "Create key" });
      await form.getByLabel("Name").fill(name);
      await form.getByRole("button", { name: "Create key" }).click();
      const shown = page.getByRole("dialog", { name: `Save your key “${name}”` });
      await shown.waitFor();
      return shown;
    };
    const first = await create("first");
    await page.evaluate(
      "navigator.clipboard.writeText = () => new Promise((end) => (copied = end))",
    );
    await first.getByRole("button", { name: "Copy" }).first().click();
    await first.getByRole("button", { name: "I saved it" }).click();
    await first.waitFor({ state: "detached" });
    const second = await create("second");
    await page.evaluate("copied()");
    await page.keyboard.press("Escape");
    const secrets = await second.locator("[data-secret]").allInnerTexts();
    expect(secrets).toEqual([expect.stringMatching(/^tm_vk_/)]);
  });

  test("shows the result of a change whose answer was lost, so that nobody repeats it unknowingly", async () => {
    const { page } = await newcomer(fixture, browser, { name: "lost" });
    await open(page, "/keys");
    const loseAnswer = (path: string): Promise<unknown> =>
      page.route(path, async (route) => {
        if (route.request().method() === "GET") return await route.fallback();
        await route.fetch();
        return await route.abort();
      });
    await loseAnswer("**/api/console/keys");
    await page.getByRole("button", { name: "Create key" }).click();
    const form = page.getByRole("dialog", { name: "Create key" });
    await form.getByLabel("Name").fill("twice");
    await form.getByRole("button", { name: "Create key" }).click();
    await form.getByText("The console cannot be reached.").waitFor();
    await form.getByText("has this name already").waitFor();
    await form.getByRole("button", { name: "Cancel" }).click();
    await expect.poll(() => page.getByRole("row", { name: /twice/ }).count()).toBe(1);

    await loseAnswer("**/api/console/keys/key_*");
    await open(page, `/keys/${await keyIdOf(page, "twice")}`);
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    const edit = page.getByRole("dialog", { name: "Edit “twice”" });
    await edit.getByLabel("Tags").fill("made");
    await edit.getByRole("button", { name: "Save" }).click();
    await edit.getByText("The console cannot be reached.").waitFor();
    await edit.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("made", { exact: true }).waitFor();
  });

  test("closes a dialog of one key when the search leads to another key, so that it acts on no other key", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "hop" });
    const { keyId } = await makeKey(fixture, page, { name: "key for alpha" });
    await makeKey(fixture, page, { name: "key for beta" });
    const leadTo = async (name: string): Promise<void> => {
      await page.keyboard.press("Control+k");
      const field = page.getByRole("combobox", { name: "Search pages, keys, and models" });
      await field.fill(name);
      await page.getByRole("option", { name, selected: true }).waitFor();
      await field.press("Enter");
      await page.locator("h1", { hasText: name }).waitFor();
    };
    await open(page, `/keys/${keyId}`);
    // Both keys have been read then, so that their pages are shown at once.
    await leadTo("key for beta");
    await leadTo("key for alpha");
    await page.getByRole("button", { name: "Rotate", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: /^Rotate/ });
    await dialog.waitFor();
    await leadTo("key for beta");
    await expect.poll(() => dialog.count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test("keeps another member's change to a field that was not edited while the form was open", async () => {
    const { page } = await newcomer(fixture, browser, { name: "both" });
    const { keyId } = await makeKey(fixture, page, { name: "shared", cap_usd: "0.0001" });
    const path = `/api/console/keys/${keyId}`;
    await open(page, `/keys/${keyId}`);
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    const edit = page.getByRole("dialog", { name: "Edit “shared”" });
    await edit.getByLabel("Requests per minute").fill("50");
    const cap = edit.getByLabel("Monthly cap in dollars");
    await expect.poll(() => cap.getAttribute("placeholder")).toBe("0.0001");
    await cap.fill("-1");
    await edit.getByRole("button", { name: "Save" }).click();
    await edit.getByText("A cap cannot be negative. 0 removes it.").waitFor();
    await cap.fill("0");
    await edit.getByLabel("Expires").selectOption("7");
    await edit.getByPlaceholder("All models").click();
    const model = page.getByRole("listbox").getByRole("option").first();
    const modelId = await model.innerText();
    await model.click();
    // The list of models closes when it loses the focus.
    await page.keyboard.press("Tab");
    await ask(fixture, page, `PATCH ${path}`, { tags: ["theirs"] });
    // The page reads the key again after a change whose answer it lost.
    await page.route(`**${path}`, (route) =>
      route.request().method() === "GET" ? route.fallback() : route.abort(),
    );
    await edit.getByRole("button", { name: "Save" }).click();
    await edit.getByText("The console cannot be reached.").waitFor();
    await page.getByText("theirs", { exact: true }).waitFor();
    await page.unroute(`**${path}`);
    await edit.getByRole("button", { name: "Save" }).click();
    await edit.waitFor({ state: "detached" });
    const { json } = await ask(fixture, page, `GET ${path}`);
    expect(at(json, "key")).toMatchObject({
      rpm: 50,
      tags: ["theirs"],
      cap_usd: null,
      models: [modelId],
      expires_at: expect.stringMatching(/Z$/),
    });
  });

  test("makes a key with the keyboard alone", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "hands" });
    await open(page, "/keys");
    await tabTo(page, page.getByRole("button", { name: "Create key" }));
    await page.keyboard.press("Enter");
    const form = page.getByRole("dialog", { name: "Create key" });
    await focused(form.getByLabel("Name"));
    // The form itself refuses the input: a field says what is wrong, and the form stays open.
    await page.keyboard.press("Enter");
    await form.getByText("Enter a name").waitFor();
    await page.keyboard.type("by hand");
    await page.keyboard.press("Tab");
    await focused(form.locator("summary"));
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    await focused(form.getByLabel("Requests per minute"));
    await page.keyboard.type("50");
    await page.keyboard.press("Tab");
    await focused(form.getByLabel("Monthly cap in dollars"));
    await page.keyboard.type("3.5");
    await page.keyboard.press("Enter");
    const shown = page.getByRole("dialog", { name: "Save your key “by hand”" });
    await tabTo(page, shown.getByRole("button", { name: "Copy" }).first());
    await page.keyboard.press("Enter");
    const secret = String(await page.evaluate("navigator.clipboard.readText()"));
    expect(secret).toMatch(/^tm_vk_[0-9a-f]{48}$/);
    await tabTo(page, shown.getByRole("button", { name: "I saved it" }));
    await page.keyboard.press("Enter");
    await shown.waitFor({ state: "detached" });
    // The focus returns to the button that opened the form, not to the top of the page.
    await focused(page.getByRole("button", { name: "Create key" }));
    const row = page.getByRole("row", { name: "by hand" });
    await expect.poll(() => row.innerText()).toMatch(/50\/min[^]*\$3\.50/);
    expect(complaints).toEqual([]);
  });

  test("disables a key permanently, after its name was typed", async () => {
    const ann = await newcomer(fixture, browser, { name: "off", usd: "5" });
    const { page } = ann;
    await makeKey(fixture, page, { name: "old laptop" });
    await open(page, "/keys");
    await page.getByRole("button", { name: "Disable old laptop" }).click();
    const dialog = page.getByRole("dialog", { name: "Disable key" });
    await dialog.getByText("It may still work for up to 5 seconds").waitFor();
    for (const fact of ["Begins with", "Created", "Last used", "Requests today"]) {
      await dialog.getByText(fact, { exact: true }).waitFor();
    }
    const confirm = dialog.getByRole("button", { name: "Disable permanently" });
    await dialog.getByLabel("Type old laptop to confirm").fill("old lapto");
    await expect.poll(() => confirm.isDisabled()).toBe(true);
    await dialog.getByLabel("Type old laptop to confirm").press("End");
    await page.keyboard.type("p");
    await expectAccessible(page, "disabling a key");
    await confirm.click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("row", { name: "old laptop" }).waitFor({ state: "detached" });
    await page.getByText("Disabled", { exact: true }).click();
    const row = page.getByRole("row", { name: "old laptop" });
    await row.waitFor();
    await page.waitForURL((url) => url.searchParams.get("status") === "disabled");
    await page.reload();
    await row.waitFor();
    const struck = row.getByRole("link").locator('[style*="line-through"]');
    await expect.poll(() => struck.count()).toBe(1);
    await expect.poll(() => page.getByRole("button", { name: /enable|rename/i }).count()).toBe(0);
    expect(ann.complaints).toEqual([]);
  });

  test("gives a key a new secret, and the old one works for the chosen hours", async () => {
    const ann = await newcomer(fixture, browser, { name: "turn", usd: "5" });
    const { page } = ann;
    const old = await makeKey(fixture, page, { name: "turning" });
    await open(page, `/keys/${old.keyId}`);
    await page.getByRole("button", { name: "Rotate" }).click();
    const form = page.getByRole("dialog", { name: "Rotate “turning”" });
    const field = form.getByLabel("Hours for which the old secret still works");
    await field.fill("73");
    await form.getByText("Enter a whole number from 0 to 72.").waitFor();
    await field.fill("1");
    await expectAccessible(page, "the form of a rotation");
    await form.getByRole("button", { name: "Make a new secret" }).click();
    const shown = page.getByRole("dialog", { name: "Save the new secret of “turning”" });
    const second = await shown.locator("[data-secret]").innerText();
    await shown.getByRole("button", { name: "Copy" }).first().click();
    await shown.getByRole("button", { name: "I saved it" }).click();
    await shown.waitFor({ state: "detached" });
    expect(second).not.toBe(old.secret);
    for (const secret of [old.secret, second]) {
      expect((await callGateway(fixture, secret)).status).toBe(200);
    }
    await page.getByText("Old secret works until").waitFor();
    await page.getByRole("button", { name: "Rotate" }).click();
    await form.getByText("Rotating again ends it at once.").waitFor();
    expect(ann.complaints).toEqual([]);
  });

  test("changes several selected keys at once, and disables them after their number was typed", async () => {
    const ann = await newcomer(fixture, browser, { name: "several", usd: "5" });
    const { page } = ann;
    for (const name of ["north", "south", "spare"]) await makeKey(fixture, page, { name });
    await open(page, "/keys");
    const select = async (): Promise<void> => {
      for (const name of ["north", "south"]) await page.getByLabel(`Select ${name}`).check();
      await page.getByText("2 keys selected").waitFor();
    };
    await select();
    await page.getByRole("button", { name: "Change caps, expiry, or tags" }).click();
    const form = page.getByRole("dialog", { name: "Change 2 keys" });
    await form.getByLabel("Daily cap in dollars").fill("3");
    await form.getByLabel("Tags").selectOption("replace");
    await form.getByLabel("New tags").fill("ci, eu");
    await expectAccessible(page, "a change of several keys");
    await form.getByRole("button", { name: "Save" }).click();
    await form.waitFor({ state: "detached" });
    const { json } = await ask(fixture, page, "GET /api/console/keys");
    const seen = (at(json, "data") as readonly object[]).map((key) =>
      ["name", "cap_day_usd", "tags"].map((field) => at(key, field)),
    );
    expect(seen).toEqual([
      ["spare", null, []],
      ["south", "3.000000", ["ci", "eu"]],
      ["north", "3.000000", ["ci", "eu"]],
      ["Trial key", null, []],
    ]);

    const south = page.getByRole("row", { name: "south" });
    await expect.poll(() => south.innerText()).toMatch(/\$3\.00 a day[^]*0% of daily cap/);

    await select();
    await page.getByRole("button", { name: "Disable selected" }).click();
    const dialog = page.getByRole("dialog", { name: "Disable 2 keys" });
    const confirm = dialog.getByRole("button", { name: "Disable permanently" });
    await dialog.getByLabel("Type 2 to confirm").fill("3");
    await expect.poll(() => confirm.isDisabled()).toBe(true);
    await dialog.getByLabel("Type 2 to confirm").fill("2");
    await confirm.click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("row", { name: "north" }).waitFor({ state: "detached" });
    await page.getByLabel("Select spare").waitFor();
    await expect.poll(() => page.getByRole("row", { name: "south" }).count()).toBe(0);

    expect(ann.complaints).toEqual([]);
  });
});

interface Noted {
  readonly route: string;
  readonly cacheControl: string | undefined;
  readonly text: string;
}

/** Records every API answer of this page from now on; `all` waits for pending answers. */
function noteAnswers(page: Page): { all(): Promise<readonly Noted[]> } {
  const noting: Promise<Noted>[] = [];
  page.on("response", (response) => {
    const { pathname } = new URL(response.url());
    if (!/^\/(api|playground)\//.test(pathname)) return;
    const noted = async (): Promise<Noted> => ({
      route: `${response.request().method()} ${pathname}`,
      cacheControl: response.headers()["cache-control"],
      // A response has no body any more once its page was left.
      text: await response.text().catch(() => ""),
    });
    noting.push(noted());
  });
  return { all: () => Promise.all(noting) };
}

async function keyIdOf(page: Page, name: string): Promise<string> {
  const { json } = await ask(fixture, page, "GET /api/console/keys");
  const list = at(json, "data") as readonly object[];
  return textAt(
    list.find((key) => at(key, "name") === name),
    "key_id",
  );
}

/** Presses Tab until the target has the focus; fails if it never gets it. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  for (let presses = 0; presses < 60; presses += 1) {
    if (await isFocused(target)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`the keyboard does not come to ${String(target)}`);
}

async function focused(target: Locator): Promise<void> {
  await until(`${String(target)} is focused`, () => isFocused(target));
}

async function isFocused(target: Locator): Promise<boolean> {
  return (await target.and(target.page().locator(":focus")).count()) > 0;
}

describe.skipIf(!hasChromium)("the organization's keys at providers", () => {
  test("are stored, tested, used and permanently disabled, and never shown", async () => {
    const ann = await newcomer(fixture, browser, { name: "owner", usd: "5" });
    const { page } = ann;
    const noted = noteAnswers(page);
    const { secret } = await makeKey(fixture, page, { name: "app" });
    await usesKey(secret, PROVIDER_KEY);
    await open(page, "/connections");
    await page.getByText("No provider keys yet").waitFor();
    await page.getByRole("button", { name: "Add connection" }).first().click();
    const dialog = page.getByRole("dialog", { name: "Add connection" });
    await dialog.getByLabel("Provider", { exact: true }).selectOption("prov-a");
    await dialog.getByLabel("Name").fill("team account");
    const field = dialog.getByRole("textbox", { name: "Provider key" });
    await field.fill("short");
    await dialog.getByRole("button", { name: "Add connection" }).click();
    const problem = dialog.getByText("Enter at least 8 characters");
    await problem.waitFor();
    await field.fill(OWN_KEY);
    await problem.waitFor({ state: "detached" });
    await expect.poll(() => field.getAttribute("type")).toBe("password");
    await expectAccessible(page, "the form of a connection");
    await dialog.getByRole("button", { name: "Add connection" }).click();
    await dialog.waitFor({ state: "detached" });

    const row = page.getByRole("row", { name: "team account" });
    await row.getByText("…wxyz").waitFor();
    await row.getByRole("button", { name: "Test team account" }).click();
    await page.getByRole("status").getByText("Accepted by the provider").waitFor();
    await usesKey(secret, OWN_KEY);

    await page.keyboard.press("Escape");
    await row.getByRole("button", { name: "Disable team account" }).click();
    const confirm = page.getByRole("dialog", { name: "Disable connection" });
    await confirm.getByText("the stored provider key is deleted").waitFor();
    await confirm.getByLabel("Type team account to confirm").fill("team account");
    await confirm.getByRole("button", { name: "Disable permanently" }).click();
    await confirm.waitFor({ state: "detached" });
    await row.getByText("disabled").waitFor();
    await expect.poll(() => row.getByRole("button").count()).toBe(0);
    const { json } = await ask(fixture, page, "GET /api/console/connections");
    const path = `/api/console/connections/${textAt(json, "data.0.connection_id")}`;
    expect((await ask(fixture, page, `POST ${path}/enable`)).status).toBe(404);
    expect((await ask(fixture, page, `POST ${path}/test`)).status).toBe(409);

    const answers = (await noted.all()).map(({ text }) => text).join("\n");
    expect(answers).toContain("team account");
    const places = {
      answers,
      page: await page.content(),
      browser: await everythingKept(ann),
    };
    for (const [place, text] of Object.entries(places)) {
      expect(text.length, place).toBeGreaterThan(20);
      expect(text.includes(OWN_KEY.slice(0, -4)), place).toBe(false);
    }
    expect(ann.complaints).toEqual([]);
  });

  test("that a provider refuses are reported as rejected, and each provider can have one key", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "refused" });
    const stored = { provider: "prov-a", name: "old account", provider_key: BAD_KEY };
    expect((await ask(fixture, page, "POST /api/console/connections", stored)).status).toBe(200);
    await open(page, "/connections");
    await page.getByRole("button", { name: "Test old account" }).click();
    await page.getByRole("status").getByText("Rejected by the provider").waitFor();
    await page.getByText("disable the connection and add a new key").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Add connection" }).first().click();
    const dialog = page.getByRole("dialog", { name: "Add connection" });
    await dialog.getByLabel("Provider", { exact: true }).selectOption("prov-a");
    await dialog.getByLabel("Name").fill("new account");
    const field = dialog.getByRole("textbox", { name: "Provider key" });
    await field.fill(OWN_KEY);
    await dialog.getByRole("button", { name: "Add connection" }).click();
    await dialog.getByRole("alert").getByText("active connection to this provider").waitFor();
    // A secret that was sent is cleared from its field.
    await expect.poll(() => field.inputValue()).toBe("");
    expect(complaints).toEqual([]);
  });
});

describe.skipIf(!hasChromium)("webhooks on the page of alerts", () => {
  test("are added with a secret that is shown once, tested, edited and removed", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "hooks" });
    const address = `${receiver.url}/hooks`;
    await page.goto(`${fixture.consoleUrl}/settings/alerts`);
    const purchases = page.getByLabel("Credit from a purchase was added");
    await expect.poll(() => purchases.isChecked()).toBe(true);
    await ask(fixture, page, "PATCH /api/console/alerts", { purchases: false });
    await page.getByRole("button", { name: "Add webhook" }).click();
    const dialog = page.getByRole("dialog", { name: "Add webhook" });
    await dialog.getByLabel("URL").fill("ftp://example.com");
    await dialog.getByRole("button", { name: "Add webhook" }).click();
    await dialog.getByText("it must begin with https://").waitFor();
    await dialog.getByLabel("URL").fill(address);
    await dialog.getByLabel("All events, including ones added later").uncheck();
    await dialog.getByLabel("Credit added").uncheck();
    await expectAccessible(page, "the form of a webhook");
    // The secret is shown before the page has read the destinations again.
    let goOn = (): void => undefined;
    const held = new Promise<void>((done) => {
      goOn = done;
    });
    await page.route("**/api/console/alerts", async (route) => {
      await held;
      await route.continue();
    });
    await dialog.getByRole("button", { name: "Add webhook" }).click();
    const shown = page.getByRole("dialog", { name: "Save the signing secret" });
    const secret = (await shown.locator("[data-secret]").textContent()) ?? "";
    expect(secret).toMatch(/^whsec_/);
    goOn();
    await shown.getByRole("link", { name: "How to verify a webhook" }).click();
    const question = page.getByRole("dialog", { name: "Have you saved it?" });
    await question.getByRole("button", { name: "Stay and save it" }).click();
    await question.waitFor({ state: "detached" });
    await shown.getByRole("button", { name: "I saved it" }).click();
    await shown.waitFor({ state: "detached" });
    expect(await page.content()).not.toContain(secret);

    // Adding it has read the rules again, which somebody has changed in the meantime.
    await expect.poll(() => purchases.isChecked()).toBe(false);
    await page.getByRole("button", { name: `Send test to ${address}` }).click();
    await until("the test alert has arrived", () => receiver.at("/hooks").length > 0);
    const log = page.getByRole("table", { name: "Recent alerts and their deliveries" });
    await log.getByText("Delivered").waitFor();
    await log.getByText("status 204").waitFor();

    await page.getByRole("button", { name: `Edit ${address}` }).click();
    const edit = page.getByRole("dialog", { name: "Edit destination" });
    await expectAccessible(page, "editing a webhook");
    await edit.getByRole("button", { name: "Rotate secret" }).click();
    const next = (await shown.locator("[data-secret]").textContent()) ?? "";
    expect(next).toMatch(/^whsec_/);
    expect(next).not.toBe(secret);
    await shown.getByRole("button", { name: "I saved it" }).click();
    await page.getByRole("button", { name: `Edit ${address}` }).click();
    await edit.getByText("The old secret is valid until").waitFor();
    await edit.getByLabel("Enabled").uncheck();
    await edit.getByRole("button", { name: "Save" }).click();
    const list = page.getByRole("table", { name: "Destinations of alerts" });
    await list.getByText("Disabled", { exact: true }).waitFor();
    const remove = page.getByRole("button", { name: `Remove ${address}` });
    await remove.click();
    await remove.waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
  });
});

/** Repeats a call until it reaches the provider with this key. */
async function usesKey(secret: string, providerKey: string): Promise<void> {
  await callUntil(
    `calls go out with ${providerKey.slice(0, SHOWN_CHARS)}…`,
    () => callGateway(fixture, secret),
    ({ status }) => {
      expect(status).toBe(200);
      const sent = String(fixture.gateway.simulator.calls().at(-1)?.headers["authorization"]);
      return sent.includes(providerKey.slice(0, SHOWN_CHARS));
    },
  );
}
