import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { makeConsoleLink } from "../../src/app/console-link.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import type { Config } from "../../src/config/settings.ts";
import { makeClaimLink } from "../../src/identity/local-issuer/claim-link.ts";
import { CookieBrowser, type Landing } from "../support/oidc-browser.ts";
import { startOidcConsole, type OidcConsole } from "../support/oidc-console.ts";
import { withBackend } from "../support/postgres.ts";
import { testOperator } from "../support/test-operator.ts";

let site: OidcConsole;
const backend = withBackend();

beforeAll(async () => {
  site = await startOidcConsole({ store: backend.identityStore });
});
afterAll(async () => {
  await site.close();
});

async function linkOf(email?: string): Promise<string> {
  const link = await makeClaimLink({
    store: backend.identityStore.local,
    clock: site.clock,
    consoleUrl: site.url,
    by: testOperator,
    ...(email === undefined ? {} : { email }),
  });
  return link.url;
}

const tokenOf = (link: string): string => new URL(link).searchParams.get("t") ?? "";

async function claim(browser: CookieBrowser, link: string, email?: string): Promise<Landing> {
  const page = await browser.open(link);
  const shown = /name="email"[^>]*value="([^"]*)"/s.exec(page.html)?.[1] ?? "";
  const form = { t: tokenOf(link), email: email ?? shown };
  return await browser.open(`${site.url}/local-idp/claim`, { form });
}

const read = (browser: CookieBrowser) =>
  site.identity.readSession(browser.header(new URL(site.url)));

describe("a link that was printed on the machine", () => {
  test("signs its owner in, with a trial key to see once", async () => {
    const browser = new CookieBrowser();
    const link = await linkOf();
    expect(link).toMatch(/\/local-idp\/claim\?t=[\w-]{43}$/);
    const landing = await claim(browser, link, "owner@home.example");
    expect(landing.path).toBe("/welcome");
    expect(await read(browser)).toMatchObject({ email: "owner@home.example", isVerified: true });
    const key = await site.identity.reveal(browser.header(new URL(site.url)));
    expect(key?.key).toMatch(/^tm_vk_[0-9a-f]{48}$/);
  });

  test("works once", async () => {
    const link = await linkOf();
    expect((await claim(new CookieBrowser(), link)).status).toBe(200);
    const thief = new CookieBrowser();
    expect((await thief.open(link)).status).toBe(410);
    const taken = await claim(thief, link, "thief@example.com");
    expect(taken.status).toBe(410);
    expect(await read(thief)).toBeUndefined();
  });

  test("is not used up by opening it", async () => {
    const link = await linkOf();
    for (let query = 0; query < 3; query += 1) {
      expect((await new CookieBrowser().open(link)).status).toBe(200);
    }
    expect((await claim(new CookieBrowser(), link)).status).toBe(200);
  });

  test("works for 15 minutes", async () => {
    const link = await linkOf();
    site.clock.forward(15 * 60_000);
    expect((await claim(new CookieBrowser(), link)).status).toBe(410);
  });

  test("of one address signs in that address only", async () => {
    const link = await linkOf("Boss@Home.example");
    const browser = new CookieBrowser();
    const page = await browser.open(link);
    expect(page.html).toContain("boss@home.example");
    expect((await claim(browser, link, "other@home.example")).status).toBe(410);
    await claim(browser, link);
    expect(await read(browser)).toMatchObject({ email: "boss@home.example" });
  });

  test("asks again for an address that is none, and shows it harmlessly", async () => {
    const browser = new CookieBrowser();
    const link = await linkOf();
    const page = await claim(browser, link, '"><script>alert(1)</script>');
    expect(page.status).toBe(422);
    expect(page.html).not.toContain("<script>");
    expect((await claim(browser, link)).status).toBe(200);
  });

  test("is worth nothing when it was made up", async () => {
    for (const token of ["A".repeat(43), "", "short"]) {
      const browser = new CookieBrowser();
      expect((await browser.open(`${site.url}/local-idp/claim?t=${token}`)).status).toBe(410);
      const form = { t: token, email: "a@b.example" };
      const taken = await browser.open(`${site.url}/local-idp/claim`, { form });
      expect(taken.status).toBe(410);
    }
  });
});

