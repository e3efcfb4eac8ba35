import { expect, test } from "vitest";

import { until } from "../../support/books.ts";
import { systemClock } from "../../../src/kernel/core/time.ts";
import { withConsole } from "../../support/console-fixture.ts";
import {
  at,
  httpCall,
  listAt,
  textAt,
  type HttpAnswer,
  type HttpCall,
} from "../../support/http-call.ts";
import { startMailServer } from "../../support/mail-server.ts";
import { CookieBrowser } from "../../support/oidc-browser.ts";
import { runOnce } from "../../support/postgres.ts";
import { withResource } from "../../support/with-resource.ts";

const mails = withResource(() => startMailServer());
/** How far the clock of the instance is ahead of the database's. */
let aheadMs = 0;
const fixture = withConsole(() => ({
  clock: { ...systemClock, nowMs: () => systemClock.nowMs() + aheadMs },
  settings: {
    logLevel: "trace",
    ...mails.settings,
    smtpInvitationsPerHour: 12,
  },
}));

const FORM = "application/x-www-form-urlencoded";

/** Submits the form that a sign-in link opens. `headers` replace the `origin` of a browser. */
async function send(
  link: string,
  { headers, body = {} }: { readonly headers?: HttpCall["headers"]; readonly body?: object } = {},
): Promise<HttpAnswer> {
  const { origin, pathname, searchParams } = new URL(link);
  return await httpCall(origin + pathname, {
    method: "POST",
    headers: { "content-type": FORM, ...(headers ?? { origin }) },
    body: new URLSearchParams({ t: searchParams.get("t") ?? "", ...body }).toString(),
  });
}

/** A sign-in link that is not bound to an e-mail address. */
async function openLink(): Promise<string> {
  return (await fixture.gateway.running.makeClaimLink()) ?? "";
}

test("opening a sign-in link does not use it up, and its button signs the browser in once", async () => {
  const link = await fixture.claimLink("ann@example.com");
  for (const method of ["GET", "HEAD", "GET"]) {
    const page = await httpCall(link, { method });
    expect(page.status).toBe(200);
    expect(page.headers["set-cookie"]).toBeUndefined();
  }
  const signedIn = await send(link);
  expect(signedIn).toMatchObject({ status: 303, headers: { location: "/welcome" } });
  const [cookie = ""] = signedIn.headers["set-cookie"] ?? [];
  expect(cookie).toMatch(/^tm_session=[\w-]{43}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/);
  for (const spent of [await send(link), await httpCall(link)]) {
    expect(spent.status).toBe(410);
    expect(spent.headers["set-cookie"]).toBeUndefined();
    expect(spent.text).toContain("tokenmarket -- console-link");
  }
});

test("another site cannot sign a browser in, and its attempts do not use the link up", async () => {
  const link = await fixture.claimLink("victim@example.com");
  const { origin } = new URL(link);
  for (const headers of [
    { origin: "https://evil.example" },
    { origin: "null" },
    { origin, "sec-fetch-site": "cross-site" },
    { origin, "sec-fetch-site": "same-site" },
    { origin, "sec-fetch-site": "none" },
    {},
  ]) {
    const refused = await send(link, { headers });
    expect({ headers, status: refused.status }).toEqual({ headers, status: 403 });
    expect(refused.headers["set-cookie"]).toBeUndefined();
  }
  expect((await send(link, { headers: { "sec-fetch-site": "same-origin" } })).status).toBe(303);
});

