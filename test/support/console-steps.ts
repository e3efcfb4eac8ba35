import type { Browser, Page } from "playwright-core";

import type { Session } from "../../src/console-api/contract.ts";
import type { OrgId } from "../../src/core/ids.ts";
import { parseUsd } from "../../src/core/money.ts";
import { until } from "./books.ts";
import { newVisitor, type Theme, type Visitor } from "./browser.ts";
import { chatBody } from "./chat-bodies.ts";
import type { ConsoleWorld } from "./console-world.ts";
import { bearer, httpCall, textAt, type HttpAnswer } from "./http-call.ts";

export { callUntil } from "./books.ts";

/** Signs a browser in with a link, as this person; it stands on the first page of the console. */
export async function signIn(world: ConsoleWorld, visitor: Visitor, email: string): Promise<void> {
  const { page } = visitor;
  await page.goto(await world.claimLink(email));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL((url) => !/^\/(?:auth|local-idp)\//.test(url.pathname));
}

/** The session of this browser, as the console's API tells it. */
export async function sessionOf(world: ConsoleWorld, page: Page): Promise<Session> {
  const answer = await page.request.get(`${world.consoleUrl}/api/console/session`);
  return (await answer.json()) as Session;
}

/** Puts credit into the organization of this browser, as an operator does; gives its id. */
export async function giveCredit(world: ConsoleWorld, page: Page, usd: string): Promise<OrgId> {
  const { org } = await sessionOf(world, page);
  const amountMicroUsd = parseUsd(usd);
  if (org === null) throw new Error("nobody is signed in at this browser");
  if (amountMicroUsd === undefined) throw new Error(`not a dollar amount: ${usd}`);
  const orgId = org.org_id as OrgId;
  const ref = `gift-${orgId}-${usd}`;
  await world.gateway.backend.creditStore.grant({ orgId, amountMicroUsd, ref });
  return orgId;
}

/** Waits until a page stands there with what it shows, and nothing of it is still loading. */
export async function pageShown(page: Page): Promise<void> {
  await page.locator("h1", { hasNotText: /^Token Market$/ }).waitFor();
  const isLoading = async (): Promise<boolean> =>
    (await page.locator(".mantine-Skeleton-root").count()) > 0;
  await until("nothing is loading", async () => {
    if (await isLoading()) return false;
    // What an answer changes is drawn in the next frame.
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))");
    return !(await isLoading());
  });
}

/** Asks the console's API as this browser's pages do. */
export async function ask(
  world: ConsoleWorld,
  page: Page,
  route: string,
  body?: object,
): Promise<{ readonly status: number; readonly json: unknown }> {
  const [method = "GET", path = "/"] = route.split(" ");
  const answer = await page.request.fetch(world.consoleUrl + path, {
    method,
    headers: { origin: world.consoleUrl, "content-type": "application/json" },
    ...(method === "GET" ? {} : { data: JSON.stringify(body ?? {}) }),
  });
  const text = await answer.text();
  return { status: answer.status(), json: text.startsWith("{") ? JSON.parse(text) : undefined };
}

/** One small chat call with this key, whatever its answer. */
export async function callGateway(
  world: ConsoleWorld,
  key: string,
  body: object = chatBody("test/a"),
): Promise<HttpAnswer> {
  const url = `${world.gateway.url}/v1/chat/completions`;
  return await httpCall(url, { headers: bearer(key), body });
}

/** Somebody who has just signed in for the first time, in a browser of their own. */
export interface Newcomer extends Visitor {
  readonly orgId: OrgId;
}

/** Signs in as `name`@example.com, with credit where `usd` says so. */
export async function newcomer(
  world: ConsoleWorld,
  browser: Browser,
  who: { readonly name: string; readonly theme: Theme; readonly usd?: string },
): Promise<Newcomer> {
  const visitor = await newVisitor(browser, { theme: who.theme });
  await signIn(world, visitor, `${who.name}-${who.theme}@example.com`);
  if (who.usd !== undefined) await giveCredit(world, visitor.page, who.usd);
  const { org } = await sessionOf(world, visitor.page);
  if (org === null) throw new Error(`${who.name} could not sign in`);
  return { ...visitor, orgId: org.org_id as OrgId };
}

/** Makes a key by the console's API. */
export async function makeKey(
  world: ConsoleWorld,
  page: Page,
  body: object,
): Promise<{ readonly keyId: string; readonly secret: string }> {
  const { json } = await ask(world, page, "POST /api/console/keys", body);
  return { keyId: textAt(json, "key.key_id"), secret: textAt(json, "secret") };
}

/** Everything that this browser keeps: cookies, storages, and the address that it shows. */
export async function everythingKept({ context, page }: Visitor): Promise<string> {
  const stored = await context.storageState({ indexedDB: true });
  const session = await page.evaluate("JSON.stringify(sessionStorage)");
  return [JSON.stringify(stored), session, page.url()].join("\n");
}
