import { beforeEach, describe, expect, onTestFinished, test } from "vitest";

import { assert } from "../../src/kernel/core/assert.ts";
import { pendingKey, sealPending } from "../../src/account/identity/sealed-text.ts";
import { CookieBrowser, type Landing } from "../support/oidc-browser.ts";
import {
  oidcConfigOf,
  startOidcConsole,
  startOidcSite,
  type OidcConsole,
  type OidcSite,
} from "../support/oidc-console.ts";
import { withBackend } from "../support/postgres.ts";
import { withResource } from "../support/with-resource.ts";

const logged: string[] = [];
const note = (detail: object, message: string): void => {
  logged.push(JSON.stringify({ ...detail, message }));
};

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const backend = withBackend();
const console_ = withResource(() =>
  startOidcSite({ store: backend.identityStore, log: { info: note, warn: note, error: note } }),
);
const provider = withResource(
  () => console_.provider,
  () => undefined,
);

/** Starts a console with a separate provider and clock on the same database, for one test. */
async function freshConsole(options: { readonly claimsIn?: "userinfo" } = {}): Promise<OidcSite> {
  const site = await startOidcSite({ store: backend.identityStore, ...options });
  onTestFinished(() => site.close());
  return site;
}

let people = 0;
function person(change: object = {}): { subject: string; email: string; emailVerified: boolean } {
  people += 1;
  return { subject: `s${people}`, email: `p${people}@example.com`, emailVerified: true, ...change };
}

async function signIn(browser = new CookieBrowser(), query = ""): Promise<Landing> {
  return await browser.open(`${console_.url}/auth/start${query}`);
}

async function signedIn(who = person()): Promise<CookieBrowser> {
  provider.signInAs(who);
  const browser = new CookieBrowser();
  await signIn(browser);
  return browser;
}

/** Opens the callback as a browser that sends these cookies. */
async function finish(callback: URL, cookieHeader: string, { identity }: OidcConsole = console_) {
  const url = callback.pathname + callback.search;
  const browser = { cookieHeader, userAgent: undefined, requestId: "r" };
  const next = await identity.signIns?.finish({ ...browser, url });
  if (next === undefined) throw new Error("no provider signs people in here");
  return next;
}

const headerOf = (browser: CookieBrowser): string => browser.header(new URL(console_.url));
const sessionOf = (browser: CookieBrowser) => console_.identity.readSession(headerOf(browser));

describe("signing in", () => {
  test("leads a new person with a verified address to the welcome page, with a key shown until it is saved", async () => {
    provider.signInAs(person({ email: "Ada@Example.com", name: "Ada Lovelace" }));
    const browser = new CookieBrowser("Ada's Browser");
    const landing = await signIn(browser);
    expect(landing.path).toBe("/welcome");
    const session = await sessionOf(browser);
    expect(session).toMatchObject({
      email: "Ada@Example.com",
      name: "Ada Lovelace",
      isVerified: true,
      userAgent: "Ada's Browser",
    });
    const header = headerOf(browser);
    expect(await console_.identity.hasReveal(header)).toBe(true);
    const revealed = await console_.identity.reveal(header);
    expect(revealed).toMatchObject({ key: expect.stringMatching(/^tm_vk_[0-9a-f]{48}$/) });
    // The same browser can read the key again until it is saved.
    expect(await console_.identity.reveal(header)).toEqual(revealed);
    expect(await console_.identity.endReveal(header)).toBe(true);
    expect(await console_.identity.reveal(header)).toBeUndefined();
    expect(await console_.identity.hasReveal(header)).toBe(false);
  });

  test("leads the second time to the requested page, with the same organization", async () => {
    const browser = await signedIn();
    const first = await sessionOf(browser);
    const again = new CookieBrowser();
    const landing = await signIn(again, "?return=/usage%3Frange%3D7d");
    expect(landing.path).toBe("/usage?range=7d");
    expect(await sessionOf(again)).toMatchObject({ orgId: first?.orgId });
    expect(await console_.identity.hasReveal(headerOf(again))).toBe(false);
  });

  test("with an unverified address leads to the verify page only", async () => {
    const browser = await signedIn(person({ emailVerified: false }));
    expect(await sessionOf(browser)).toMatchObject({ isVerified: false });
    provider.signInAs(person({ emailVerified: "true" }));
    expect((await signIn()).path).toBe("/verify");
  });

  test("that the provider refuses shows the reason, and opens no session", async () => {
    provider.signInAs(null);
    const browser = new CookieBrowser();
    const { path } = await signIn(browser);
    expect(path).toMatch(/^\/sign-in\?reason=denied&request_id=[0-9a-f-]+$/);
    expect(await sessionOf(browser)).toBeUndefined();
  });

  test("redirects to the provider with PKCE, state and nonce, and without a secret", async () => {
    provider.signInAs(person());
    const { way } = await signIn();
    const authorize = new URL(way[1] ?? "");
    expect(Object.fromEntries(authorize.searchParams)).toMatchObject({
      client_id: "console",
      response_type: "code",
      code_challenge_method: "S256",
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      scope: "openid email profile",
    });
    expect(way.join(" ")).not.toContain(provider.clientSecret);
  });
});

