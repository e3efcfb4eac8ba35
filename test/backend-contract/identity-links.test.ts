import { describe, expect, test } from "vitest";

import { makeConsoleLink } from "../../src/app/console-link.ts";
import { loadConfig } from "../../src/kernel/config/load-config.ts";
import { makeClaimLink } from "../../src/account/identity/postgres-claim-links.ts";
import type { Identity } from "../../src/account/identity/open-identity.ts";
import { startOidcConsole } from "../support/oidc-console.ts";
import { withBackend } from "../support/postgres.ts";
import { testOperator } from "../support/test-operator.ts";
import { withResource } from "../support/with-resource.ts";

const backend = withBackend();
const site = withResource(() => startOidcConsole({ store: backend.identityStore }));

/** Makes a sign-in link like one that `console-link` prints; returns its token. */
async function printed(email?: string): Promise<string> {
  const { url } = await makeClaimLink({
    store: backend.identityStore.links,
    clock: site.clock,
    consoleUrl: site.url,
    by: testOperator,
    ...(email === undefined ? {} : { email }),
  });
  expect(url).toMatch(/\/auth\/link\?t=[\w-]{43}$/);
  return tokenOf(url);
}

const tokenOf = (url: string): string => new URL(url).searchParams.get("t") ?? "";

interface Asked {
  readonly email?: string;
  /** Default: a browser without cookies. */
  readonly cookie?: string;
  readonly at?: Identity;
}

interface Claimed {
  readonly location: string;
  /** The cookie header that the browser sends from now on. */
  readonly cookie: string;
}

/** Returns undefined if the link signed nobody in. */
async function claim(token: string, asked: Asked = {}): Promise<Claimed | undefined> {
  const { email = "owner@home.example", cookie, at = site.identity } = asked;
  const browser = { cookieHeader: cookie, userAgent: "Test Browser 1.0", requestId: "r" };
  const next = await at.signInByLink({ ...browser, token, email });
  if (next === undefined) return undefined;
  return { location: next.location, cookie: next.cookies[0]?.split(";", 1)[0] ?? "" };
}

const read = (claimed: Claimed | undefined, at = site.identity) => at.readSession(claimed?.cookie);

describe("a sign-in link that was printed on the machine", () => {
  test("signs a new person in with a verified address and a trial key", async () => {
    const claimed = await claim(await printed());
    expect(claimed?.location).toBe("/welcome");
    expect(await read(claimed)).toMatchObject({ email: "owner@home.example", isVerified: true });
    const key = await site.identity.reveal(claimed?.cookie);
    expect(key?.key).toMatch(/^tm_vk_[0-9a-f]{48}$/);
  });

  test("works once, even when several browsers send it at the same moment", async () => {
    const token = await printed();
    const emails = ["a", "b", "c", "d"].map((name) => `${name}@race.example`);
    const all = await Promise.all(emails.map((email) => claim(token, { email })));
    expect(all.filter((each) => each !== undefined)).toHaveLength(1);
    const accounts = await backend.query(
      "select email from console_account where email like '%@race.example'",
    );
    expect(accounts).toHaveLength(1);
    expect(await claim(token, { email: "late@race.example" })).toBeUndefined();
    expect(await site.identity.findLink(token)).toBeUndefined();
  });

  test("is not used up by being read, works for 15 minutes, and does not work with another token", async () => {
    const token = await printed();
    for (let query = 0; query < 3; query += 1) {
      expect(await site.identity.findLink(token)).toEqual({ email: null });
    }
    site.clock.forward(15 * 60_000 - 10_000);
    expect(await claim(token)).toBeDefined();
    const late = await printed();
    site.clock.forward(15 * 60_000);
    expect(await site.identity.findLink(late)).toBeUndefined();
    for (const unknown of [late, "A".repeat(43), "", "short"]) {
      expect(await claim(unknown)).toBeUndefined();
    }
  });

  test("for one address signs in that address only", async () => {
    const token = await printed("Boss@Home.example");
    expect(await site.identity.findLink(token)).toEqual({ email: "boss@home.example" });
    expect(await claim(token, { email: "other@home.example" })).toBeUndefined();
    const claimed = await claim(token, { email: "BOSS@home.example" });
    expect(await read(claimed)).toMatchObject({ email: "boss@home.example" });
  });

  test("leads to the same organization again, and ends the session that its browser had", async () => {
    const first = await claim(await printed(), { email: "one@home.example" });
    const { orgId } = (await read(first)) ?? {};
    const again = await claim(await printed(), { email: "one@home.example", ...first });
    expect(await read(again)).toMatchObject({ orgId });
    expect(await read(first)).toBeUndefined();
    const other = await claim(await printed(), { email: "two@home.example", ...again });
    expect(await read(other)).toMatchObject({ email: "two@home.example" });
    expect(await read(again)).toBeUndefined();
  });

  test("opens a session of seven days that no identity provider rechecks", async () => {
    const claimed = await claim(await printed());
    site.clock.forward(6 * 24 * 3_600_000);
    const session = await read(claimed);
    expect(session && site.identity.isRecheckDue(session)).toBe(false);
    site.clock.forward(24 * 3_600_000);
    expect(await read(claimed)).toBeUndefined();
  });

  test("does not work where an identity provider is configured or local sign-in is off", async () => {
    const claimed = await claim(await printed());
    const token = await printed();
    const oidc = { oidcIssuer: "https://id.example.com", oidcClientId: "console" };
    for (const config of [oidc, { host: "0.0.0.0" }]) {
      const how = { store: backend.identityStore, clock: site.clock };
      const elsewhere = await startOidcConsole({ ...how, config: async () => config });
      expect(await elsewhere.identity.findLink(token)).toBeUndefined();
      expect(await claim(token, { at: elsewhere.identity })).toBeUndefined();
      const session = await read(claimed, elsewhere.identity);
      expect(session === undefined).toBe("host" in config);
      await elsewhere.close();
    }
    expect(await claim(token)).toBeDefined();
  });

  test("is not in the database, and neither is the cookie of its session", async () => {
    const token = await printed();
    const unused = await printed();
    const claimed = await claim(token);
    const dump = [];
    for (const table of ["local_claim", "console_session", "console_identity", "change"]) {
      dump.push(await backend.query(`select t::text from ${table} t`));
    }
    for (const secret of [token, unused, claimed?.cookie.split("=")[1]]) {
      expect(secret).toMatch(/^[\w-]{43}$/);
      expect(JSON.stringify(dump)).not.toContain(secret);
    }
  });
});

