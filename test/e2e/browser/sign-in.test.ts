import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";

import {
  expectAccessible,
  hasChromium,
  newVisitor,
  withBrowser,
  type Visitor,
} from "../../support/browser.ts";
import { chatBody } from "../../support/chat-bodies.ts";
import { everythingKept, pageShown } from "../../support/console-steps.ts";
import { bearer, httpCall } from "../../support/http-call.ts";
import { newcomer, withProviderConsole } from "../console/provider-fixture.ts";

const fixture = withProviderConsole({
  hasCheckout: true,
  settings: { support: "help@example.com" },
});
const browser = withBrowser();
const TABS = ["curl", "Python", "TypeScript", "Claude Code", "opencode"];

describe.skipIf(!hasChromium)("signing in", () => {
  async function visit(): Promise<Visitor> {
    return await newVisitor(browser);
  }

  /** Presses the only button of the sign-in page; the provider already knows the person. */
  async function press(page: Page, address = "/sign-in"): Promise<void> {
    await page.goto(fixture.url + address);
    await page.getByRole("link", { name: "Continue with Scripted" }).click();
    await page.waitForURL((url) => url.origin === fixture.url && url.pathname !== "/sign-in");
    await pageShown(page);
  }

  test("for the first time shows the trial key until it is saved, and warns before it is left", async () => {
    const { page, context, complaints } = await visit();
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

  test("leads from credit and a key to a call, explains a refused one, and accepts only a 2xx", async () => {
    const visitor = await visit();
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
    // Back leads directly to the welcome page, and the key is still there, but kept nowhere else.
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

  test("with an unverified e-mail opens one page only, until it is verified", async () => {
    const { page, complaints } = await visit();
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

  test("that the provider refuses shows the reason and the id of the request", async () => {
    const { page, complaints } = await visit();
    fixture.provider.signInAs(null);
    await page.goto(`${fixture.url}/sign-in`);
    await page.getByRole("link", { name: "Continue with Scripted" }).click();
    const alert = page.getByRole("alert");
    await alert.getByText("denied the sign-in").waitFor();
    const id = new URL(page.url()).searchParams.get("request_id") ?? "no id";
    await alert.getByText(id).waitFor();
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
    // The second sign-in has no key to show, so it returns; the third has a session already.
    for (const path of ["/auth/start", "/sign-in", "/auth/recheck"]) {
      await page.goto(`${fixture.url}${path}?${query}`);
      await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
      expect(page.url()).toBe(`${fixture.url}/`);
    }
    expect(left).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