describe("a browser of the owner", () => {
  test("signs in again without a link for seven days, into the same organization", async () => {
    const browser = new CookieBrowser();
    await claim(browser, await linkOf(), "again@home.example");
    const first = await read(browser);
    await browser.open(`${site.url}/auth/sign-out`);
    expect(await read(browser)).toBeUndefined();
    const landing = await browser.open(`${site.url}/auth/start?return=/keys`);
    expect(landing.path).toBe("/keys");
    expect(await read(browser)).toMatchObject({ orgId: first?.orgId });
    site.clock.forward(7 * 24 * 3_600_000);
    const later = await browser.open(`${site.url}/auth/start`);
    expect(later.path).toMatch(/^\/local-idp\/interaction\//);
    expect(later.html).toContain("tokenmarket console-link");
  });

  test("becomes another owner's with another link", async () => {
    const browser = new CookieBrowser();
    await claim(browser, await linkOf(), "one@home.example");
    await claim(browser, await linkOf(), "two@home.example");
    expect(await read(browser)).toMatchObject({ email: "two@home.example" });
  });

  test("is not sent to the issuer to be checked", async () => {
    const browser = new CookieBrowser();
    await claim(browser, await linkOf());
    site.clock.forward(24 * 3_600_000);
    const session = await read(browser);
    expect(session && site.identity.isRecheckDue(session)).toBe(false);
  });
});

describe("a link made beside the server", () => {
  function configOf(env: Readonly<Record<string, string>>): Config {
    const outcome = loadConfig({ flags: {}, env });
    if (outcome.kind === "invalid") throw new Error(outcome.problems.join());
    return outcome.config;
  }
  const make = (
    env: Readonly<Record<string, string>>,
    email?: string,
  ): ReturnType<typeof makeConsoleLink> =>
    makeConsoleLink({
      config: configOf(env),
      backend,
      clock: site.clock,
      by: testOperator,
      ...(email === undefined ? {} : { email }),
    });

  test("signs in at the server", async () => {
    const { url } = await make({ TM_CONSOLE_URL: `${site.url}/` }, "shell@home.example");
    const browser = new CookieBrowser();
    expect((await claim(browser, url)).path).toBe("/welcome");
    expect(await read(browser)).toMatchObject({ email: "shell@home.example" });
    expect((await make({ TM_CONSOLE_PORT: "9" })).url).toMatch(/^http:\/\/127\.0\.0\.1:9\/local/);
  });

  test("leads to the console that runs, wherever that is, and says when none does", async () => {
    const idle = await make({ TM_CONSOLE_PORT: "9" });
    expect(idle).toMatchObject({ isRunning: false });
    const running = await backend.ledgerBatchStore.join("console", 60_000);
    const { local } = backend.identityStore;
    await local.noteConsole(running.instanceId, "http://127.0.0.1:4711");
    const link = await make({ TM_CONSOLE_PORT: "0" });
    expect(link.url).toMatch(/^http:\/\/127\.0\.0\.1:4711\/local/);
    expect(link).toMatchObject({ isRunning: true });
    await backend.ledgerBatchStore.leave(running);
    expect(await make({ TM_CONSOLE_PORT: "9" })).toMatchObject({ isRunning: false });
  });

  test("is refused where it could not work, and says why", async () => {
    const refused: [Readonly<Record<string, string>>, RegExp][] = [
      [
        { OIDC_ISSUER: "https://id.example.com" },
        /people sign in through https:\/\/id.example.com/,
      ],
      [{ TM_CONSOLE_URL: "https://console.example.com" }, /local_issuer/],
      [{ TM_HOST: "0.0.0.0" }, /oidc\.issuer/],
      [{ TM_CONSOLE_PORT: "0" }, /console_url/],
    ];
    for (const [env, reason] of refused) await expect(make(env)).rejects.toThrow(reason);
    await expect(make({}, "no address")).rejects.toThrow(/--email/);
  });
});

test("an unclaimed browser is shown how to get a link, and stays out", async () => {
  const browser = new CookieBrowser();
  const page = await browser.open(`${site.url}/auth/start`);
  expect(page.status).toBe(403);
  expect(page.html).toContain("tokenmarket console-link");
  expect(await read(browser)).toBeUndefined();
});

test("pages of the issuer may run no script and be shown in no frame, and are not kept", async () => {
  const answers = [
    await fetch(await linkOf()),
    await fetch(`${site.url}/local-idp/claim?t=x`),
    await fetch(`${site.url}/local-idp/interaction/x`),
  ];
  for (const { headers } of answers) {
    const policy = headers.get("content-security-policy");
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("script-src");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
  }
  const put = await fetch(await linkOf(), { method: "PUT" });
  expect(put.status).toBe(405);
});

test("two processes are one issuer: a sign-in begun at one ends at the other", async () => {
  const browser = new CookieBrowser();
  await claim(browser, await linkOf(), "both@home.example");
  // The second process answers under the address of the first, as behind one port.
  const stopAt = (url: URL): boolean => url.pathname === "/auth/callback";
  const { url } = await browser.open(`${site.url}/auth/start`, { stopAt });
  const second = await startOidcConsole({
    store: backend.identityStore,
    clock: site.clock,
    answersAs: site.url,
  });
  const finished = await second.identity.finishSignIn({
    url: url.pathname + url.search,
    cookieHeader: browser.header(url),
    userAgent: undefined,
    requestId: "r",
  });
  expect(finished.location).toBe("/welcome");
  await second.close();
});

test("what the issuer keeps opens nothing: no link, cookie or code is in the database", async () => {
  const browser = new CookieBrowser();
  const link = await linkOf();
  const { way } = await claim(browser, link);
  const code = way.map((each) => new URL(each).searchParams.get("code")).find((each) => each);
  const secrets = [tokenOf(link), code, browser.cookie("tm_local"), browser.cookie("tm_session")];
  secrets.push(browser.cookie("tm_local_session"));
  const dump = [];
  for (const table of ["local_claim", "local_browser", "local_issuer_record", "console_session"]) {
    dump.push(await backend.query(`select t::text from ${table} t`));
  }
  for (const secret of secrets) {
    expect(secret).toMatch(/^[\w-]{20,}$/);
    expect(JSON.stringify(dump)).not.toContain(secret);
  }
});
