import { beforeEach, describe, expect, test } from "vitest";

import { assert } from "../../src/kernel/core/assert.ts";
import type { SignedIn } from "../../src/account/identity/identity-store.ts";
import { CookieBrowser } from "../support/oidc-browser.ts";
import { startOidcSite } from "../support/oidc-console.ts";
import { withBackend } from "../support/postgres.ts";
import { withResource } from "../support/with-resource.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const backend = withBackend();

const site = withResource(() => startOidcSite({ store: backend.identityStore }));
let browser: CookieBrowser;
let people = 0;

/** A browser in which a new person has signed in. */
async function signedIn(): Promise<CookieBrowser> {
  people += 1;
  const subject = `person-${people}`;
  site.provider.signInAs({ subject, email: `${subject}@example.com`, emailVerified: true });
  const opened = new CookieBrowser();
  await opened.open(`${site.url}/auth/start`);
  return opened;
}

const header = (): string => browser.header(new URL(site.url));
const read = (): Promise<SignedIn | undefined> => site.identity.readSession(header());
const reason = () => site.identity.sessionEndReason(header());

describe("a session at an identity provider", () => {
  beforeEach(async () => {
    browser = await signedIn();
    await site.identity.endReveal(header());
  });

  async function isDue(): Promise<boolean> {
    const session = await read();
    assert(session !== undefined, "signed in");
    return site.identity.isRecheckDue(session);
  }
  const recheck = () => browser.open(`${site.url}/auth/recheck?return=/keys`);

  test("lasts seven days and not a second longer, however often it is used", async () => {
    await read();
    for (const days of [1, 3, 2]) {
      site.clock.forward(days * DAY_MS);
      expect((await recheck()).path).toBe("/keys");
    }
    site.clock.forward(DAY_MS - MINUTE_MS);
    expect(await read()).toBeDefined();
    site.clock.forward(MINUTE_MS + 1_000);
    expect(await read()).toBeUndefined();
    expect(await reason()).toBe("expired");
    expect((await recheck()).path).toBe("/sign-in?reason=expired&return=%2Fkeys");
  });

  test("is rechecked at the provider every 12 hours, and returns to its page", async () => {
    expect(await isDue()).toBe(false);
    site.clock.forward(12 * HOUR_MS);
    expect(await isDue()).toBe(true);
    const landing = await recheck();
    expect(landing.path).toBe("/keys");
    expect(landing.way[1]).toContain("prompt=none");
    expect(await isDue()).toBe(false);
    site.clock.forward(20 * HOUR_MS);
    expect(await read()).toBeDefined();
  });

  test("ends when the provider says that nobody is signed in", async () => {
    site.provider.endSessions();
    expect((await recheck()).path).toBe("/sign-in?reason=idp-ended&return=%2Fkeys");
    expect(await read()).toBeUndefined();
    expect(await reason()).toBe("idp-ended");
  });

  test("that the provider ended returns to its page after a new sign-in, and never to another site", async () => {
    const endedAt = async (page: string): Promise<string> => {
      site.provider.endSessions();
      const { url } = await browser.open(`${site.url}/auth/recheck?return=${page}`);
      expect(url.pathname).toBe("/sign-in");
      const back = new URLSearchParams({ return: url.searchParams.get("return") ?? "" });
      return (await browser.open(`${site.url}/auth/start?${back.toString()}`)).path;
    };
    expect(await endedAt("%2Fusage%3Frange%3D7d")).toBe("/usage?range=7d");
    expect(await endedAt(encodeURIComponent("//evil.example"))).toBe("/");
  });

  test("ends when another user is signed in at the provider", async () => {
    const other = await signedIn();
    // This browser gets the other person's session with the identity provider.
    const idp = new URL(site.provider.issuer);
    browser.adopt(other, idp, "idp_session");
    expect((await recheck()).path).toBe("/sign-in?reason=idp-ended&return=%2Fkeys");
    expect(await read()).toBeUndefined();
  });

  test("stays valid for 12 more hours when the provider does not answer, and then ends", async () => {
    site.clock.forward(12 * HOUR_MS);
    expect(await isDue()).toBe(true);
    const stopAt = (url: URL): boolean => url.origin === site.provider.issuer;
    await browser.open(`${site.url}/auth/recheck`, { stopAt });
    // The browser did not return: no recheck starts for an hour, and the session is not extended.
    site.clock.forward(HOUR_MS / 2);
    expect(await isDue()).toBe(false);
    site.clock.forward(HOUR_MS / 2);
    expect(await isDue()).toBe(true);
    site.clock.forward(10 * HOUR_MS);
    expect(await read()).toBeDefined();
    site.clock.forward(HOUR_MS);
    expect(await read()).toBeUndefined();
    expect(await reason()).toBe("idp-ended");
  });

  test("that was unused for two days is rechecked first, and continues", async () => {
    site.clock.forward(2 * DAY_MS);
    expect(await isDue()).toBe(true);
    expect((await recheck()).path).toBe("/keys");
    expect(await isDue()).toBe(false);
  });
});
