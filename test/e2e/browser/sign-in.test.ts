import { createHash } from "node:crypto";

import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";

import { until } from "../../support/books.ts";
import {
  expectAccessible,
  hasChromium,
  newVisitor,
  withBrowser,
  type Visitor,
} from "../../support/browser.ts";
import { chatBody } from "../../support/chat-bodies.ts";
import { everythingKept, pageShown } from "../../support/console-steps.ts";
import { bearer, httpCall, textAt } from "../../support/http-call.ts";
import { startMailServer } from "../../support/mail-server.ts";
import { runSql } from "../../support/sql.ts";
import { withResource } from "../../support/with-resource.ts";
import { newcomer, withProviderConsole } from "../console/provider-fixture.ts";

const mails = withResource(() => startMailServer());
const fixture = withProviderConsole(() => ({
  hasCheckout: true,
  settings: { support: "help@example.com", ...mails.settings },
}));
const browser = withBrowser();
const TABS = ["curl", "Python", "TypeScript", "Claude Code", "opencode"];

describe.skipIf(!hasChromium)("signing in", () => {
  /** Presses the only button of the sign-in page; the provider already knows the person. */
  async function press(page: Page, address = "/sign-in"): Promise<void> {
    await page.goto(fixture.url + address);
    await page.getByRole("link", { name: "Continue with Scripted" }).click();
    await page.waitForURL((url) => url.origin === fixture.url && url.pathname !== "/sign-in");
    await pageShown(page);
  }

  test("for the first time shows the trial key until it is saved, and warns before leaving the page", async () => {
    const { page, context, complaints } = await newVisitor(browser);
    fixture.provider.signInAs(newcomer("ann"));
    await press(page, "/sign-in?return=%2Fusage");
    expect(new URL(page.url()).pathname).toBe("/welcome");
    const secret = page.locator("[data-secret]");
    const key = await secret.innerText();
    expect(key).toMatch(/^tm_vk_[0-9a-f]{48}$/);
    const tabs = page.getByRole("tab");
    await expect.poll(() => tabs.allInnerTexts()).toEqual(TABS);
    await page.getByRole("tab", { name: "Claude Code" }).click();
    await page.getByText(`ANTHROPIC_AUTH_TOKEN=${key}`).waitFor();
    await page.getByRole("button", { name: "Copy", exact: true }).click();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(key);
    await page.getByRole("link", { name: "Go to overview" }).click();
    const question = page.getByRole("dialog", { name: "Have you saved your key?" });
    await question.getByText("Your key is readable on this page").waitFor();
    await expectAccessible(page, "leaving");
    await question.getByRole("button", { name: "Stay and save it" }).click();
    expect(new URL(page.url()).pathname).toBe("/welcome");
    await page.getByRole("link", { name: "Go to overview" }).click();
    await question.getByRole("button", { name: "Leave" }).click();
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
    await page.goBack();
    await page.waitForURL(`${fixture.url}/welcome`);
    await expect.poll(() => secret.innerText()).toBe(key);
    await page.getByRole("button", { name: "I saved it" }).click();
    await page.getByText("This key is not shown again.").waitFor();
    await page.reload();
    await expectNoKey(page, key);
    const tab = await context.newPage();
    await tab.goto(`${fixture.url}/welcome`);
    await expectNoKey(tab, key);
    expect(await everythingKept({ context, page, complaints })).not.toContain(key.slice(0, 13));
    expect(complaints).toEqual([]);
  });

  async function expectNoKey(page: Page, key: string): Promise<void> {
    await page.getByText("No key to show").waitFor();
    expect(await page.content()).not.toContain(key.slice(0, 13));
  }

  test("leads to the first call, explains its refusal without credit, and counts only a 2xx as success", async () => {
    const visitor = await newVisitor(browser);
    const { page, complaints } = visitor;
    fixture.provider.signInAs(newcomer("tom"));
    await press(page);
    const key = await page.locator("[data-secret]").innerText();
    await page.getByText("Waiting for your first request…").waitFor();
    const call = (path: string, body: object): ReturnType<typeof httpCall> =>
      httpCall(fixture.gateway.url + path, { headers: bearer(key), body });
    expect((await call("/v1/chat/completions", chatBody("test/a"))).status).toBe(429);
    await page.getByText("It arrived and was rejected: there is no credit yet.").waitFor();
    await expect.poll(() => page.getByText("Your first request succeeded.").count()).toBe(0);
    await expectAccessible(page, "refused");
    await page.getByRole("button", { name: "I saved it" }).click();
    await page.getByText("This key is not shown again.").waitFor();
    await page.getByRole("alert").getByRole("button", { name: "Add credit" }).click();
    await page.getByRole("button", { name: "Pay $25.00" }).click();
    await page.getByRole("button", { name: "Pay with test money" }).click();
    // Paying leads directly back to the welcome page. The key is still shown, and stored nowhere.
    await page.waitForURL(`${fixture.url}/welcome`);
    await expect.poll(() => page.locator("[data-secret]").innerText()).toBe(key);
    expect(await everythingKept(visitor)).not.toContain(key.slice(0, 13));
    await page.getByText("Your balance is $25.00").waitFor();
    const first = await call("/v1/chat/completions", chatBody("test/a"));
    expect(first.status, first.text).toBe(200);
    await page.getByText("Your first request succeeded.").waitFor();
    await page.getByRole("link", { name: "View request" }).click();
    await page.waitForURL(`${fixture.url}/requests/${String(first.headers["x-request-id"])}`);
    expect(complaints).toEqual([]);
  });

  test("with an unverified e-mail opens only the verification page, until it is verified", async () => {
    const { page, complaints } = await newVisitor(browser);
    const eve = { ...newcomer("eve"), emailVerified: false };
    fixture.provider.signInAs(eve);
    await press(page);
    for (const path of ["/", "/welcome", "/models"]) {
      await page.goto(fixture.url + path);
      await page.getByRole("heading", { name: "Verify your email" }).waitFor();
      expect(new URL(page.url()).pathname).toBe("/verify");
    }
    await page.getByRole("link", { name: "Check again" }).click();
    await page.waitForURL(`${fixture.url}/verify`);
    fixture.provider.signInAs({ ...eve, emailVerified: true });
    await page.getByRole("link", { name: "Check again" }).click();
    await page.waitForURL(`${fixture.url}/welcome`);
    await expect.poll(() => page.locator("[data-secret]").innerText()).toMatch(/^tm_vk_/);
    expect(complaints).toEqual([]);
  });

  test("works without a script", async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    fixture.provider.signInAs(newcomer("noscript"));
    await page.goto(fixture.url);
    await page.getByRole("heading", { name: "One key and one balance", exact: false }).waitFor();
    await page.getByRole("link", { name: "help@example.com" }).waitFor();
    await page.getByRole("link", { name: "Continue with Scripted" }).click();
    await page.waitForURL(`${fixture.url}/welcome`);
    const session = await page.request.get(`${fixture.url}/api/console/session`);
    expect(await session.json()).toMatchObject({ state: "signed_in", has_reveal: true });
  });

  test("never leads to another site", async () => {
    const { page, complaints } = await newVisitor(browser);
    const left: string[] = [];
    page.on("request", (request) => {
      if (new URL(request.url()).hostname.includes("evil")) left.push(request.url());
    });
    const query = `return=${encodeURIComponent("//evil.example")}`;
    fixture.provider.signInAs(newcomer("lured"));
    await page.goto(`${fixture.url}/sign-in?${query}`);
    await page.getByRole("link", { name: "Continue with Scripted" }).click();
    await page.waitForURL(`${fixture.url}/welcome`);
    await page.getByRole("button", { name: "I saved it" }).click();
    await page.getByText("This key is not shown again.").waitFor();
    // The first path signs in again, now without a key to show; the others find a session.
    for (const path of ["/auth/start", "/sign-in", "/auth/recheck"]) {
      await page.goto(`${fixture.url}${path}?${query}`);
      await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
      expect(page.url()).toBe(`${fixture.url}/`);
    }
    expect(left).toEqual([]);
    expect(complaints).toEqual([]);
  });
});