test("a return address outside the console is dropped, and an unsaved key is shown again", async () => {
  const browser = await signedIn();
  const before = headerOf(browser);
  const landing = await signIn(browser, `?return=${encodeURIComponent("//evil.example")}`);
  expect(landing.url.href).toBe(`${console_.url}/welcome`);
  const key = await console_.identity.reveal(headerOf(browser));
  expect(key?.key).toMatch(/^tm_vk_/);
  // Each sign-in has a new cookie, and the session of the old one ends.
  expect(headerOf(browser)).not.toBe(before);
  expect(await console_.identity.readSession(before)).toBeUndefined();
  expect(await sessionOf(browser)).toMatchObject({ isVerified: true });
});

describe("a callback", () => {
  const stopAtCallback = { stopAt: (url: URL) => url.pathname === "/auth/callback" };

  async function arrived(browser: CookieBrowser): Promise<URL> {
    provider.signInAs(person());
    return (await browser.open(`${console_.url}/auth/start`, stopAtCallback)).url;
  }

  test("that arrives twice signs in only once", async () => {
    const browser = new CookieBrowser();
    const callback = await arrived(browser);
    const before = browser.header(callback);
    expect((await browser.open(callback.href)).path).toBe("/welcome");
    const again = await finish(callback, before);
    // The browser's sign-in cookie is used up, and the provider redeems a code only once.
    expect(again.location).toBe("/sign-in?reason=failed&request_id=r");
    expect(again.cookies).toEqual([expect.stringMatching(/^tm_tx=;/)]);
    // Opening the callback again in a browser that is signed in is not a fault.
    expect((await browser.open(callback.href)).path).toBe("/");
  });

  test("with a forged state is refused, and the genuine callback still works", async () => {
    const browser = new CookieBrowser();
    const callback = await arrived(browser);
    const forged = new URL(callback);
    forged.searchParams.set("state", "A".repeat(43));
    expect((await browser.open(forged.href)).path).toMatch(/reason=failed/);
    expect((await browser.open(callback.href)).path).toBe("/welcome");
  });

  test("with a code that was used before is refused", async () => {
    const browser = new CookieBrowser();
    const first = await arrived(browser);
    await browser.open(first.href);
    const second = await arrived(new CookieBrowser());
    const thief = new CookieBrowser();
    const own = await arrived(thief);
    for (const code of [first, second]) {
      own.searchParams.set("code", code.searchParams.get("code") ?? "");
      expect((await thief.open(own.href)).path).toMatch(/reason=failed/);
    }
    expect(await sessionOf(thief)).toBeUndefined();
  });

  test("that names another issuer is refused", async () => {
    const browser = new CookieBrowser();
    const callback = await arrived(browser);
    expect(callback.searchParams.get("iss")).toBe(provider.issuer);
    callback.searchParams.set("iss", "https://evil.example");
    expect((await browser.open(callback.href)).path).toMatch(/reason=failed/);
    expect(await sessionOf(browser)).toBeUndefined();
  });

  test("with a sign-in cookie that was changed, cut or sealed elsewhere is refused", async () => {
    const browser = new CookieBrowser();
    const callback = await arrived(browser);
    const sealed = browser.cookie("tm_tx") ?? "";
    const state = callback.searchParams.get("state") ?? "";
    const rest = { nonce: "n", codeVerifier: "v", returnPath: null, sessionId: null };
    const pending = { state, ...rest, expiresAtMs: Number.MAX_SAFE_INTEGER };
    const other = sealPending(pending, pendingKey(Buffer.alloc(32)));
    const at = Math.floor(sealed.length / 2);
    const altered = sealed.slice(0, at) + (sealed[at] === "A" ? "B" : "A") + sealed.slice(at + 1);
    for (const cookie of ["", altered, sealed.slice(0, -4), other]) {
      expect(await finish(callback, `tm_tx=${cookie}`)).toEqual({
        location: "/sign-in?reason=failed&request_id=r",
        cookies: [],
      });
    }
    expect((await browser.open(callback.href)).path).toBe("/welcome");
  });

  test("works at any instance, even one that started meanwhile", async () => {
    const browser = new CookieBrowser();
    const callback = await arrived(browser);
    const other = await startOidcConsole({
      store: backend.identityStore,
      answersAs: console_.url,
      config: async () => oidcConfigOf(provider),
    });
    onTestFinished(() => other.close());
    const finished = await finish(callback, browser.header(callback), other);
    expect(finished.location).toBe("/welcome");
  });

  test("needs no row: a hundred started sign-ins leave the database unchanged", async () => {
    const rows = async (): Promise<unknown> => {
      const tables = await backend.query(
        "select tablename from pg_tables where schemaname = 'public'",
      );
      const counts = tables.map(({ tablename }) => `(select count(*) from ${String(tablename)})`);
      return await backend.query(`select ${counts.join(" + ")} as rows`);
    };
    const before = await rows();
    for (let nr = 0; nr < 100; nr += 1) {
      await console_.identity.signIns?.start("/keys");
    }
    expect(await rows()).toEqual(before);
  });

  test("after ten minutes is refused", async () => {
    const late = await freshConsole();
    late.provider.signInAs(person());
    const browser = new CookieBrowser();
    const { url } = await browser.open(`${late.url}/auth/start`, stopAtCallback);
    late.clock.forward(600_001);
    expect((await browser.open(url.href)).path).toMatch(/reason=failed/);
  });
});

