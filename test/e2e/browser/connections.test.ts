import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";

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
import { listAt, textAt } from "../../support/http-call.ts";
import { startWebhookReceiver } from "../../support/webhook-receiver.ts";
import { withResource } from "../../support/with-resource.ts";

/** The simulator shows the first characters of a key that it was sent. */
const SHOWN_CHARS = 8;
/** A key that the simulated provider takes, and one that it does not. */
const OWN_KEY = "customer-own-key-0123456789-wxyz";
const BAD_KEY = "customer-invalid-key-0123456789-abcd";

const encryptionKey = Buffer.alloc(32, 9).toString("base64");
const fixture = withConsole({ settings: { encryptionKey } });
const open = pageOpener(fixture);
const browser = withBrowser();
const receiver = withResource(
  () => startWebhookReceiver(),
  (server) => server.close(),
);

describe.skipIf(!hasChromium)("the organization's keys at providers", () => {
  test("are stored, tested, used and permanently disabled, and never shown", async () => {
    const ann = await newcomer(fixture, browser, { name: "owner", usd: "5" });
    const { page } = ann;
    const reported: Promise<string>[] = [];
    page.on("response", (response) => {
      if (response.url().includes("/api/")) reported.push(response.text().catch(() => ""));
    });
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
    await dialog.getByText("Enter at least 8 characters").waitFor();
    await field.fill(OWN_KEY);
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
    await expectNoWayBack(page);

    const answers = (await Promise.all(reported)).join("\n");
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
    // A secret that was sent is in no field any more.
    await expect.poll(() => field.inputValue()).toBe("");
    expect(complaints).toEqual([]);
  });
});

describe.skipIf(!hasChromium)("webhooks on the page of alerts", () => {
  test("are added with a secret that is shown once, tested, edited and removed", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "hooks" });
    const address = `${receiver.url}/hooks`;
    await page.goto(`${fixture.consoleUrl}/settings/alerts`);
    await page.getByRole("button", { name: "Add webhook" }).click();
    const dialog = page.getByRole("dialog", { name: "Add webhook" });
    await dialog.getByLabel("URL").fill("ftp://example.com");
    await dialog.getByRole("button", { name: "Add webhook" }).click();
    await dialog.getByText("it must begin with https://").waitFor();
    await dialog.getByLabel("URL").fill(address);
    await dialog.getByLabel("All events, including ones added later").uncheck();
    await dialog.getByLabel("Credit added").uncheck();
    await expectAccessible(page, "the form of a webhook");
    await dialog.getByRole("button", { name: "Add webhook" }).click();
    const shown = page.getByRole("dialog", { name: "Save the signing secret" });
    const secret = (await shown.locator("[data-secret]").textContent()) ?? "";
    expect(secret).toMatch(/^whsec_/);
    await shown.getByRole("button", { name: "I saved it" }).click();
    await shown.waitFor({ state: "detached" });
    expect(await page.content()).not.toContain(secret);

    await page.getByRole("button", { name: `Send test to ${address}` }).click();
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

/** Calls until the gateway's call goes out with this key at the provider. */
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

async function expectNoWayBack(page: Page): Promise<void> {
  const { json } = await ask(fixture, page, "GET /api/console/connections");
  const [connection] = listAt(json, "data");
  const path = `/api/console/connections/${textAt(connection, "connection_id")}`;
  expect((await ask(fixture, page, `POST ${path}/enable`)).status).toBe(404);
  expect((await ask(fixture, page, `POST ${path}/test`)).status).toBe(409);
}
