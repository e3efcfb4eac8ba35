import { expect, test } from "vitest";

import { withConsole } from "../../support/console-fixture.ts";
import { httpCall, type HttpAnswer, type HttpCall } from "../../support/http-call.ts";

const fixture = withConsole();

const FORM = "application/x-www-form-urlencoded";

/** Sends the form of a link as its page does, unless `headers` differ. */
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

/** A link that is not bound to an address. */
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

test("the pages of a link run no script, open in no frame and send no address on", async () => {
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

test("a link for any person asks again for an invalid address, and shows it escaped", async () => {
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

test("a link that is opened under another name of this machine redirects to the console's own", async () => {
  const link = await fixture.claimLink("ann@example.com");
  const host = new URL(link).host.replace("127.0.0.1", "localhost");
  const answer = await httpCall(link, { headers: { host } });
  expect(answer).toMatchObject({ status: 303, headers: { location: link } });
});