describe("a session", () => {
  test("that is signed out in one browser ends there, and the person's session in another browser continues", async () => {
    const ada = person();
    const [here, there] = [await signedIn(ada), await signedIn(ada)];
    const session = await sessionOf(here);
    assert(session !== undefined, "signed in");
    expect(await console_.identity.profile(session)).toMatchObject({
      identities: [{ issuer: provider.issuer }],
      otherSessions: 1,
    });
    const header = headerOf(here);
    expect(await console_.identity.signOut(header)).toEqual({
      location: "/sign-in?reason=signed-out",
      cookies: [expect.stringMatching(/^tm_session=; Max-Age=0;/)],
    });
    // After the sign-out, a copy of the cookie no longer opens the session.
    expect(await console_.identity.readSession(header)).toBeUndefined();
    expect(await console_.identity.sessionEndReason(header)).toBe("signed-out");
    expect(await sessionOf(there)).toMatchObject({ accountId: session.accountId });
  });

  test("that never existed has no reason for its end", async () => {
    const unknown = `tm_session=${"A".repeat(43)}`;
    expect(await console_.identity.readSession(undefined)).toBeUndefined();
    expect(await console_.identity.sessionEndReason(unknown)).toBeUndefined();
    expect(await console_.identity.reveal(unknown)).toBeUndefined();
  });
});