test("the pages of a sign-in link run no script, open in no frame and send no path as referrer", async () => {
  const link = await openLink();
  for (const page of [await httpCall(link), await httpCall(`${link}x`), await send(`${link}x`)]) {
    const policy = page.headers["content-security-policy"];
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("form-action 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("script-src");
    expect(page.headers["cache-control"]).toBe("no-store");
    expect(page.headers["referrer-policy"]).toBe("strict-origin");
  }
});

test("a sign-in link for any person asks again for an invalid e-mail address, and shows it escaped", async () => {
  const link = await openLink();
  const asked = await send(link, { body: { email: '"><script>alert(1)</script>' } });
  expect(asked.status).toBe(422);
  expect(asked.text).not.toContain("<script>");
  const { origin } = new URL(link);
  const json = await httpCall(`${origin}/auth/link`, { headers: { origin }, body: { t: "x" } });
  expect(json.status).toBe(415);
  const huge = await send(link, { body: { email: "x".repeat(70_000) } });
  expect(huge.status).toBe(413);
  expect((await send(link, { body: { email: " Owner@home.example " } })).status).toBe(303);
});

test("a sign-in link opened under another host name redirects to the console's own address", async () => {
  const link = await fixture.claimLink("ann@example.com");
  const host = new URL(link).host.replace("127.0.0.1", "localhost");
  const answer = await httpCall(link, { headers: { host } });
  expect(answer).toMatchObject({ status: 303, headers: { location: link } });
});

/** The secrets of the links that signed people in. */
const tokens: string[] = [];

/** Signs in by a link as `console-link --email` makes it; the browser may have a session. */
async function signIn(browser: CookieBrowser, email: string): Promise<string> {
  const link = new URL(await fixture.claimLink(email));
  await browser.open(link.href);
  const t = link.searchParams.get("t") ?? "";
  tokens.push(t);
  const form = { t, email };
  return (await browser.open(`${fixture.consoleUrl}/auth/link`, { form })).path;
}

async function ask(browser: CookieBrowser, route: string, body: object = {}): Promise<HttpAnswer> {
  const [method = "GET", path = "/"] = route.split(" ");
  const url = new URL(fixture.consoleUrl);
  const cookie = browser.header(url);
  if (method === "GET") return await httpCall(fixture.consoleUrl + path, { headers: { cookie } });
  const headers = { cookie, origin: url.origin, "content-type": "application/json" };
  return await httpCall(fixture.consoleUrl + path, { method, headers, body });
}

const sources = (): readonly string[] =>
  mails.received.map(({ source }) => source.replaceAll("=\r\n", "").replaceAll("=3D", "="));

test("a person invited by e-mail signs in by a local link and joins, and no token is logged", async () => {
  const browser = new CookieBrowser();
  expect(await signIn(browser, "fred@example.com")).toBe("/welcome");
  const sent = await ask(browser, "POST /api/console/invitations", {
    email: "bob@example.com",
    role: "viewer",
  });
  expect(sent.json).toMatchObject({ mail: "sent", invitation: { email: "bob@example.com" } });
  const link = textAt(sent.json, "link");
  await until("the invitation has arrived", async () => mails.received.length === 1);
  expect(mails.received[0]?.to).toEqual(["bob@example.com"]);
  expect(sources()[0]).toContain(link);
  // The same browser signs in as the invited person, who sees the invitation first and gets no
  // trial key.
  expect(await signIn(browser, "bob@example.com")).toBe("/join");
  const { json } = await ask(browser, "GET /api/console/session");
  expect(json).toMatchObject({ user: { email: "bob@example.com" }, has_reveal: false });
  const received = await ask(browser, "GET /api/console/received-invitations");
  const id = textAt(listAt(received.json, "invitations")[0], "invitation_id");
  await ask(browser, `POST /api/console/received-invitations/${id}/accept`);
  const joined = await ask(browser, "GET /api/console/session");
  expect(joined.json).toMatchObject({ org: { role: "viewer" } });
  // Neither the secret of the invitation nor those of the sign-in links are logged.
  for (const secret of [new URL(link).hash.slice(1), ...tokens]) {
    expect(secret).toHaveLength(43);
    expect(fixture.gateway.log()).not.toContain(secret);
  }
});

test("an address gets at most five invitation e-mails a day; the link of a sixth is only shown", async () => {
  const browser = new CookieBrowser();
  await signIn(browser, "cleo@example.com");
  const before = mails.received.length;
  const body = { email: "flooded@example.com", role: "viewer" };
  const first = await ask(browser, "POST /api/console/invitations", body);
  const id = textAt(first.json, "invitation.invitation_id");
  const states = [at(first.json, "mail")];
  for (let count = 0; count < 4; count += 1) {
    const { json } = await ask(browser, `POST /api/console/invitations/${id}/renew`);
    states.push(at(json, "mail"));
  }
  // Revoking the invitation and inviting again does not reset the count.
  await ask(browser, `POST /api/console/invitations/${id}/revoke`);
  const again = await ask(browser, "POST /api/console/invitations", body);
  states.push(at(again.json, "mail"));
  expect(states).toEqual(["sent", "sent", "sent", "sent", "sent", "bound"]);
  expect(textAt(again.json, "link")).toContain("/join#");
  expect(mails.received.length - before).toBe(5);
});

test("an invitation that the mail server refuses is reported as failed", async () => {
  const browser = new CookieBrowser();
  await signIn(browser, "dora@example.com");
  mails.refuseWith = 550;
  const sent = await ask(browser, "POST /api/console/invitations", {
    email: "nowhere@example.com",
    role: "viewer",
  });
  mails.refuseWith = undefined;
  expect(sent.json).toMatchObject({ mail: "failed" });
});

test("an invitation e-mail drops URLs from the organization's name, and goes to the exact address", async () => {
  const browser = new CookieBrowser();
  await signIn(browser, "eve@example.com");
  const renamed = async (name: string): Promise<number> =>
    (await ask(browser, "PATCH /api/console/settings", { name })).status;
  expect(await renamed("Acme\u202e")).toBe(400);
  expect(await renamed("Claim https://evil.example/now or write to x@evil.example")).toBe(200);
  const invite = (email: string): Promise<HttpAnswer> =>
    ask(browser, "POST /api/console/invitations", { email, role: "viewer" });
  for (const email of ["a@e.com,b@e.com", "a\u200b@e.com"]) {
    expect([email, (await invite(email)).status]).toEqual([email, 400]);
  }
  const before = mails.received.length;
  const odd = "o'neil+{x}|y~z@a-b.example";
  expect((await invite(odd)).json).toMatchObject({ mail: "sent" });
  await until("the invitation has arrived", async () => mails.received.length > before);
  expect(mails.received.at(-1)?.to).toEqual([odd]);
  expect(sources().at(-1)).toContain("Claim");
  expect(sources().at(-1)).not.toMatch(/evil\.example|:\/\/evil/);
});

test("all organizations together send a limited number of invitations an hour", async () => {
  const before = mails.received.length;
  let state: unknown = "sent";
  // The count is twice the limit, because the hour may end meanwhile.
  for (let nr = 0; nr < 25 && state === "sent"; nr += 1) {
    const browser = new CookieBrowser();
    await signIn(browser, `stranger${nr}@example.com`);
    const body = { email: `victim${nr}@example.com`, role: "viewer" };
    const { json } = await ask(browser, "POST /api/console/invitations", body);
    state = at(json, "mail");
    expect(textAt(json, "link")).toContain("/join#");
  }
  expect(state).toBe("bound");
  expect(mails.received.length - before).toBeLessThanOrEqual(24);
});

test("an instance whose clock is an hour ahead begins no new hour of invitations", async () => {
  const browser = new CookieBrowser();
  await signIn(browser, "early@example.com");
  aheadMs = 3_600_000;
  const full =
    "update invitation_hour set hour = floor(extract(epoch from now()) / 3600), mails = 12";
  let state: unknown = "sent";
  // The hour of the database may end before the first invitation.
  for (let nr = 0; nr < 2 && state === "sent"; nr += 1) {
    await runOnce(fixture.gateway.config.databaseUrl, full);
    const body = { email: `late${nr}@example.com`, role: "viewer" };
    state = at((await ask(browser, "POST /api/console/invitations", body)).json, "mail");
  }
  aheadMs = 0;
  expect(state).toBe("bound");
});

// It is last, because it uses up what the network may try in a minute.
test("a network that tries more than 60 unknown sign-in links a minute gets a 429 with retry-after", async () => {
  const guess = new URL(`/auth/link?t=${"b".repeat(43)}`, await openLink()).href;
  for (const open of [httpCall, send]) {
    // Twice the limit and one more, because the minute may end meanwhile.
    const pages = await Promise.all(Array.from({ length: 121 }, () => open(guess)));
    const refused = pages.find(({ status }) => status === 429);
    expect(refused?.headers["retry-after"]).toBe("60");
  }
});
