import { expect, test } from "vitest";

import { landingPage, type Landing } from "./landing-page.ts";

const PLAIN: Landing = {
  signInName: "Example",
  isLocal: false,
  back: undefined,
  reason: undefined,
  requestId: undefined,
  support: "",
  privacyUrl: "",
  termsUrl: "",
};
const ID = "01a2011d-1904-7626-a440-0a7ac86ef336";

test("a visitor reads what this is, and finds models, prices, docs and the way in", () => {
  const { html } = landingPage({ ...PLAIN, back: "/keys?status=all" });
  expect(html).toContain("<h1>One key and one balance for the AI models of many providers</h1>");
  expect(html).toContain('href="/auth/start?return=%2Fkeys%3Fstatus%3Dall">Continue with Example<');
  for (const path of ["/models", "/providers", "/docs"]) expect(html).toContain(`href="${path}"`);
  expect(html).not.toContain("<footer>");
});

test("terms, privacy and support are there where the operator has set them", () => {
  const own = { termsUrl: "https://a.test/t", privacyUrl: "https://a.test/p" };
  const { html } = landingPage({ ...PLAIN, ...own, support: "help@a.test" });
  const footer = /<footer>(.*)<\/footer>/s.exec(html)?.[1] ?? "";
  expect([...footer.matchAll(/href="([^"]+)"/g)].map(([, href]) => href)).toEqual([
    "https://a.test/t",
    "https://a.test/p",
    "mailto:help@a.test",
  ]);
  const text = landingPage({ ...PLAIN, support: "<b>Room 4</b>" }).html;
  expect(text).toContain("Support: &#60;b&#62;Room 4&#60;/b&#62;");
});

test("an address cannot put a text of its own on the page", () => {
  const lured = { reason: "<b>call us</b>", requestId: "call us" };
  expect(landingPage({ ...PLAIN, ...lured }).html).not.toContain("call us");
  const denied = landingPage({ ...PLAIN, reason: "denied", requestId: "call us" }).html;
  expect(denied).toContain("denied the sign-in");
  expect(denied).not.toContain("call us");
  expect(landingPage({ ...PLAIN, reason: "denied", requestId: ID }).html).toContain(ID);
});

test("where links sign in, the page says how to print one, and has no button", () => {
  const { html } = landingPage({ ...PLAIN, signInName: null, isLocal: true });
  expect(html).toContain("tokenmarket console-link");
  expect(html).not.toContain("/auth/start");
});

test("without an identity provider the page says what is missing, and has no button", () => {
  const { html } = landingPage({ ...PLAIN, signInName: null });
  expect(html).toContain("oidc.issuer");
  expect(html).not.toContain("/auth/start");
});