describe("a sign-in link that a command made outside the server", () => {
  function make(env: Readonly<Record<string, string>>, email?: string) {
    const outcome = loadConfig({ flags: {}, env });
    if (outcome.kind === "invalid") throw new Error(outcome.problems.join());
    const how = { config: outcome.config, backend, clock: site.clock, by: testOperator };
    return makeConsoleLink({ ...how, ...(email === undefined ? {} : { email }) });
  }

  test("signs a person in at the server", async () => {
    const { url } = await make({ TM_CONSOLE_URL: `${site.url}/` }, "shell@home.example");
    const claimed = await claim(tokenOf(url), { email: "shell@home.example" });
    expect(claimed?.location).toBe("/welcome");
    expect(await read(claimed)).toMatchObject({ email: "shell@home.example" });
    expect((await make({ TM_CONSOLE_PORT: "9" })).url).toMatch(/^http:\/\/127\.0\.0\.1:9\/auth/);
  });

  test("leads to the running console, and says when none runs", async () => {
    const idle = await make({ TM_CONSOLE_PORT: "9" });
    expect(idle).toMatchObject({ isRunning: false });
    const running = await backend.ledgerBatchStore.join("console", 60_000);
    const { links } = backend.identityStore;
    await links.noteConsole(running.instanceId, "http://127.0.0.1:4711");
    const link = await make({ TM_CONSOLE_PORT: "0" });
    expect(link.url).toMatch(/^http:\/\/127\.0\.0\.1:4711\/auth/);
    expect(link).toMatchObject({ isRunning: true });
    await backend.ledgerBatchStore.leave(running);
    expect(await make({ TM_CONSOLE_PORT: "9" })).toMatchObject({ isRunning: false });
  });

  test("is refused with a reason where it could not work", async () => {
    for (const [name, value, reason] of [
      ["OIDC_ISSUER", "https://id.example.com", "people sign in through https://id.example.com"],
      ["TM_CONSOLE_URL", "https://console.example.com", "local_sign_in"],
      ["TM_HOST", "0.0.0.0", "oidc.issuer"],
      ["TM_CONSOLE_PORT", "0", "console_url"],
    ] as const) {
      await expect(make({ [name]: value })).rejects.toThrow(reason);
    }
    await expect(make({}, "no address")).rejects.toThrow(/--email/);
  });
});