describe("back-channel logout", () => {
  test("ends one session by its session id, or all sessions of a person if the token has none", async () => {
    const ada = person();
    const one = await signedIn(ada);
    const sid = provider.lastSid();
    assert(sid !== undefined, "the provider names its session");
    const two = await signedIn(ada);
    const three = await signedIn(ada);
    const stranger = await signedIn();
    const ofOne = await provider.logoutToken({ sid, sub: ada.subject });
    expect(await console_.identity.backChannelLogout(ofOne)).toBe(true);
    expect(await sessionOf(one)).toBeUndefined();
    expect(await console_.identity.sessionEndReason(headerOf(one))).toBe("idp-ended");
    expect(await sessionOf(two)).toMatchObject({ email: ada.email });
    const ofAll = await provider.logoutToken({ sub: ada.subject });
    expect(await console_.identity.backChannelLogout(ofAll)).toBe(true);
    for (const browser of [two, three]) expect(await sessionOf(browser)).toBeUndefined();
    expect(await sessionOf(stranger)).toMatchObject({ isVerified: true });
    // A logout token works only once.
    const later = await signedIn(ada);
    expect(await console_.identity.backChannelLogout(ofAll)).toBe(false);
    expect(await sessionOf(later)).toMatchObject({ email: ada.email });
  });

  test("is refused with a wrong signature, audience or issuer, or as another kind of token", async () => {
    const ada = person();
    const { subject: sub } = ada;
    const browser = await signedIn(ada);
    const wrong = [
      `${(await provider.logoutToken({ sub })).slice(0, -43)}${"A".repeat(43)}`,
      await provider.logoutToken({ sub, aud: "another-client" }),
      await provider.logoutToken({ sub, iss: "https://evil.example" }),
      await provider.logoutToken({ sub, nonce: "n" }),
      "no token at all",
    ];
    for (const token of wrong) expect(await console_.identity.backChannelLogout(token)).toBe(false);
    expect(await sessionOf(browser)).toBeDefined();
  });
});

test("an identity provider that is down prevents sign-ins and ends no session", async () => {
  const away = await freshConsole();
  away.provider.setDown(true);
  const browser = new CookieBrowser();
  expect((await browser.open(`${away.url}/auth/start`)).path).toBe("/sign-in?reason=failed");
  away.provider.setDown(false);
  away.clock.forward(2_001);
  away.provider.signInAs(person());
  await browser.open(`${away.url}/auth/start`);
  away.provider.setDown(true);
  expect(await away.identity.readSession(browser.header(new URL(away.url)))).toBeDefined();
});

test("an address that only the user info endpoint has is read there, with its verification", async () => {
  const other = await freshConsole({ claimsIn: "userinfo" });
  for (const emailVerified of [true, false]) {
    other.provider.signInAs(person({ emailVerified }));
    const browser = new CookieBrowser();
    const landing = await browser.open(`${other.url}/auth/start`);
    expect(landing.path).toBe(emailVerified ? "/welcome" : "/verify");
  }
  other.provider.signInAs({ subject: "nobody" });
  const landing = await new CookieBrowser().open(`${other.url}/auth/start`);
  expect(landing.path).toMatch(/reason=failed/);
});

test("no cookie, code, token, secret or key is in the log or in the database", async () => {
  provider.signInAs(person());
  const browser = new CookieBrowser();
  const { way } = await signIn(browser);
  const code = new URL(way.at(-2) ?? "").searchParams.get("code");
  const token = browser.cookie("tm_session");
  const key = await console_.identity.reveal(headerOf(browser));
  assert(code !== null && token !== undefined && key !== undefined, "signed in");
  let text = logged.join("\n");
  expect(logged.length).toBeGreaterThan(0);
  for (const table of ["console_session", "console_reveal", "api_key"]) {
    text += JSON.stringify(await backend.query(`select t::text from ${table} t`));
  }
  for (const secret of [code, token, key.key, provider.clientSecret]) {
    expect(text).not.toContain(secret);
    expect(text).not.toContain(Buffer.from(secret).toString("hex"));
  }
});

