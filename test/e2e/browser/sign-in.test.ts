import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";

import { ROUTES } from "../../../src/account/console-api/contract.ts";
import type { OrgId } from "../../../src/kernel/core/ids.ts";
import { addKey } from "../../support/add-key.ts";
import {
  expectAccessible,
  expectFits,
  hasChromium,
  newVisitor,
  withBrowser,
  type Visitor,
} from "../../support/browser.ts";
import { chatBody } from "../../support/chat-bodies.ts";
import { pageShown } from "../../support/console-steps.ts";
import { grantCredit } from "../../support/gateway.ts";
import { at, bearer, httpCall, listAt } from "../../support/http-call.ts";
import { testOperator } from "../../support/test-operator.ts";
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
    await expectAccessible(page, "welcome");
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
    const kept = await page.evaluate("JSON.stringify([localStorage, sessionStorage])");
    expect(kept).not.toContain(key.slice(0, 13));
    expect(complaints).toEqual([]);
  });

  async function expectNoKey(page: Page, key: string): Promise<void> {
    await page.getByText("No key to show").waitFor();
    expect(await page.content()).not.toContain(key.slice(0, 13));
  }

  test("leads from credit and a key to a call, explains a refused one, and accepts only a 2xx", async () => {
    const { page, complaints } = await visit();
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
    await page.getByRole("alert").getByRole("button", { name: "Add credit" }).click();
    await page.getByRole("button", { name: "Pay $25.00" }).click();
    await page.getByRole("button", { name: "Pay with test money" }).click();
    // Back leads directly to the welcome page, and the key is still there.
    await page.waitForURL(`${fixture.url}/welcome`);
    await expect.poll(() => page.locator("[data-secret]").innerText()).toBe(key);
    await page.getByText("Your balance is $25.00").waitFor();
    const first = await call("/v1/chat/completions", chatBody("test/a"));
    expect(first.status, first.text).toBe(200);
    await page.getByText("Your first request succeeded.").waitFor();
    await expectAccessible(page, "first request");
    await page.getByRole("button", { name: "I saved it" }).click();
    await page.getByText("This key is not shown again.").waitFor();
    await page.getByRole("link", { name: "View request" }).click();
    await page.waitForURL(`${fixture.url}/requests/${String(first.headers["x-request-id"])}`);
    expect(complaints).toEqual([]);
  });

  test("gives a trial key that works with 20 requests a minute", async () => {
    const { page } = await visit();
    fixture.provider.signInAs(newcomer("tim"));
    await press(page);
    const key = await page.locator("[data-secret]").innerText();
    await giveCredit(page);
    const statuses: number[] = [];
    for (let n = 0; n < 21; n += 1) {
      const url = `${fixture.gateway.url}/v1/messages/count_tokens`;
      const { status } = await httpCall(url, { headers: bearer(key), body: chatBody("test/a") });
      statuses.push(status);
    }
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 200), 429]);
  });

  test("under another subject of the same e-mail keeps the organization and gives no key", async () => {
    const { page, complaints } = await visit();
    const email = "zoe@example.com";
    fixture.provider.signInAs({ ...newcomer("zoe"), email });
    await press(page);
    const before = await sessionOf(page);
    await page.locator("[data-secret]").waitFor();
    const other = await visit();
    fixture.provider.signInAs({ subject: "zoe at work", email, emailVerified: true });
    await press(other.page, "/sign-in?return=%2Fkeys");
    expect(new URL(other.page.url()).pathname).toBe("/keys");
    const after = await sessionOf(other.page);
    expect(at(after, "org.org_id")).toBe(at(before, "org.org_id"));
    expect(at(after, "has_reveal")).toBe(false);
    const keys = await other.page.request.get(`${fixture.url}/api/console/keys`);
    expect(listAt(await keys.json(), "data")).toHaveLength(1);
    await other.page.goto(`${fixture.url}/welcome`);
    await other.page.getByText("No key to show").waitFor();
    expect([...complaints, ...other.complaints]).toEqual([]);
  });

  test("with an unverified e-mail opens one page only, until it is verified", async () => {
    const { page, complaints } = await visit();
    const eve = { ...newcomer("eve"), emailVerified: false };
    fixture.provider.signInAs(eve);
    await press(page);
    for (const path of ["/", "/keys", "/billing", "/welcome", "/models", "/no/such/page"]) {
      await page.goto(fixture.url + path);
      await page.getByRole("heading", { name: "Verify your email" }).waitFor();
      expect(new URL(page.url()).pathname).toBe("/verify");
    }
    await expectAccessible(page, "verify");
    await page.setViewportSize({ width: 360, height: 900 });
    await expectFits(page);
    for (const [route, contract] of Object.entries(ROUTES)) {
      if (!("needs" in contract)) continue;
      const [method = "GET", path = "/"] = route.replaceAll(/:\w+/g, "some-id").split(" ");
      const answer = await page.request.fetch(fixture.url + path, {
        method,
        headers: { origin: fixture.url, "content-type": "application/json" },
      });
      expect({ route, status: answer.status() }).toEqual({ route, status: 403 });
    }
    await page.getByRole("link", { name: "Check again" }).click();
    await page.waitForURL(`${fixture.url}/verify`);
    fixture.provider.signInAs({ ...eve, emailVerified: true });
    await page.getByRole("link", { name: "Check again" }).click();
    await page.waitForURL(`${fixture.url}/welcome`);
    await expect.poll(() => page.locator("[data-secret]").innerText()).toMatch(/^tm_vk_/);
    expect(complaints).toEqual([]);
  });

  test("for the first time opens the organization that an operator made for this e-mail", async () => {
    const { page, complaints } = await visit();
    const { accountStore } = fixture.gateway.backend;
    const email = "olga@example.com";
    const org = await accountStore.createOrg({ name: "Olga's", email }, testOperator);
    await addKey(fixture.gateway.backend, org.orgId, { name: "made by the operator" });
    fixture.provider.signInAs({ subject: "olga", email, emailVerified: true });
    await press(page, "/sign-in?return=%2Fkeys");
    expect(new URL(page.url()).pathname).toBe("/keys");
    await page.getByText("made by the operator").first().waitFor();
    expect(await sessionOf(page)).toMatchObject({
      org: { org_id: org.orgId, name: "Olga's" },
      has_reveal: false,
    });
    expect(complaints).toEqual([]);
  });

  test("that the provider refuses shows the reason, and no text from the address", async () => {
    const { page, complaints } = await visit();
    fixture.provider.signInAs(null);
    await page.goto(`${fixture.url}/sign-in`);
    await page.getByRole("link", { name: "Continue with Scripted" }).click();
    const alert = page.getByRole("alert");
    await alert.getByText("denied the sign-in").waitFor();
    const id = new URL(page.url()).searchParams.get("request_id") ?? "no id";
    await alert.getByText(id).waitFor();
    await expectAccessible(page, "denied");
    await page.goto(`${fixture.url}/sign-in?reason=denied&request_id=Call+0900+now`);
    await page.getByRole("link", { name: "Continue with Scripted" }).waitFor();
    await expect.poll(() => page.locator("body").innerText()).not.toContain("0900");
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
    expect(await sessionOf(page)).toMatchObject({ state: "signed_in", has_reveal: true });
  });

  test.each(["//evil.example", "/\\evil.example", "https://evil.example/", "javascript:alert(1)"])(
    "never leads to %s",
    async (evil) => {
      const { page, complaints } = await newVisitor(browser);
      const left: string[] = [];
      page.on("request", (request) => {
        if (new URL(request.url()).hostname.includes("evil")) left.push(request.url());
      });
      const query = `return=${encodeURIComponent(evil)}`;
      fixture.provider.signInAs(newcomer(`lured-${Buffer.from(evil).toString("hex")}`));
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
    },
  );
});

async function sessionOf(page: Page): Promise<unknown> {
  return await (await page.request.get(`${fixture.url}/api/console/session`)).json();
}

async function giveCredit(page: Page): Promise<void> {
  const orgId = String(at(await sessionOf(page), "org.org_id")) as OrgId;
  await grantCredit(fixture.gateway.backend, orgId, "10");
}
