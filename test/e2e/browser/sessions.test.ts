import { createHash } from "node:crypto";

import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";

import { hasChromium, newVisitor, withBrowser, type Visitor } from "../../support/browser.ts";
import { until } from "../../support/books.ts";
import { pageShown } from "../../support/console-steps.ts";
import { startMailServer, type TestMailServer } from "../../support/mail-server.ts";
import { runSql } from "../../support/sql.ts";
import { withResource } from "../../support/with-resource.ts";
import { newcomer, withProviderConsole } from "../console/provider-fixture.ts";

const mails: TestMailServer = withResource(() => startMailServer("pass"));
const fixture = withProviderConsole(() => ({
  settings: {
    smtpHost: "127.0.0.1",
    smtpPort: mails.port,
    smtpSecurity: "none",
    smtpUser: "user",
    smtpPassword: "pass",
    smtpFrom: "Token Market <invitations@example.com>",
  },
}));
const browser = withBrowser();

/** A browser whose owner is signed in and has the page of this address open. */
async function signedIn(name: string, path: string): Promise<Visitor> {
  const visitor = await newVisitor(browser, { theme: "dark" });
  fixture.provider.signInAs(newcomer(name));
  await visitor.page.goto(`${fixture.url}/auth/start`);
  await pageShown(visitor.page);
  // An unsaved key would be shown before the requested page.
  if (visitor.page.url().endsWith("/welcome")) {
    await visitor.page.getByRole("button", { name: "I saved it" }).click();
    await visitor.page.getByText("This key is not shown again.").waitFor();
  }
  await visitor.page.goto(fixture.url + path);
  await pageShown(visitor.page);
  return visitor;
}

describe.skipIf(!hasChromium)("a session", () => {
  test("ends after seven days, also while a page is open, and a new sign-in leads back", async () => {
    const { page, complaints } = await signedIn("bob", "/usage?range=7d");
    await age(page, "6 days 23 hours 59 minutes");
    await page.reload();
    await page.getByRole("heading", { name: "Usage", level: 1 }).waitFor();
    await age(page, "7 days 1 second");
    // A late query of the page may already have led to the sign-in, which has no such link.
    await page.evaluate(`document.querySelector('a[href="/keys"]')?.click()`);
    await page.waitForURL((url) => url.pathname === "/sign-in");
    await page.getByText("Your session expired.").waitFor();
    await page.goto(`${fixture.url}/usage?range=7d`);
    await page.waitForURL((url) => url.searchParams.get("reason") === "expired");
    await page.getByRole("link", { name: "Continue with Scripted" }).click();
    await page.waitForURL(`${fixture.url}/usage?range=7d`);
    await page.getByRole("heading", { name: "Usage", level: 1 }).waitFor();
    expect(complaints).toEqual([]);
  });
});

describe.skipIf(!hasChromium)("an invitation", () => {
  /** Invites a person in the dialog; returns the link that it shows once. */
  async function invite({ page }: Visitor, email: string, role: string): Promise<string> {
    await page.getByRole("button", { name: "Invite", exact: true }).click();
    const form = page.getByRole("dialog", { name: "Invite to the organization" });
    await form.getByLabel("Email").fill(email);
    await form.getByRole("radio", { name: role }).check();
    await form.getByRole("button", { name: "Invite", exact: true }).click();
    const made = page.getByRole("dialog", { name: `Invitation for ${email}` });
    const link = await made.getByRole("group", { name: "Invitation link" }).innerText();
    await made.getByRole("button", { name: "Done" }).click();
    await page.getByRole("row", { name: new RegExp(email) }).waitFor();
    return link.trim();
  }

  async function remove({ page }: Visitor, email: string): Promise<void> {
    await page.getByRole("button", { name: `Remove ${email}` }).click();
    const question = page.getByRole("dialog", { name: "Remove member" });
    await question.getByRole("textbox").fill(email);
    await question.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByText(`${email} was removed`).waitFor();
  }

  async function isDisabled(page: Page, name: string): Promise<boolean> {
    return await page.getByRole("button", { name, exact: true }).isDisabled();
  }

  test("is offered first to a new person, whose pages then follow their role", async () => {
    const owner = await signedIn("ida", "/settings/members");
    const email = "jon@example.com";
    const link = await invite(owner, email, "viewer");
    await until("the invitation has arrived", async () => mails.received.length > 0);
    const { to = [], source = "" } = mails.received.at(-1) ?? {};
    expect(to).toEqual([email]);
    expect(source.replaceAll("=\r\n", "").replaceAll("=3D", "=")).toContain(link);

    // The guest does not open the link, because the verified address is enough.
    const guest = await newVisitor(browser);
    const { page } = guest;
    fixture.provider.signInAs(newcomer("jon"));
    await page.goto(`${fixture.url}/keys`);
    await page.getByRole("link", { name: "Continue with Scripted" }).click();
    await page.waitForURL(`${fixture.url}/join`);
    await page.getByText("ida@example.com invites you to ida as Viewer.").waitFor();
    await page.getByRole("button", { name: "Start an organization of your own" }).waitFor();
    // There is no other page for them until they have chosen.
    for (const path of ["/welcome", "/", "/keys"]) {
      await page.goto(fixture.url + path);
      await page.getByRole("heading", { name: "Join an organization" }).waitFor();
    }
    await page.getByRole("button", { name: "Join ida" }).click();
    await page.waitForURL(`${fixture.url}/`);
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();

    await page.getByRole("link", { name: "Keys", exact: true }).click();
    await page.getByText("You are a viewer").waitFor();
    await expect.poll(() => isDisabled(page, "Create key")).toBe(true);
    await owner.page.reload();
    await owner.page.getByRole("combobox", { name: `Role of ${email}` }).click();
    await owner.page.getByRole("option", { name: "developer" }).click();
    await owner.page.getByText(`${email} is now a developer`).waitFor();
    await page.goto(`${fixture.url}/settings/members`);
    await page.getByText("You are a developer").waitFor();
    await expect.poll(() => isDisabled(page, "Invite")).toBe(true);

    // The open page follows by itself.
    await remove(owner, email);
    await page.getByRole("alert").getByText("You are no longer a member of ida.").waitFor();
    await page.getByText("There is no open invitation for your email address.").waitFor();
    await page.getByRole("button", { name: "Start an organization of your own" }).click();
    await page.waitForURL(`${fixture.url}/welcome`);
    await page.locator("[data-secret]").waitFor();
    expect([...owner.complaints, ...guest.complaints]).toEqual([]);
  });
});

/** Puts the beginning and the end of this browser's session that far into the past. */
async function age(page: Page, by: string): Promise<void> {
  const cookies = await page.context().cookies(fixture.url);
  const token = cookies.find(({ name }) => name === "tm_session")?.value ?? "";
  await runSql(
    fixture.gateway,
    `update console_session set started_at = now() - $2::interval,
       expires_at = now() - $2::interval + interval '7 days'
     where session_id = $1`,
    [createHash("sha256").update(token).digest(), by],
  );
}