/** These tests are the last ones, because they move the console's clock forward by days. */
describe("a session at an identity provider", () => {
  let browser: CookieBrowser;
  beforeEach(async () => {
    browser = await signedIn();
    await console_.identity.endReveal(headerOf(browser));
  });

  const read = () => sessionOf(browser);
  const reason = () => console_.identity.sessionEndReason(headerOf(browser));

  async function isDue(): Promise<boolean> {
    const session = await read();
    assert(session !== undefined, "signed in");
    return console_.identity.isRecheckDue(session);
  }
  const recheck = () => browser.open(`${console_.url}/auth/recheck?return=/keys`);

  test("lasts seven days and not a second longer, however often it is used", async () => {
    await read();
    for (const days of [1, 3, 2]) {
      console_.clock.forward(days * DAY_MS);
      expect((await recheck()).path).toBe("/keys");
    }
    console_.clock.forward(DAY_MS - MINUTE_MS);
    expect(await read()).toBeDefined();
    console_.clock.forward(MINUTE_MS + 1_000);
    expect(await read()).toBeUndefined();
    expect(await reason()).toBe("expired");
    expect((await recheck()).path).toBe("/sign-in?reason=expired&return=%2Fkeys");
  });

  test("is rechecked at the provider every 12 hours, and returns to its page", async () => {
    expect(await isDue()).toBe(false);
    console_.clock.forward(12 * HOUR_MS);
    expect(await isDue()).toBe(true);
    const landing = await recheck();
    expect(landing.path).toBe("/keys");
    expect(landing.way[1]).toContain("prompt=none");
    expect(await isDue()).toBe(false);
    console_.clock.forward(20 * HOUR_MS);
    expect(await read()).toBeDefined();
  });

  test("ends when the provider says that nobody is signed in", async () => {
    provider.endSessions();
    expect((await recheck()).path).toBe("/sign-in?reason=idp-ended&return=%2Fkeys");
    expect(await read()).toBeUndefined();
    expect(await reason()).toBe("idp-ended");
  });

  test("that the provider ended returns to its page after a new sign-in, and never to another site", async () => {
    const endedAt = async (page: string): Promise<string> => {
      provider.endSessions();
      const { url } = await browser.open(`${console_.url}/auth/recheck?return=${page}`);
      expect(url.pathname).toBe("/sign-in");
      const back = new URLSearchParams({ return: url.searchParams.get("return") ?? "" });
      return (await browser.open(`${console_.url}/auth/start?${back.toString()}`)).path;
    };
    expect(await endedAt("%2Fusage%3Frange%3D7d")).toBe("/usage?range=7d");
    expect(await endedAt(encodeURIComponent("//evil.example"))).toBe("/");
  });

  test("ends when another user is signed in at the provider", async () => {
    const other = await signedIn();
    // This browser gets the other person's session with the identity provider.
    const idp = new URL(provider.issuer);
    browser.adopt(other, idp, "idp_session");
    expect((await recheck()).path).toBe("/sign-in?reason=idp-ended&return=%2Fkeys");
    expect(await read()).toBeUndefined();
  });

  test("stays valid for 12 more hours when the provider does not answer, and then ends", async () => {
    console_.clock.forward(12 * HOUR_MS);
    expect(await isDue()).toBe(true);
    const stopAt = (url: URL): boolean => url.origin === provider.issuer;
    await browser.open(`${console_.url}/auth/recheck`, { stopAt });
    // The browser did not return: no recheck starts for an hour, and the session is not extended.
    console_.clock.forward(HOUR_MS / 2);
    expect(await isDue()).toBe(false);
    console_.clock.forward(HOUR_MS / 2);
    expect(await isDue()).toBe(true);
    console_.clock.forward(10 * HOUR_MS);
    expect(await read()).toBeDefined();
    console_.clock.forward(HOUR_MS);
    expect(await read()).toBeUndefined();
    expect(await reason()).toBe("idp-ended");
  });

  test("ends as well when the browser goes to the provider every 50 minutes and never comes back", async () => {
    const stopAt = (url: URL): boolean => url.origin === provider.issuer;
    // The first use after 12 hours is the one at 12:30.
    for (let tries = 1; tries < 30; tries += 1) {
      console_.clock.forward(50 * MINUTE_MS);
      expect(await read()).toBeDefined();
      await browser.open(`${console_.url}/auth/recheck`, { stopAt });
    }
    console_.clock.forward(50 * MINUTE_MS);
    expect(await read()).toBeUndefined();
    expect(await reason()).toBe("idp-ended");
  });
});
