import { describe, expect, test } from "vitest";

import { expectAccessible, hasChromium, withBrowser } from "../../support/browser.ts";
import { newcomer } from "../../support/console-steps.ts";
import { withConsole } from "../../support/console-fixture.ts";
import { startWebhookReceiver } from "../../support/webhook-receiver.ts";
import { withResource } from "../../support/with-resource.ts";

const encryptionKey = Buffer.alloc(32, 9).toString("base64");
const fixture = withConsole({ settings: { encryptionKey } });
const browser = withBrowser();
const receiver = withResource(
  () => startWebhookReceiver(),
  (server) => server.close(),
);

describe.skipIf(!hasChromium)("webhooks on the page of alerts", () => {
  test("are added with a secret that is shown once, tested, edited and removed", async () => {
    const ann = await newcomer(fixture, browser, { name: "owner", theme: "light" });
    const { page } = ann;
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
    await expectAccessible(page, "the secret of a webhook");
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
    await expectAccessible(page, "a disabled webhook");
    const remove = page.getByRole("button", { name: `Remove ${address}` });
    await remove.click();
    await remove.waitFor({ state: "detached" });
  });
});