/** A browser whose owner is signed in and has the page of this address open. */
async function signedIn(name: string, path: string): Promise<Visitor> {
  const visitor = await newVisitor(browser);
  fixture.provider.signInAs(newcomer(name));
  await visitor.page.goto(`${fixture.url}/auth/start`);
  await pageShown(visitor.page);
  // An unsaved key would be shown instead of the requested page.
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
    // A late query of the page may lead to the sign-in page before the click, or during it.
    const click = `document.querySelector('a[href="/keys"]')?.click()`;
    await page.evaluate(click).catch(() => undefined);
    await page.waitForURL((url) => url.pathname === "/sign-in");
    await page.getByText("Your session expired.").waitFor();
    await page.goto(`${fixture.url}/usage?range=7d`);
    await page.waitForURL((url) => url.searchParams.get("reason") === "expired");
    await page.getByRole("link", { name: "Continue with Scripted" }).click();
    await page.waitForURL(`${fixture.url}/usage?range=7d`);
    await page.getByRole("heading", { name: "Usage", level: 1 }).waitFor();
    expect(complaints).toEqual([]);
  });

  test("in another organization than a link is about offers to go there, to members only", async () => {
    const [owner, own] = [await fixture.signIn(newcomer("kim")), newcomer("lee")];
    const { orgId } = await fixture.signIn(own);
    const { page, complaints } = await signedIn("lee", "/");
    const body = { email: own.email, role: "owner" };
    await owner.do("POST /api/console/invitations", { body });
    await page.goto(`${fixture.url}/join`);
    await page.getByRole("button", { name: "Join kim" }).click();
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
    const alert = page.getByRole("alert");
    const stranger = await fixture.signIn(newcomer("mia"));
    for (const org of [owner.orgId, stranger.orgId]) {
      await page.goto(`${fixture.url}/settings/organization?org=${org}`);
      await pageShown(page);
      expect(await alert.count()).toBe(0);
    }
    await page.goto(`${fixture.url}/settings/organization?org=${orgId}`);
    await alert.getByText("This link is about lee. The page shows kim.").waitFor();
    await page.getByText(owner.orgId).waitFor();
    await alert.getByRole("button", { name: "Go to lee" }).click();
    await page.getByText(orgId).waitFor();
    expect(await alert.count()).toBe(0);
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

  test("is offered to a new person before any other page, and the pages then follow their role", async () => {
    const owner = await signedIn("ida", "/settings/members");
    const email = "jon@example.com";
    const link = await invite(owner, email, "viewer");
    const { source } = await until("the invitation has arrived", () =>
      mails.received.find(({ to }) => to.includes(email)),
    );
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
    // Until they have chosen, the person can open no other page.
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

    // The page that the removed member has open shows the removal by itself.
    await remove(owner, email);
    await page.getByRole("alert").getByText("You are no longer a member of ida.").waitFor();
    await page.getByText("There is no open invitation for your email address.").waitFor();
    await page.getByRole("button", { name: "Start an organization of your own" }).click();
    await page.waitForURL(`${fixture.url}/welcome`);
    await page.locator("[data-secret]").waitFor();
    expect([...owner.complaints, ...guest.complaints]).toEqual([]);
  });

  test("for another address does not hide one for the address of the person who opens it", async () => {
    const owner = await fixture.signIn(newcomer("nia"));
    const { page, complaints } = await signedIn("oli", "/");
    const linkFor = async (email: string): Promise<string> => {
      const body = { email, role: "viewer" };
      const { json } = await owner.do("POST /api/console/invitations", { body });
      return textAt(json, "link");
    };
    await linkFor("oli@example.com");
    await page.goto(await linkFor("pat@example.com"));
    await page.getByText("is for pat@example.com. You are signed in as oli@example.com.").waitFor();
    await page.getByRole("button", { name: "Join nia" }).waitFor();
    expect(complaints).toEqual([]);
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
