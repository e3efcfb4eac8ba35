import { describe, expect, test } from "vitest";

import { ROUTES } from "../../../src/account/console-api/contract.ts";
import type { RouteContract } from "../../../src/account/console-api/contract/shared.ts";
import { at, httpCall, textAt } from "../../support/http-call.ts";
import { newcomer, withProviderConsole, withPerson } from "./provider-fixture.ts";

const fixture = withProviderConsole();
const ann = withPerson(fixture, "ann");

const routes = Object.entries(ROUTES).map(([name, contract]: [string, RouteContract]) => ({
  name,
  route: name.replaceAll(/:\w+/g, "some-id"),
  access: contract.access,
}));
const closed = [
  // Routes of operators are left out: `operator.test.ts` tests them.
  ...routes
    .filter(({ access }) => access !== "public" && access !== "operator")
    .map(({ route }) => route),
  "GET /playground/v1/models",
  "POST /playground/v1/chat/completions",
];
const unsafe = closed.filter((route) => !route.startsWith("GET "));

describe("without a session", () => {
  test.each(closed)("%s is refused as signed out", async (route) => {
    const answer = await fixture.stranger().ask(route);
    expect(answer.status).toBe(401);
    expect(at(answer.json, "error.code")).toBe("signed_out");
    expect(answer.headers["cache-control"]).toBe("no-store");
  });

  test("the session says that nobody is signed in, and what the installation offers", async () => {
    const { json } = await fixture.stranger().ask("GET /api/console/session");
    expect(json).toMatchObject({
      state: "signed_out",
      user: null,
      org: null,
      balance: null,
      installation: {
        gateway_url: fixture.gateway.url,
        console_url: fixture.url,
        sign_in_name: "Scripted",
        is_local_sign_in: false,
        has_connections: false,
      },
    });
  });
});

describe("an account with an unverified e-mail", () => {
  test("is refused on every route, and its session shows the e-mail alone", async () => {
    const email = "eve@example.com";
    const eve = await fixture.signIn({ subject: "eve", email, emailVerified: false });
    for (const route of closed) {
      const answer = await eve.ask(route);
      expect({ route, status: answer.status }).toEqual({ route, status: 403 });
      expect(at(answer.json, "error.code")).toBe("email_not_verified");
    }
    const { json } = await eve.ask("GET /api/console/session");
    expect(json).toMatchObject({ state: "unverified", user: { email }, org: null, balance: null });
  });
});

describe("a request that another site makes with the session's cookie", () => {
  const foreign: readonly (readonly [string, Readonly<Record<string, string>>, number])[] = [
    ["of another origin", { origin: "https://evil.example" }, 403],
    ["as a form", { "content-type": "application/x-www-form-urlencoded" }, 415],
  ];
  test.each(unsafe)("%s is refused", async (route) => {
    for (const [what, headers, status] of foreign) {
      const answer = await ann.ask(route, { headers });
      expect({ what, status: answer.status }).toEqual({ what, status });
    }
  });

  test("signs nobody out", async () => {
    for (const [, headers, status] of foreign) {
      expect((await ann.ask("POST /auth/sign-out", { headers })).status).toBe(status);
    }
    expect((await ann.ask("GET /api/console/settings")).status).toBe(200);
  });

  test("is refused without an origin", async () => {
    const answer = await httpCall(`${fixture.url}/api/console/keys`, {
      body: { name: "x" },
      headers: { cookie: ann.browser.header(new URL(fixture.url)) },
    });
    expect(answer.status).toBe(403);
    expect(at(answer.json, "error.code")).toBe("forbidden");
  });
});

describe("signing out", () => {
  test("ends this browser's session on the server, and no other", async () => {
    const here = await fixture.signIn(newcomer("zoe"));
    const there = await fixture.signIn(newcomer("zoe"));
    expect(here.orgId).toBe(there.orgId);
    const settings = await here.ask("GET /api/console/settings");
    expect(at(settings.json, "sessions.others")).toBe(1);
    const cookie = here.browser.header(new URL(fixture.url));
    const out = await here.ask("POST /auth/sign-out");
    expect(out.status).toBe(303);
    expect(out.headers.location).toBe("/sign-in?reason=signed-out");
    expect(String(out.headers["set-cookie"])).toMatch(/^tm_session=;.*Max-Age=0/);
    const replayed = await fixture.stranger().ask("GET /api/console/keys", { headers: { cookie } });
    expect(replayed.status).toBe(401);
    expect((await there.ask("GET /api/console/keys")).status).toBe(200);
    const page = await httpCall(`${fixture.url}/keys`, {
      headers: { cookie, accept: "text/html" },
    });
    expect(page.status).toBe(303);
    expect(page.headers.location).toBe("/sign-in?reason=signed-out&return=%2Fkeys");
  });

  test("does not work by a link", async () => {
    expect((await ann.ask("GET /auth/sign-out")).status).toBe(404);
  });
});

test("a back-channel logout token ends a session if the provider signed it, and works only once", async () => {
  const kim = await fixture.signIn(newcomer("kim"));
  const status = async (): Promise<number> => (await kim.ask("GET /api/console/keys")).status;
  const post = async (token: string): Promise<number> =>
    (
      await httpCall(`${fixture.url}/auth/backchannel-logout`, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams({ logout_token: token }).toString(),
      })
    ).status;
  expect(await post("a.b.c")).toBe(400);
  expect(await post("x".repeat(70_000))).toBe(413);
  expect(await status()).toBe(200);
  const token = await fixture.provider.logoutToken({ sub: "kim" });
  expect(await post(token)).toBe(200);
  expect(await status()).toBe(401);
  expect(await post(token)).toBe(400);
});

describe("settings", () => {
  test("keep the fields that a change omits, and refuse a blank name", async () => {
    const body = { name: "  Ann & Co  ", keys_may_set_org_limits: true };
    const changed = await ann.ask("PATCH /api/console/settings", { body });
    expect(at(changed.json, "org")).toMatchObject({
      name: "Ann & Co",
      keys_may_set_org_limits: true,
    });
    const again = await ann.ask("PATCH /api/console/settings", { body: {} });
    expect(at(again.json, "org")).toEqual(at(changed.json, "org"));
    const blank = await ann.ask("PATCH /api/console/settings", { body: { name: " " } });
    expect(blank.status).toBe(400);
    expect(textAt(blank.json, "error.field")).toBe("name");
  });
});

test("automatic top-up is not available without a payment provider", async () => {
  const { json } = await ann.do("GET /api/console/top-up");
  expect(json).toMatchObject({ is_available: false, card: null, rule: null });
  const rule = { is_on: true, below_usd: "10", amount_usd: "50", month_max_usd: "200" };
  expect((await ann.ask("PATCH /api/console/top-up", { body: rule })).status).toBe(409);
  for (const path of ["card", "card/remove"]) {
    expect((await ann.ask(`POST /api/console/top-up/${path}`)).status).toBe(409);
  }
});
