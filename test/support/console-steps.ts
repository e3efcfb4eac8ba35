import type { BrowserContext, Locator, Page } from "playwright-core";

import type { Session } from "../../src/account/console-api/contract.ts";
import type { OrgId } from "../../src/kernel/core/ids.ts";
import { debitOf, ended, until } from "./books.ts";
import { awaitsAnswer, newVisitor, type TestBrowser, type Visitor } from "./browser.ts";
import { chatBody } from "./chat-bodies.ts";
import type { ConsoleFixture } from "./console-fixture.ts";
import { grantCredit } from "./gateway.ts";
import { bearer, httpCall, textAt, type HttpAnswer } from "./http-call.ts";
import { CookieBrowser } from "./oidc-browser.ts";

export { callUntil } from "./books.ts";

export async function signIn(fixture: ConsoleFixture, visitor: Visitor, email: string) {
  const { page } = visitor;
  await page.goto(await fixture.claimLink(email));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL((url) => !url.pathname.startsWith("/auth/"));
}

/** Gives a browser a session of this person without loading the page of the sign-in link. */
async function addSession(fixture: ConsoleFixture, context: BrowserContext, email: string) {
  const link = new URL(await fixture.claimLink(email));
  const browser = new CookieBrowser();
  await browser.open(link.origin + link.pathname, {
    form: { t: link.searchParams.get("t") ?? "", email },
    stopAt: ({ pathname }) => !pathname.startsWith("/auth/"),
  });
  const value = browser.cookie("tm_session");
  if (value === undefined) throw new Error(`${email} could not sign in`);
  const url = fixture.consoleUrl;
  await context.addCookies([{ name: "tm_session", value, url, httpOnly: true, sameSite: "Lax" }]);
}

async function sessionOf(fixture: ConsoleFixture, page: Page): Promise<Session> {
  const answer = await page.request.get(`${fixture.consoleUrl}/api/console/session`);
  return (await answer.json()) as Session;
}

export async function giveCredit(fixture: ConsoleFixture, page: Page, usd: string): Promise<OrgId> {
  const { org } = await sessionOf(fixture, page);
  if (org === null) throw new Error("no user is signed in at this browser");
  const orgId = org.org_id as OrgId;
  await grantCredit(fixture.gateway.backend, orgId, usd);
  return orgId;
}

/** Waits until a page shows no placeholder and awaits no answer, also not for one column. */
export async function pageShown(page: Page): Promise<void> {
  await page.locator("h1", { hasNotText: /^Token Market$/ }).waitFor();
  const isLoaded = async (): Promise<boolean> =>
    !awaitsAnswer(page) && (await page.evaluate<boolean>(IS_LOADED)) && !awaitsAnswer(page);
  await until("nothing is loading", isLoaded, LOADED_MS);
}

export function pageOpener(fixture: ConsoleFixture): (page: Page, path: string) => Promise<void> {
  return async (page, path) => {
    await page.goto(fixture.consoleUrl + path);
    await pageShown(page);
  };
}

const LOADED_MS = 60_000;

/** An answer changes the page in the next frame, so the page must be loaded in that frame, too. */
const IS_LOADED = `(async () => {
  const isLoading = () => document.querySelector(".mantine-Skeleton-root") !== null;
  const nextFrame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  for (let frames = 0; frames < 60 && isLoading(); frames += 1) await nextFrame();
  if (isLoading()) return false;
  await nextFrame();
  return !isLoading();
})()`;

export async function ask(
  fixture: ConsoleFixture,
  page: Page,
  route: string,
  body?: object,
): Promise<{ readonly status: number; readonly json: unknown }> {
  const [method = "GET", path = "/"] = route.split(" ");
  const answer = await page.request.fetch(fixture.consoleUrl + path, {
    method,
    headers: { origin: fixture.consoleUrl, "content-type": "application/json" },
    ...(method === "GET" ? {} : { data: JSON.stringify(body ?? {}) }),
  });
  const text = await answer.text();
  return { status: answer.status(), json: text.startsWith("{") ? JSON.parse(text) : undefined };
}

export async function callGateway(
  fixture: ConsoleFixture,
  key: string,
  body: object = chatBody("test/a"),
): Promise<HttpAnswer> {
  const url = `${fixture.gateway.url}/v1/chat/completions`;
  return await httpCall(url, { headers: bearer(key), body });
}

export interface Newcomer extends Visitor {
  readonly orgId: OrgId;
}

let newcomers = 0;

/** Creates a person for one test, with credit if `usd` is given; no page is open yet. */
export async function newcomer(
  fixture: ConsoleFixture,
  browser: TestBrowser,
  who: { readonly name: string; readonly usd?: string },
): Promise<Newcomer> {
  const visitor = await newVisitor(browser);
  newcomers += 1;
  await addSession(fixture, visitor.context, `${who.name}-${newcomers}@example.com`);
  if (who.usd !== undefined) await giveCredit(fixture, visitor.page, who.usd);
  const { org } = await sessionOf(fixture, visitor.page);
  if (org === null) throw new Error(`${who.name} could not sign in`);
  return { ...visitor, orgId: org.org_id as OrgId };
}

export async function makeKey(
  fixture: ConsoleFixture,
  page: Page,
  body: object,
): Promise<{ readonly keyId: string; readonly secret: string }> {
  const { json } = await ask(fixture, page, "POST /api/console/keys", body);
  return { keyId: textAt(json, "key.key_id"), secret: textAt(json, "secret") };
}

export async function everythingKept({ context, page }: Visitor): Promise<string> {
  const stored = await context.storageState({ indexedDB: true });
  const session = await page.evaluate("JSON.stringify(sessionStorage)");
  return [JSON.stringify(stored), session, page.url()].join("\n");
}

export async function shownCost(within: Locator): Promise<bigint> {
  const words = await within.getByText(/^cost \$/).innerText();
  const [, dollars = "", digits = ""] = /\$(\d+)\.(\d+)/.exec(words) ?? [];
  return BigInt(dollars) * 1_000_000n + BigInt(digits.padEnd(6, "0"));
}

export async function recordedCost({ gateway }: ConsoleFixture, orgId: OrgId, within: Locator) {
  const requestId = await within.locator("code[title]").getAttribute("title");
  return debitOf(await ended(gateway, { orgId, keyId: "", key: "" }, requestId ?? ""));
}
